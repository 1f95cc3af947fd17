/* confirm.h's pure parts: what /proc says against what was planned. One thing is changed at a time.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "box/confirm.h"

static const char good_status[] =
	"Name:\tloom-init\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t90\n"
	"Pid:\t90\nPPid:\t80\nTracerPid:\t0\n"
	"Uid:\t2000000007\t2000000007\t2000000007\t2000000007\n"
	"Gid:\t2000000007\t2000000007\t2000000007\t2000000007\n"
	"FDSize:\t64\nGroups:\t \nNSpid:\t90\t2\n"
	"SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	"SigCgt:\t0000000000000000\nCapInh:\t0000000000000000\n"
	"CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	"CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
	"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n";
static const struct confirm_ids ids = {.host_id = 2000000007, .init = 80, .filters = 2};

/* TEXT with the first FROM replaced by TO. */
static const char *
with(const char *text, const char *from, const char *to)
{
	static char out[8192];
	const char *at = strstr(text, from);

	assert_non_null(at);
	(void)snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return out;
}

static void
a_status_as_planned_and_each_way_it_can_differ(void **state)
{
	static const char *const changes[][2] = {
		{"Uid:\t2000000007", "Uid:\t0"},
		{"2000000007\nGid", "0\nGid"},
		{"Gid:\t2000000007", "Gid:\t0"},
		{"Groups:\t ", "Groups:\t0 27"},
		{"CapInh:\t0", "CapInh:\t1"},
		{"CapPrm:\t0", "CapPrm:\t1"},
		{"CapEff:\t0", "CapEff:\t1"},
		{"CapBnd:\t0", "CapBnd:\t1"},
		{"CapAmb:\t0", "CapAmb:\t1"},
		{"NoNewPrivs:\t1", "NoNewPrivs:\t0"},
		{"Seccomp:\t2", "Seccomp:\t0"},
		{"Seccomp_filters:\t2", "Seccomp_filters:\t1"},
		{"Seccomp_filters:\t2", "Seccomp_filters:\t3"},
		{"PPid:\t80", "PPid:\t1"},
		{"TracerPid:\t0", "TracerPid:\t5"},
		{"NSpid:\t90\t2", "NSpid:\t90"},
		{"SigIgn:\t0", "SigIgn:\t1"},
		{"SigBlk:\t0", "SigBlk:\t1"},
		{"Seccomp:\t2\n", ""},
	};
	struct failure f = {0};

	assert_ok(confirm_status(good_status, &ids, &f));
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		f = (struct failure){0};
		assert_true(confirm_status(with(good_status, changes[i][0], changes[i][1]), &ids,
					   &f) < 0);
		assert_string_equal(f.step, "confirm");
		assert_true(f.text[0] != '\0');
	}
}

static const char good_limits[] =
	"Limit                     Soft Limit           Hard Limit           Units     \n"
	"Max core file size        0                    0                    bytes     \n"
	"Max open files            1024                 1024                 files     \n"
	"Max locked memory         65536                65536                bytes     \n"
	"Max pending signals       1024                 1024                 signals   \n"
	"Max msgqueue size         65536                65536                bytes     \n"
	"Max nice priority         0                    0                    \n"
	"Max realtime priority     0                    0                    \n";

static void
limits_are_bounds(void **state)
{
	static const char *const changes[][2] = {
		{"size        0                    0",
		 "size        0                    unlimited"},
		{"1024                 1024                 files",
		 "1024                 1048576              files"},
		{"Max locked memory         65536", "Max locked memory         unlimited"},
		{"Max nice priority         0 ", "Max nice priority         5 "},
		{"Max msgqueue size", "Max something else"},
	};
	struct plan *plan = calloc(1, sizeof(*plan));
	struct failure f = {0};

	plan->open_files = 1024;
	assert_ok(confirm_limits(good_limits, plan, &f));
	plan->open_files = 4096; /* an operator's lower bound is fine */
	assert_ok(confirm_limits(good_limits, plan, &f));
	plan->open_files = 1024;
	/* Where cores go to a pipe it is 1 exactly, soft and hard. */
	plan->flags = PLAN_CORE;
	assert_true(confirm_limits(good_limits, plan, &f) < 0);
	f = (struct failure){0};
	assert_true(confirm_limits(with(good_limits, "size        0                    0",
					"size        0                    1"),
				   plan, &f) < 0);
	f = (struct failure){0};
	assert_ok(confirm_limits(with(good_limits, "size        0                    0",
				      "size        1                    1"),
				 plan, &f));
	plan->flags = 0;
	assert_true(confirm_limits(with(good_limits, "size        0                    0",
					"size        1                    1"),
				   plan, &f) < 0);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		f = (struct failure){0};
		assert_true(confirm_limits(with(good_limits, changes[i][0], changes[i][1]), plan,
					   &f) < 0);
	}
	free(plan);
}

