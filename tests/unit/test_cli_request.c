/* What a client hands over: the workspace's descriptor and the sealed blobs. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/request.h"
#include "model/operation.h"

static char dir[64];

static int
setup(void **state)
{
	strcpy(dir, "/tmp/loom-request-XXXXXX");
	if (mkdtemp(dir) == NULL || chdir(dir) != 0 || mkdir("real", 0755) != 0 ||
	    mkdir("real/sub", 0755) != 0 || symlink("real", "link") != 0)
		return -1;
	return close(open("file", O_CREAT | O_WRONLY, 0600));
}

static int
teardown(void **state)
{
	(void)unlink("file");
	(void)unlink("link");
	(void)rmdir("real/sub");
	(void)rmdir("real");
	return chdir("/") != 0 ? -1 : rmdir(dir);
}

static void
a_workspace_is_a_directory_and_no_link(void **state)
{
	static const struct {
		const char *path;
		int code;
		const char *says;
	} table[] = {
		{"real", 0, NULL},
		{"real/", 0, NULL},
		{"real/.", 0, NULL},
		{"./real/.//./", 0, NULL},
		{".", 0, NULL},
		{"./", 0, NULL},
		{"..", 0, NULL},
		{"/", 0, NULL},
		{"//", 0, NULL},
		{"link/sub", 0, NULL}, /* a link on the way is the user's own */
		{"link", -ELOOP, "symbolic link"},
		{"link/", -ELOOP, "symbolic link"},
		{"link//", -ELOOP, "symbolic link"},
		{"link/.", -ELOOP, "symbolic link"},
		{"link/./", -ELOOP, "symbolic link"},
		{"link/.//.///", -ELOOP, "symbolic link"},
		{"file", -ENOTDIR, "not a directory"},
		{"file/", -ENOTDIR, "not a directory"},
		{"nothing", -ENOENT, "does not exist"},
		{"", -ENOENT, "empty"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct request r;
		struct error err = {0};
		int code;

		request_init(&r);
		code = request_workspace(&r, table[i].path, &err);
		if (code != table[i].code)
			fail_msg("'%s': %d, not %d", table[i].path, code, table[i].code);
		if (code == 0) {
			assert_true(r.fds[REQUEST_WORKSPACE] >= 0);
			assert_true(fcntl(r.fds[REQUEST_WORKSPACE], F_GETFL) & O_PATH);
			assert_true(fcntl(r.fds[REQUEST_WORKSPACE], F_GETFD) & FD_CLOEXEC);
		} else {
			assert_non_null(strstr(err.text, table[i].says));
			assert_int_equal(r.fds[REQUEST_WORKSPACE], -1);
		}
		request_fini(&r);
	}
}

/* The blob without its salt; the salt goes into SALT. */
static void
read_blob(int fd, struct buf *out, uint8_t salt[ARGS_SALT_LEN])
{
	struct error err = {0};

	buf_init(out, ARGS_BLOB_MAX);
	assert_ok(fd_memfd_read(fd, out, &err));
	assert_true(out->len >= ARGS_SALT_LEN);
	memcpy(salt, out->data, ARGS_SALT_LEN);
	memmove(out->data, out->data + ARGS_SALT_LEN, out->len - ARGS_SALT_LEN);
	buf_cut(out, out->len - ARGS_SALT_LEN);
}

static void
arguments_are_sealed_under_fresh_salt(void **state)
{
	static const char expected[] = "make\0\0-j2 x\0\xff\n";
	char *const arguments[] = {(char *)"make", (char *)"", (char *)"-j2 x", (char *)"\xff\n"};
	uint8_t salt[2][ARGS_SALT_LEN], zeros[ARGS_SALT_LEN] = {0};

	for (size_t i = 0; i < 2; i++) {
		struct request r;
		struct error err = {0};
		struct buf blob;

		request_init(&r);
		assert_ok(request_args(&r, arguments, 4, &err));
		read_blob(r.fds[REQUEST_ARGS], &blob, salt[i]);
		assert_int_equal(blob.len, sizeof(expected));
		assert_memory_equal(blob.data, expected, sizeof(expected));
		assert_int_equal(write(r.fds[REQUEST_ARGS], "x", 1), -1);
		buf_fini(&blob);
		request_fini(&r);
	}
	assert_memory_not_equal(salt[0], salt[1], ARGS_SALT_LEN);
	assert_memory_not_equal(salt[0], zeros, ARGS_SALT_LEN);
}

static void
too_many_arguments_are_refused(void **state)
{
	char *big = calloc(1, ARGS_BLOB_MAX);
	char **many = calloc(ARGS_COUNT_MAX + 1, sizeof(*many));
	struct error err = {0};
	struct request r;

	assert_non_null(big);
	assert_non_null(many);
	for (size_t i = 0; i <= ARGS_COUNT_MAX; i++)
		many[i] = (char *)"x";
	request_init(&r);
	assert_fails(-E2BIG, &err, request_args(&r, many, ARGS_COUNT_MAX + 1, &err));
	assert_ok(request_args(&r, many, ARGS_COUNT_MAX, &err));
	request_fini(&r);
	/* The salt and the final NUL belong to the bound. */
	memset(big, 'a', ARGS_BLOB_MAX - ARGS_SALT_LEN);
	request_init(&r);
	assert_fails(-E2BIG, &err, request_args(&r, &big, 1, &err));
	big[ARGS_BLOB_MAX - ARGS_SALT_LEN - 1] = '\0';
	assert_ok(request_args(&r, &big, 1, &err));
	request_fini(&r);
	free(many);
	free(big);
}

