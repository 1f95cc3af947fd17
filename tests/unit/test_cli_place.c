/* Where the daemon is looked for, and which directories are believed. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/place.h"

static void
places(void **state)
{
	static const struct {
		struct place_env env;
		int code;
		const char *run, *state, *config, *parent;
	} table[] = {
		{{0, NULL, NULL, NULL, "/root"},
		 0,
		 "/run/loom-root",
		 "/root/.local/state/loom",
		 "/root/.config/loom",
		 ""},
		{{0, "/run/user/0", NULL, NULL, "/root"},
		 0,
		 "/run/user/0/loom",
		 "/root/.local/state/loom",
		 "/root/.config/loom",
		 "/run/user/0"},
		{{0, "/run/user/0/", "/s", "/c", NULL},
		 0,
		 "/run/user/0/loom",
		 "/s/loom",
		 "/c/loom",
		 "/run/user/0"},
		{{1000, NULL, "/s", NULL, "/home/u"},
		 0,
		 "/s/loom/run",
		 "/s/loom",
		 "/home/u/.config/loom",
		 ""},
		/* What is not absolute is not there. */
		{{0, "run", "", "x/y", "/root"},
		 0,
		 "/run/loom-root",
		 "/root/.local/state/loom",
		 "/root/.config/loom",
		 ""},
		{{0, NULL, NULL, "/c", NULL}, -EINVAL, NULL, NULL, NULL, NULL},
		{{0, NULL, "/s", NULL, "home"}, -EINVAL, NULL, NULL, NULL, NULL},
		{{0, NULL, "/s", NULL, ""}, -EINVAL, NULL, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct error err = {0};
		struct place p;

		assert_int_equal(place_find(&table[i].env, &p, &err), table[i].code);
		if (table[i].code < 0)
			continue;
		assert_string_equal(p.run, table[i].run);
		assert_string_equal(p.state, table[i].state);
		assert_string_equal(p.config, table[i].config);
		assert_string_equal(p.run_parent, table[i].parent);
	}
}

static void
too_long_is_an_error(void **state)
{
	char *longest = malloc(PATH_MAX + 1);
	struct error err = {0};
	struct place p;

	assert_non_null(longest);
	memset(longest, 'a', PATH_MAX);
	longest[0] = '/';
	longest[PATH_MAX] = '\0';
	assert_fails(
		-ENAMETOOLONG, &err,
		place_find(&(struct place_env){.xdg_state_home = longest, .home = "/"}, &p, &err));
	longest[PATH_MAX - 3] = '\0';
	assert_fails(
		-ENAMETOOLONG, &err,
		place_find(&(struct place_env){.xdg_runtime_dir = longest, .home = "/"}, &p, &err));
	free(longest);
}

static void
only_private_directories_are_believed(void **state)
{
	char dir[] = "/tmp/loom-place-XXXXXX";
	char path[64];
	struct error err = {0};
	uid_t me = geteuid();

	assert_non_null(mkdtemp(dir));
	assert_ok(place_check(dir, me, false, &err));
	assert_int_equal(chmod(dir, 0750), 0);
	assert_int_equal(place_check(dir, me, false, &err), -EPERM);
	assert_non_null(strstr(err.text, "chmod 0700"));
	err = (struct error){0};
	assert_ok(place_check(dir, me, true, &err));
	assert_int_equal(chmod(dir, 0701), 0);
	assert_fails(-EPERM, &err, place_check(dir, me, false, &err));
	assert_int_equal(chmod(dir, 0770), 0);
	assert_fails(-EPERM, &err, place_check(dir, me, true, &err));
	assert_int_equal(chmod(dir, 0700), 0);
	assert_fails(-EPERM, &err, place_check(dir, me + 1, false, &err));
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(".", path), 0);
	assert_fails(-EPERM, &err, place_check(path, me, false, &err));
	assert_int_equal(unlink(path), 0);
	assert_fails(-ENOENT, &err, place_check(path, me, false, &err));
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(too_long_is_an_error),
		cmocka_unit_test(only_private_directories_are_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
