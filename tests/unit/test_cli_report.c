/* Where a report may be written, and what it says when there is no other. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/report.h"

static char dir[64];
static int workspace = -1;

static int
setup(void **state)
{
	strcpy(dir, "/tmp/loom-report-XXXXXX");
	if (mkdtemp(dir) == NULL || chdir(dir) != 0 || mkdir("ws", 0755) != 0 ||
	    mkdir("ws/deep", 0755) != 0 || mkdir("ws/deep/er", 0755) != 0 ||
	    mkdir("ws-not", 0755) != 0 || symlink("ws/deep", "in") != 0 ||
	    symlink("plain", "link") != 0 || symlink("nowhere", "dangling") != 0 ||
	    mkfifo("fifo", 0600) != 0 || link("fifo", "fifo2") != 0)
		return -1;
	(void)close(open("ws/inside", O_CREAT | O_WRONLY, 0600));
	if (link("ws/inside", "hard") != 0)
		return -1;
	workspace = open("ws", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return workspace < 0 ? -1 : 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = {"ws/inside", "hard",     "in",
					    "link",	 "dangling", "fifo",
					    "fifo2",	 "plain",    "ws-not/report"};
	static const char *const dirs[] = {"ws/deep/er", "ws/deep", "ws", "ws-not"};

	(void)close(workspace);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlink(files[i]);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		(void)rmdir(dirs[i]);
	return chdir("/") != 0 ? -1 : rmdir(dir);
}

static void
only_outside_the_workspace(void **state)
{
	static const struct {
		const char *path;
		int code;
	} table[] = {
		{"plain", 0},
		{"./plain", 0},
		{"ws-not/report", 0},
		{"ws/../plain", 0},
		{"ws/report", -EINVAL},
		{"ws/deep/er/report", -EINVAL},
		{"ws/deep/../report", -EINVAL},
		{"in/report", -EINVAL}, /* by a link into it */
		{"ws-not/../ws/report", -EINVAL},
		{"hard", -EINVAL}, /* another name of a file in it */
		{"link", -ELOOP},
		{"dangling", -ELOOP},
		{"fifo", -ENXIO},
		{"/dev/null", -EINVAL},
		{"ws", -EISDIR},
		{".", -EISDIR},
		{"..", -EISDIR},
		{"plain/", -EISDIR},
		{"", -EISDIR},
		{"nowhere/report", -ENOENT},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct error err = {0};
		int fd = -1;
		int code = report_open(table[i].path, workspace, &fd, &err);

		if (code != table[i].code)
			fail_msg("'%s': %d (%s), not %d", table[i].path, code, err.text,
				 table[i].code);
		assert_int_equal(fd >= 0, code == 0);
		fd_close(fd);
	}
	assert_int_equal(access("ws/report", F_OK), -1);
	assert_int_equal(access("ws/deep/report", F_OK), -1);
	assert_int_equal(access("nowhere", F_OK), -1);
}

static void
an_old_report_is_emptied(void **state)
{
	struct error err = {0};
	struct stat st;
	int fd = open("plain", O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_int_equal(write(fd, "old and long", 12), 12);
	fd_close(fd);
	assert_ok(report_open("plain", workspace, &fd, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_ok(report_write(fd, "{}", 2, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 3);
	fd_close(fd);
}

/* The sandbox cannot turn the open file into another one by moving names. */
static void
the_file_is_held(void **state)
{
	struct error err = {0};
	struct stat held, named;
	int fd;

	assert_ok(report_open("plain", workspace, &fd, &err));
	assert_int_equal(rename("plain", "moved"), 0);
	assert_int_equal(symlink("ws/inside", "plain"), 0);
	assert_ok(report_write(fd, "{}", 2, &err));
	assert_int_equal(fstat(fd, &held), 0);
	assert_int_equal(stat("moved", &named), 0);
	assert_int_equal(held.st_ino, named.st_ino);
	assert_int_equal(stat("ws/inside", &named), 0);
	assert_int_equal(named.st_size, 0);
	fd_close(fd);
	assert_int_equal(unlink("moved"), 0);
	assert_int_equal(unlink("plain"), 0);
}

static void
a_failure_is_a_document_too(void **state)
{
	static const char *const texts[] = {"plain", "a \"quoted\" \\ word", "\033[31m\n\xff\xfe",
					    "\xe2\x80\xae\xc3\xa4"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(json_decrefp) json_t *doc = NULL;
		struct error err = {0};
		struct buf out;

		buf_init(&out, 4096);
		report_failure("", "op_0123456789abcdef", "internal", texts[i], &out);
		assert_ok(json_read_canonical(out.data, out.len, &doc, &err));
		assert_string_equal(json_string_value(json_object_get(doc, "reason")), "internal");
		assert_true(json_is_null(json_object_get(doc, "session")));
		assert_true(json_is_null(json_object_get(doc, "exit")));
		assert_string_equal(json_string_value(json_object_get(doc, "verdict")), "deny");
		if (i == 1)
			assert_string_equal(json_string_value(json_object_get(doc, "detail")),
					    "a \"quoted\" \\\\ word");
		buf_fini(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_outside_the_workspace),
		cmocka_unit_test(an_old_report_is_emptied),
		cmocka_unit_test(the_file_is_held),
		cmocka_unit_test(a_failure_is_a_document_too),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
