/*
 * cgroup.h and procfs.h. Version 2 is not to be had on every machine, so its files are played by
 * plain ones in a directory: what is written to which, and that a value read back otherwise is
 * noticed.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/cgroup.h"
#include "box/procfs.h"

static char base[] = "/tmp/loom-test-XXXXXX";

static void
put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static const char *
get(const char *dir, const char *name)
{
	static char text[128];
	char path[256];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	return text;
}

struct play {
	const char *name, *text;
};
static const struct play v2_files[] = {
	{"memory.max", "max\n"},
	{"memory.swap.max", "max\n"},
	{"cpu.max", "max 100000\n"},
	{"pids.max", "max\n"},
	{"memory.peak", "123456\n"},
	{"pids.peak", "4\n"},
	{"cpu.stat", "usage_usec 777\nuser_usec 1\n"},
	{"memory.events", "low 0\noom 1\noom_kill 2\n"},
	{"cgroup.kill", ""},
	{"cgroup.procs", ""},
};

/* A cgroup whose directory is plain. */
static void
open_play(struct cgroups *c, struct cgroup *g, char dir[64])
{
	cgroups_init(c);
	c->ops = &cgroup_v2;
	c->n = 1;
	c->swap_counted = true;
	(void)snprintf(c->path[0], sizeof(c->path[0]), "/system.slice/loom-1-abc");
	(void)snprintf(dir, 64, "%s/s1", base);
	assert_int_equal(mkdir(dir, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(v2_files); i++)
		put(dir, v2_files[i].name, v2_files[i].text);
	*g = (struct cgroup){.in = c, .name = "s1"};
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		g->dir[i] = -1;
	for (int i = 0; i < CGROUP_FILES_MAX; i++)
		g->file[i] = -1;
	g->dir[0] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < CGROUP_FILES_MAX; i++)
		if (cgroup_v2.files[i].name != NULL)
			g->file[i] =
				openat(g->dir[0], cgroup_v2.files[i].name, O_RDONLY | O_CLOEXEC);
}

