/*
 * Where a loomd may live and where not: directories, the configuration, the two locks, the sockets.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "loomd/places.h"
#include "loomd/sockets.h"

static char root[64];

static int
setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/loomd-places-XXXXXX");
	assert_non_null(mkdtemp(root));
	return 0;
}

static int
gone(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int
teardown(void **state)
{
	(void)state;
	return nftw(root, gone, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *
in_root(const char *name)
{
	static char paths[4][512];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static int
open_at(struct places *p, const char *state, const char *run, const char *config, struct error *err)
{
	const struct places_spec spec = {.state = state, .run = run, .config = config};
	int r;

	places_init(p);
	*err = (struct error){0};
	r = places_open(p, &spec, err);
	if (r < 0)
		places_fini(p);
	return r;
}

static void
refused(int code, const char *words, const char *state, const char *run, const char *config)
{
	struct places p;
	struct error err = {0};
	int r = open_at(&p, state, run, config, &err);

	if (r != code)
		fail_msg("%d, not %d: %s", r, code, err.text);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void
test_made(void **state)
{
	struct places p;
	struct error err = {0};
	mode_t mask = umask(0);

	(void)state;
	assert_ok(
		open_at(&p, in_root("a/b/state"), in_root("r/run"), in_root("none/config"), &err));
	assert_int_equal(mode_of(in_root("a/b/state")), 0700);
	assert_int_equal(mode_of(in_root("a")), 0700);
	assert_int_equal(mode_of(in_root("a/b/state/ledger")), 0700);
	assert_int_equal(mode_of(in_root("a/b/state/sessions")), 0700);
	assert_int_equal(mode_of(in_root("a/b/state/views")), 0700);
	assert_int_equal(mode_of(in_root("r/run")), 0700);
	/* A configuration that is not there is none, and is not made. */
	assert_int_equal(p.config, -1);
	assert_int_equal(access(in_root("none"), F_OK), -1);
	places_fini(&p);
	/* The same again finds what is there. */
	assert_ok(open_at(&p, in_root("a/b/state"), in_root("r/run"), NULL, &err));
	places_fini(&p);
	(void)umask(mask);
}

static void
test_refused(void **state)
{
	(void)state;
	refused(-EINVAL, "state directory", "relative", in_root("run"), NULL);
	refused(-EINVAL, "state directory", in_root("a/../b"), in_root("run"), NULL);
	refused(-EINVAL, "not one of its own", "/", in_root("run"), NULL);
	assert_int_equal(mkdir(in_root("open"), 0755), 0);
	refused(-EPERM, "chmod go=", in_root("open"), in_root("run"), NULL);
	refused(-EPERM, "chmod go=", in_root("state"), in_root("open"), NULL);
	/* Its parts are judged as well. */
	assert_int_equal(mkdir(in_root("state/ledger"), 0700), 0);
	assert_int_equal(chmod(in_root("state/ledger"), 0710), 0);
	refused(-EPERM, "chmod go=", in_root("state"), in_root("run"), NULL);
	assert_int_equal(symlink(in_root("state"), in_root("link")), 0);
	refused(-EPERM, "link", in_root("link"), in_root("run"), NULL);
	if (geteuid() == 0) {
		assert_int_equal(mkdir(in_root("theirs"), 0700), 0);
		assert_int_equal(chown(in_root("theirs"), 12345, 12345), 0);
		refused(-EPERM, "belongs to user 12345", in_root("theirs"), in_root("run"), NULL);
	}
}

static void
test_config(void **state)
{
	struct places p;
	struct error err = {0};

	(void)state;
	assert_int_equal(mkdir(in_root("up"), 0755), 0);
	assert_int_equal(mkdir(in_root("up/config"), 0755), 0);
	assert_ok(open_at(&p, in_root("state"), in_root("run"), in_root("up/config"), &err));
	assert_true(p.config >= 0);
	places_fini(&p);
	/* Whoever may write it: the authority refuses with it, and says so to who asks. */
	assert_int_equal(chmod(in_root("up/config"), 0757), 0);
	assert_ok(open_at(&p, in_root("state"), in_root("run"), in_root("up/config"), &err));
	assert_true(p.config >= 0);
	places_fini(&p);
	assert_int_equal(symlink(in_root("up/config"), in_root("up/link")), 0);
	refused(-ENOTDIR, "open", in_root("state"), in_root("run"), in_root("up/link"));
}

static void
test_locks(void **state)
{
	struct places a, b, c, d;
	struct error err = {0};

	(void)state;
	assert_ok(open_at(&a, in_root("s1"), in_root("r1"), NULL, &err));
	assert_ok(places_lock(&a, &err));
	/* The same two, the same state elsewhere, another state at the same place. */
	assert_ok(open_at(&b, in_root("s1"), in_root("r1"), NULL, &err));
	assert_fails(-EWOULDBLOCK, &err, places_lock(&b, &err));
	assert_ok(open_at(&c, in_root("s1"), in_root("r2"), NULL, &err));
	assert_int_equal(-EBUSY, places_lock(&c, &err));
	assert_ok(open_at(&d, in_root("s2"), in_root("r1"), NULL, &err));
	assert_fails(-EWOULDBLOCK, &err, places_lock(&d, &err));
	/* Half a lock is not kept. */
	places_fini(&a);
	assert_ok(places_lock(&c, &err));
	places_fini(&c);
	assert_ok(places_lock(&b, &err));
	places_fini(&b);
	places_fini(&d);
}

static void
test_sockets(void **state)
{
	char deep[400] = "";
	struct places p;
	struct error err = {0};
	char cwd[4096];
	struct stat st;
	int cli = -1, http = -1;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	/* Far longer than a socket's address may be. */
	while (strlen(deep) < 300)
		(void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep),
			       "%sdirectory-with-a-name", deep[0] != '\0' ? "/" : "");
	assert_ok(open_at(&p, in_root("state"), in_root(deep), NULL, &err));
	assert_false(sockets_there(p.run));
	assert_ok(sockets_bind(p.run, &cli, &http, &err));
	assert_int_equal(fstatat(p.run, SOCKET_CLI, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(p.run, SOCKET_HTTP, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(sockets_there(p.run));
	(void)close(cli);
	(void)close(http);
	/* Stale ones, and whatever else has such a name, are in nobody's way. */
	assert_ok(sockets_bind(p.run, &cli, &http, &err));
	(void)close(cli);
	(void)close(http);
	sockets_unlink(p.run);
	assert_false(sockets_there(p.run));
	assert_int_equal(symlinkat("/etc/passwd", p.run, SOCKET_CLI), 0);
	assert_false(sockets_there(p.run));
	assert_ok(sockets_bind(p.run, &cli, &http, &err));
	assert_int_equal(fstatat(p.run, SOCKET_CLI, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISSOCK(st.st_mode));
	(void)close(cli);
	(void)close(http);
	places_fini(&p);
	assert_int_equal(chdir(cwd), 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_made), T(test_refused), T(test_config), T(test_locks), T(test_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