static const char good_mounts[] =
	"67 82 0:57 / / ro,nosuid,nodev,noexec,relatime - tmpfs none rw,mode=755\n"
	"68 67 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n"
	"69 67 0:58 / /dev ro,nosuid,noexec,relatime - tmpfs none rw\n"
	"70 67 0:65 / /proc ro,nosuid,nodev,noexec,relatime - proc proc ro\n"
	"71 69 0:66 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw\n"
	"98 69 0:67 / /dev/shm rw,nosuid,nodev,relatime shared:5 - tmpfs tmpfs rw\n"
	"99 67 0:68 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw\n"
	"96 83 0:69 / /work\\040space rw,nosuid,nodev,relatime - overlay overlay rw\n";

static int
check_mounts(const char *text, enum workspace_mode mode, struct failure *f)
{
	static const struct root root = {.n_mounts = 3,
					 .mounts = {{"/", "tmpfs", false},
						    {"/usr", "ext4", false},
						    {"/dev", "tmpfs", true}}};
	struct plan *plan = calloc(1, sizeof(*plan));
	char copy[8192];
	uint8_t digest[32];
	uint32_t n = 0;
	int r;

	plan->mode = (uint32_t)mode;
	(void)snprintf(plan->strings, sizeof(plan->strings), "/work space");
	(void)snprintf(copy, sizeof(copy), "%s", text);
	*f = (struct failure){0};
	r = confirm_mounts(copy, &root, plan, &n, digest, f);
	free(plan);
	if (r == 0)
		assert_int_equal(n, 8);
	return r;
}

static void
mounts_are_exactly_the_planned_ones(void **state)
{
	static const char *const changes[][2] = {
		{"/usr ro,", "/usr rw,"},
		{"/usr ro,nosuid,", "/usr ro,"},
		{"/usr ro,nosuid,nodev,", "/usr ro,nosuid,"},
		{"/dev ro,nosuid", "/dev rw,nosuid"},
		{"/proc ro", "/proc rw"},
		{"/proc ro,nosuid,nodev,noexec", "/proc ro,nosuid,nodev"},
		{"- overlay ", "- ext4 "},
		{"/tmp rw,nosuid,nodev", "/tmp rw,nosuid"},
		{"99 67 0:68 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw\n", ""},
		{"96 83", "97 83 0:70 / /extra ro,nosuid,nodev - tmpfs tmpfs ro\n96 83"},
		{"96 83", "97 83 0:70 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw\n96 83"},
		{" - overlay overlay rw", ""},
	};
	struct failure f;

	assert_ok(check_mounts(good_mounts, WORKSPACE_OVERLAY, &f));
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		assert_true(check_mounts(with(good_mounts, changes[i][0], changes[i][1]),
					 WORKSPACE_OVERLAY, &f) < 0);
	/* A read-only workspace that is writable, and a direct one that is not. */
	assert_true(check_mounts(good_mounts, WORKSPACE_READ_ONLY, &f) < 0);
	assert_ok(check_mounts(with(good_mounts, "/work\\040space rw", "/work\\040space ro"),
			       WORKSPACE_READ_ONLY, &f));
	assert_true(check_mounts(with(good_mounts, "/work\\040space rw", "/work\\040space ro"),
				 WORKSPACE_DIRECT, &f) < 0);
	/* A read-only one that is no overlay would show the host's sockets. */
	assert_true(
		check_mounts(with(good_mounts, "/work\\040space rw,nosuid,nodev,relatime - overlay",
				  "/work\\040space ro,nosuid,nodev,relatime - ext4"),
			     WORKSPACE_READ_ONLY, &f) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_as_planned_and_each_way_it_can_differ),
		cmocka_unit_test(limits_are_bounds),
		cmocka_unit_test(mounts_are_exactly_the_planned_ones),
	};

	return cmocka_run_group_tests_name("box_confirm", tests, NULL, NULL);
}