static int
env(struct request *r, char **words, size_t n, struct error *err)
{
	struct parsed p;
	int code;

	*err = (struct error){0};
	if (option_parse(&commands[COMMAND_run], words, n, &p, err) < 0)
		return -EDOM;
	request_init(r);
	code = request_env(r, &p, err);
	parsed_fini(&p);
	return code;
}

static void
values_are_taken_and_sealed(void **state)
{
	static const char expected[] = "A=1\0B=from outside\0C=\0D=x=y";
	char *words[] = {(char *)"-e", (char *)"A=1",	  (char *)"-e", (char *)"B", (char *)"-e",
			 (char *)"C=", (char *)"-eD=x=y", (char *)"--", (char *)"x"};
	uint8_t salt[ARGS_SALT_LEN];
	struct error err;
	struct request r;
	struct buf blob;

	assert_int_equal(setenv("B", "from outside", 1), 0);
	assert_ok(env(&r, words, ARRAY_LEN(words), &err));
	read_blob(r.fds[REQUEST_ENV], &blob, salt);
	assert_int_equal(blob.len, sizeof(expected));
	assert_memory_equal(blob.data, expected, sizeof(expected));
	buf_fini(&blob);
	request_fini(&r);
}

static void
without_e_there_is_no_blob(void **state)
{
	char *words[] = {(char *)"--", (char *)"x"};
	struct error err;
	struct request r;

	assert_ok(env(&r, words, 2, &err));
	assert_int_equal(r.fds[REQUEST_ENV], -1);
	request_fini(&r);
}

static void
bad_names_are_refused(void **state)
{
	static const struct {
		const char *given;
		int code;
	} table[] = {
		{"=x", -EINVAL},
		{"", -EINVAL},
		{"1A=x", -EINVAL},
		{"A-B=x", -EINVAL},
		{"A B=x", -EINVAL},
		{"\xc3\xa4=x", -EINVAL},
		{"LOOM_NOT_THERE", -ENOENT},
	};
	char name[ENV_NAME_MAX + 4];
	char *words[] = {(char *)"-e", NULL, (char *)"--", (char *)"x"};
	char *twice[] = {(char *)"-eA=1", (char *)"-eAB=1", (char *)"-eA", (char *)"--",
			 (char *)"x"};
	struct error err;
	struct request r;

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		words[1] = (char *)table[i].given;
		assert_int_equal(env(&r, words, 4, &err), table[i].code);
		assert_int_equal(r.fds[REQUEST_ENV], -1);
	}
	memset(name, 'A', ENV_NAME_MAX);
	strcpy(name + ENV_NAME_MAX, "=x");
	words[1] = name;
	assert_ok(env(&r, words, 4, &err));
	request_fini(&r);
	strcpy(name + ENV_NAME_MAX, "A=");
	assert_int_equal(env(&r, words, 4, &err), -EINVAL);
	assert_int_equal(env(&r, twice, 5, &err), -EINVAL);
	assert_non_null(strstr(err.text, "given twice"));
}

static void
the_message_carries_it_all(void **state)
{
	char *const arguments[] = {(char *)"x"};
	struct error err = {0};
	struct request r;
	struct channel c, s;
	struct packet p;
	struct msg_run m;
	int fds[2];

	assert_ok(channel_pair(fds, &err));
	channel_init(&c, fds[0], P_CLIENT, P_AUTHORITY, S_RUNNING);
	channel_init(&s, fds[1], P_AUTHORITY, P_CLIENT, S_IDLE);
	assert_ok(packet_init(&p, &err));
	request_init(&r);
	r.profile = "build";
	r.cwd = "sub";
	r.timeout_ms = 5000;
	r.term = "xterm\033[31m"; /* no name of a terminal */
	assert_ok(request_workspace(&r, "real", &err));
	assert_ok(request_args(&r, arguments, 1, &err));
	assert_ok(request_send(&r, &c, &err));
	assert_int_equal(channel_recv(&s, &p, &err), 1);
	assert_int_equal(p.type, MSG_run);
	assert_int_equal(p.n_fds, 5);
	assert_ok(msg_run_decode(p.body, p.len, &m, &err));
	assert_int_equal(m.version, WIRE_VERSION);
	assert_int_equal(m.flags, 0);
	assert_true(wire_text_eq(m.profile, "build"));
	assert_true(wire_text_eq(m.workflow, ""));
	assert_true(wire_text_eq(m.term, ""));
	assert_int_equal(m.cwd.len, 3);
	assert_int_equal(m.timeout_ms, 5000);
	packet_fini(&p);
	request_fini(&r);
	channel_close(&c);
	channel_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workspace_is_a_directory_and_no_link),
		cmocka_unit_test(arguments_are_sealed_under_fresh_salt),
		cmocka_unit_test(too_many_arguments_are_refused),
		cmocka_unit_test(values_are_taken_and_sealed),
		cmocka_unit_test(without_e_there_is_no_blob),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(the_message_carries_it_all),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