static void
close_play(struct cgroup *g, const char *dir)
{
	char path[128];

	cgroup_close(g);
	for (size_t i = 0; i < ARRAY_LEN(v2_files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, v2_files[i].name);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void
version_2_is_limited_read_back_and_asked(void **state)
{
	const struct cgroup_limits want = {
		.memory = (1u << 30) + 5, .cpu_milli = 1500, .pids = 100};
	struct cgroups c;
	struct cgroup g;
	struct cgroup_usage usage;
	struct error err = {0};
	char dir[64];

	open_play(&c, &g, dir);
	/* The kernel rounds to pages; a plain file does not, and the difference is an error. */
	assert_int_equal(cgroup_limit(&g, &want, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "memory"));
	err = (struct error){0};
	{
		struct cgroup_limits whole = want;
		struct cgroup_values v;

		whole.memory = 1u << 30;
		assert_ok(cgroup_limit(&g, &whole, &err));
		assert_string_equal(get(dir, "memory.max"), "1073741824");
		assert_string_equal(get(dir, "memory.swap.max"), "0");
		assert_string_equal(get(dir, "cpu.max"), "150000 100000");
		assert_string_equal(get(dir, "pids.max"), "101"); /* and its init */
		assert_ok(cgroup_values(&g, &whole, &v, &err));
		assert_int_equal(v.version, 2);
		assert_int_equal(v.cpu_quota, 150000);
		put(dir, "pids.max", "max\n");
		assert_int_equal(cgroup_values(&g, &whole, &v, &err), -EBADMSG);
	}
	cgroup_usage(&g, &usage);
	assert_int_equal(usage.memory_peak, 123456);
	assert_int_equal(usage.pids_peak, 3);
	assert_int_equal(usage.cpu_us, 777);
	assert_int_equal(usage.oom_kills, 2);
	assert_true(cgroup_clone_fd(&g) >= 0);
	close_play(&g, dir);
}

static void
a_file_that_takes_nothing_is_an_error(void **state)
{
	const struct cgroup_limits want = {.memory = 1u << 30, .cpu_milli = 1000, .pids = 10};
	struct cgroups c;
	struct cgroup g;
	struct error err = {0};
	char dir[64], path[96];

	open_play(&c, &g, dir);
	(void)snprintf(path, sizeof(path), "%s/cpu.max", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cgroup_limit(&g, &want, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cpu.max"));
	close_play(&g, dir);
}

static void
without_a_count_of_socket_memory_there_is_no_session(void **state)
{
	static const char *const files[] = {"memory.stat", "cgroup.subtree_control",
					    "memory.kmem.tcp.limit_in_bytes"};
	struct cgroups c;
	struct error err = {0};
	char path[128];

	cgroups_init(&c);
	c.n = 1;
	c.top[0] = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(cgroup_v1.prepare(&c, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "sockets"));
	put(base, files[2], "9223372036854771712\n");
	err = (struct error){0};
	assert_ok(cgroup_v1.prepare(&c, &err));
	put(base, files[1], "cpu memory pids\n");
	put(base, files[0], "anon 1\nfile 2\nsocket 3\n");
	assert_int_equal(cgroup_v2.prepare(&c, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "sockets"));
	put(base, files[0], "anon 1\nfile 2\nsock 0\n");
	err = (struct error){0};
	assert_ok(cgroup_v2.prepare(&c, &err));
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", base, files[i]);
		assert_int_equal(unlink(path), 0);
	}
	fd_closep(&c.top[0]);
}

static void
membership_is_read_by_controller(void **state)
{
	struct cgroups c;
	struct cgroup g = {.in = &c, .name = "s7"};
	struct error err = {0};

	cgroups_init(&c);
	c.ops = &cgroup_v2;
	c.n = 1;
	(void)snprintf(c.path[0], sizeof(c.path[0]), "/x/loom-1-a");
	assert_ok(cgroup_has(&g, "0::/x/loom-1-a/s7\n", &err));
	assert_true(cgroup_has(&g, "0::/x/loom-1-a/s70\n", &err) < 0);
	assert_true(cgroup_has(&g, "0::/x/loom-1-a\n", &err) < 0);
	assert_true(cgroup_has(&g, "", &err) < 0);
	c.ops = &cgroup_v1;
	c.n = 2;
	c.of[CGROUP_MEMORY] = 0;
	c.of[CGROUP_CPU] = c.of[CGROUP_PIDS] = 1;
	(void)snprintf(c.path[1], sizeof(c.path[1]), "/loom-1-a");
	assert_ok(cgroup_has(&g,
			     "9:memory:/x/loom-1-a/s7\n8:cpu,cpuacct:/loom-1-a/s7\n"
			     "7:pids:/loom-1-a/s7\n0::/\n",
			     &err));
	assert_true(cgroup_has(&g,
			       "9:memory:/x/loom-1-a/s7\n8:cpuacct:/loom-1-a/s7\n"
			       "7:pids:/loom-1-a/s7\n",
			       &err) < 0);
	assert_true(cgroup_has(&g,
			       "9:memory:/x/loom-1-a/s7\n8:cpu,cpuacct:/\n7:pids:/loom-1-a/s7\n",
			       &err) < 0);
}

static void
numbers_and_words_of_cgroup_files(void **state)
{
	uint64_t v;
	struct error err = {0};

	assert_ok(cgroup_number("max", "f", &v, &err));
	assert_true(v == UINT64_MAX);
	assert_ok(cgroup_number("42", "f", &v, &err));
	assert_int_equal(v, 42);
	assert_int_equal(cgroup_number("-1", "f", &v, &err), -EBADMSG);
	assert_int_equal(cgroup_number("", "f", &v, &err), -EBADMSG);
}

static void
lines_of_mountinfo_are_split_or_refused(void **state)
{
	char good[] = "1 2 3:4 /root /at ro,nosuid shared:1 master:2 - ext4 /dev/x rw,a=b\n"
		      "5 6 7:8 / / rw - tmpfs none rw\n";
	char bad[] = "1 2 3:4 /root /at ro,nosuid ext4\n5 6 7:8 / / rw - tmpfs none rw\n";
	struct procfs_mount m;
	char *at = good;

	assert_true(procfs_mount_next(&at, &m));
	assert_string_equal(m.root, "/root");
	assert_string_equal(m.at, "/at");
	assert_string_equal(m.options, "ro,nosuid");
	assert_string_equal(m.type, "ext4");
	assert_string_equal(m.super, "rw,a=b");
	assert_true(procfs_has_option(m.options, "nosuid"));
	assert_false(procfs_has_option(m.options, "suid"));
	assert_false(procfs_has_option(m.options, "nosui"));
	assert_true(procfs_mount_next(&at, &m));
	assert_false(procfs_mount_next(&at, &m));
	assert_int_equal(*at, '\0');
	at = bad;
	assert_false(procfs_mount_next(&at, &m));
}

static int
group_setup(void **state)
{
	return mkdtemp(base) != NULL ? 0 : -1;
}

static int
group_teardown(void **state)
{
	return rmdir(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_2_is_limited_read_back_and_asked),
		cmocka_unit_test(a_file_that_takes_nothing_is_an_error),
		cmocka_unit_test(without_a_count_of_socket_memory_there_is_no_session),
		cmocka_unit_test(membership_is_read_by_controller),
		cmocka_unit_test(numbers_and_words_of_cgroup_files),
		cmocka_unit_test(lines_of_mountinfo_are_split_or_refused),
	};

	return cmocka_run_group_tests_name("box_cgroup", tests, group_setup, group_teardown);
}
