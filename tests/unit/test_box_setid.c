/* setid.h: what is found in a directory that would be handed out directly. Needs root. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "box/setid.h"

static char top[64];
static int dir;

static void
put(const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static int
open_top(void **state)
{
	(void)snprintf(top, sizeof(top), "/var/tmp/loom-setid-XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || mkdirat(dir, "d", 0755) != 0 || mkdirat(dir, "d/e", 02755) != 0 ? -1 : 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int
close_top(void **state)
{
	(void)close(dir);
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int
look(uint64_t max, struct failure *f)
{
	int path = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	*f = (struct failure){0};
	r = setid_look(path, max, f);
	(void)close(path);
	assert_int_equal(r, f->code);
	return r;
}

static void
plain_files_are_nothing(void **state)
{
	struct failure f;

	put("a", 0777);
	put("d/sticky", 01755);
	/* Set-gid without execution by the group gives nobody anything. */
	put("d/e/locked", 02745);
	assert_int_equal(mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
	assert_int_equal(fchmodat(dir, "fifo", 04755, 0), 0);
	assert_int_equal(look(100, &f), 0);
}

static void
finds(const char *name, mode_t mode, const char *text)
{
	struct failure f;

	put(name, mode);
	assert_int_equal(look(100, &f), -EPERM);
	assert_int_equal(f.reason, R_INVALID_PATH);
	assert_string_equal(f.step, "workspace");
	if (strstr(f.text, text) == NULL)
		fail_msg("%s", f.text);
	assert_int_equal(unlinkat(dir, name, 0), 0);
	assert_int_equal(look(100, &f), 0);
}

static void
a_set_id_file_is_found_and_named_escaped(void **state)
{
	char wide[251], text[512];

	finds("u", 04755, ": u (chmod u-s,g-s FILE");
	finds("d/e/not-even-executable", 04600, "d/e/not-even-executable (");
	finds("d/g", 02755, "d/g (");
	finds("d/nl\n", 06755, "d/nl\\x0a (");
	/* Cut between two characters, the remedy still there. */
	for (size_t i = 0; i < sizeof(wide) - 1; i++)
		wide[i] = i % 2 == 0 ? '\xc3' : '\xa4';
	wide[sizeof(wide) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "%.120s... (chmod u-s,g-s FILE, or an overlay profile)",
		       wide);
	finds(wide, 04755, text);
}

static void
a_link_leads_nowhere(void **state)
{
	struct failure f;

	assert_int_equal(symlinkat("/", dir, "root"), 0);
	assert_int_equal(symlinkat("/bin/su", dir, "su"), 0);
	assert_int_equal(look(100, &f), 0);
}

static void
capabilities_are_found(void **state)
{
	const struct vfs_cap_data cap = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1u << CAP_NET_RAW,
	};
	struct failure f;
	char at[128];

	put("d/cap", 0755);
	(void)snprintf(at, sizeof(at), "%s/d/cap", top);
	if (setxattr(at, "security.capability", &cap, sizeof(cap), 0) != 0)
		unit_skip("no capabilities of files here");
	assert_int_equal(look(100, &f), -EPERM);
	assert_non_null(strstr(f.text, "d/cap (setcap -r FILE"));
}

static void
more_than_the_bound_is_refused(void **state)
{
	struct failure f;

	put("a", 0644);
	put("d/b", 0644);
	assert_int_equal(look(4, &f), 0);
	assert_int_equal(look(3, &f), -E2BIG);
	assert_int_equal(f.reason, R_LIMIT_EXCEEDED);
}

/* As a session can leave it: deeper than a path can say. */
static void
too_deep_is_refused(void **state)
{
	char name[201];
	struct failure f;
	int at = dup(dir);

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 21; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
		if (i == 19)
			assert_int_equal(look(100, &f), 0);
	}
	assert_int_equal(look(100, &f), -E2BIG);
	assert_int_equal(f.reason, R_LIMIT_EXCEEDED);
	/* Taken down from below, as nftw(3) cannot. */
	for (int i = 0; i < 21; i++) {
		int up = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		(void)close(at);
		at = up;
		assert_int_equal(unlinkat(at, name, AT_REMOVEDIR), 0);
	}
	(void)close(at);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain_files_are_nothing, open_top, close_top),
		cmocka_unit_test_setup_teardown(a_set_id_file_is_found_and_named_escaped, open_top,
						close_top),
		cmocka_unit_test_setup_teardown(a_link_leads_nowhere, open_top, close_top),
		cmocka_unit_test_setup_teardown(capabilities_are_found, open_top, close_top),
		cmocka_unit_test_setup_teardown(more_than_the_bound_is_refused, open_top,
						close_top),
		cmocka_unit_test_setup_teardown(too_deep_is_refused, open_top, close_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
