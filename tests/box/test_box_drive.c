/*
 * A real loom-box under a stand-in for everybody else (drive.h): what runs, what is refused, what a
 * lying authority gets, and what is left behind. Needs root and what the box needs.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "drive.h"

static const char *box_path;
static char workspace[64];

struct world {
	struct drive d;
	int out[2], err[2];
	int null;
};

static void
world_open(struct world *w)
{
	struct error err = {0};

	w->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(w->null >= 0);
	assert_int_equal(pipe2(w->out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(w->err, O_CLOEXEC), 0);
	(void)fcntl(w->out[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(w->err[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(w->out[1], F_SETPIPE_SZ, 1 << 20);
	if (drive_start(&w->d, box_path, &err) < 0)
		fail_msg("%s", err.text);
}

static unsigned count_spares(const struct world *w);

static void
world_close(struct world *w)
{
	int status = drive_end(&w->d);

	assert_int_equal(count_spares(w), 0);
	drive_clear(&w->d);

	fd_close(w->null);
	for (int i = 0; i < 2; i++) {
		fd_close(w->out[i]);
		fd_close(w->err[i]);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* What was written so far, NUL-terminated. */
static const char *
said(int fd)
{
	static char text[1 << 20];
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	return text;
}

static struct drive_run
run_of(const struct world *w, const char *const *argv)
{
	return (struct drive_run){
		.workspace = workspace, .argv = argv, .streams = {w->null, w->out[1], w->err[1]}};
}

static struct exec_result
run(struct world *w, const struct drive_run *r)
{
	struct exec_result x = {0};
	struct error err = {0};

	if (drive_run(&w->d, r, &x, &err) < 0)
		fail_msg("%s", err.text);
	return x;
}

static struct exec_result
run_shell(struct world *w, const char *script, enum workspace_mode mode)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct drive_run r = run_of(w, argv);

	r.mode = mode;
	return run(w, &r);
}

#define assert_exit(x, kind_, value_)                                                              \
	do {                                                                                       \
		if ((x).status != RESULT_DONE)                                                     \
			fail_msg("%s: %s: %s", reason_code((x).reason), (x).step, (x).detail);     \
		assert_int_equal((x).exit_kind, (kind_));                                          \
		assert_int_equal((x).exit_value, (value_));                                        \
		exec_result_fini(&(x));                                                            \
	} while (0)

static void
a_command_runs_in_each_mode_and_its_status_comes_back(void **state)
{
	struct world w;

	world_open(&w);
	for (int mode = WORKSPACE_OVERLAY; mode <= WORKSPACE_READ_ONLY; mode++) {
		struct exec_result x = run_shell(&w, "echo hello; echo oops >&2; exit 7",
						 (enum workspace_mode)mode);

		assert_int_equal(x.out.bytes, 6);
		assert_int_equal(x.err.bytes, 5);
		assert_false(x.out.truncated);
		assert_non_null(x.box);
		assert_exit(x, EXIT_STATUS, 7);
		assert_string_equal(said(w.out[0]), "hello\n");
		assert_string_equal(said(w.err[0]), "oops\n");
	}
	world_close(&w);
}

static void
what_is_not_there_or_no_program_is_told_apart(void **state)
{
	struct world w;
	const char *none[] = {"no-such-command", NULL}, *text[] = {"/etc/passwd", NULL},
		   *dir[] = {"/usr", NULL}, *option[] = {"--bind", "/", "/", NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, none);
	x = run(&w, &r);
	assert_exit(x, EXIT_NOT_FOUND, ENOENT);
	r = run_of(&w, option);
	x = run(&w, &r);
	assert_exit(x, EXIT_NOT_FOUND, ENOENT);
	r = run_of(&w, text);
	x = run(&w, &r);
	assert_exit(x, EXIT_NOT_EXECUTABLE, EACCES);
	r = run_of(&w, dir);
	x = run(&w, &r);
	assert_exit(x, EXIT_NOT_EXECUTABLE, EACCES);
	world_close(&w);
}

static void
signals_and_time_end_a_command(void **state)
{
	struct world w;
	const char *argv[] = {"sh", "-c", "trap '' TERM INT HUP; sleep 1000 & sleep 1000", NULL};
	struct drive_run r;
	struct exec_result x;
	struct timespec from, to;

	world_open(&w);
	x = run_shell(&w, "kill -SEGV $$", WORKSPACE_DIRECT);
	assert_exit(x, EXIT_SIGNAL, SIGSEGV);
	r = run_of(&w, argv);
	r.timeout_ms = 1000;
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	x = run(&w, &r);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	assert_exit(x, EXIT_TIMEOUT, 0);
	assert_in_range(to.tv_sec - from.tv_sec, 0, 6);
	world_close(&w);
}

/* Grant, wait until it runs, do ACT, and give the outcome. */
static struct exec_result
run_and(struct world *w, const struct drive_run *r, void (*act)(struct world *w))
{
	struct exec_facts *facts = calloc(1, sizeof(*facts));
	struct exec_result x = {0};
	struct error err = {0};
	enum reason reason;
	bool started = false;
	int code;

	code = drive_examine(&w->d, r, &reason, facts, &err);
	if (code == 0)
		code = drive_grant(&w->d, r, facts, &err);
	free(facts);
	/* It says so when it is there. */
	for (int i = 0; code == 0 && i < 500 && said(w->out[0])[0] == '\0'; i++)
		(void)usleep(10000);
	act(w);
	if (code == 0)
		code = drive_outcome(&w->d, &x, &started, &err);
	if (code < 0)
		fail_msg("%s", err.text);
	assert_true(started);
	return x;
}

static void
act_stop(struct world *w)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&w->d.authority, box_stop, &err, .ticket = w->d.ticket,
			       .why = STOP_ASKED));
}

static void
act_interrupt(struct world *w)
{
	struct error err = {0};

	assert_ok(CHANNEL_SEND(&w->d.authority, box_signal, &err, .ticket = w->d.ticket,
			       .signo = SIGINT));
}

static void
a_stop_ends_everything_and_a_signal_reaches_the_command(void **state)
{
	struct world w;
	const char *stubborn[] = {"sh", "-c",
				  "trap '' INT TERM; (setsid sleep 1000 &); echo up; sleep 1000",
				  NULL},
		   *polite[] = {"sh", "-c",
				"trap 'exit 42' INT; echo up; while :; do sleep 0.05; done", NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, stubborn);
	x = run_and(&w, &r, act_stop);
	assert_exit(x, EXIT_STOPPED, STOP_ASKED);
	r = run_of(&w, polite);
	x = run_and(&w, &r, act_interrupt);
	assert_exit(x, EXIT_STATUS, 42);
	world_close(&w);
}

static void
output_is_counted_whole_and_delivered_to_the_limit(void **state)
{
	struct world w;
	const char *argv[] = {"head", "-c", "1000000", "/dev/zero", NULL};
	struct drive_run r;
	struct exec_result x;
	size_t got = 0;
	char buf[65536];
	ssize_t n;

	world_open(&w);
	r = run_of(&w, argv);
	r.output = 100000;
	x = run(&w, &r);
	while ((n = read(w.out[0], buf, sizeof(buf))) > 0)
		got += (size_t)n;
	assert_int_equal(got, 100000);
	assert_int_equal(x.out.bytes, 1000000);
	assert_true(x.out.truncated);
	assert_exit(x, EXIT_STATUS, 0);
	world_close(&w);
}

static void
a_client_that_does_not_read_or_has_gone_holds_nothing_up(void **state)
{
	struct world w;
	const char *yes[] = {"yes", NULL};
	struct drive_run r;
	struct exec_result x;
	int closed[2];

	world_open(&w);
	assert_int_equal(pipe2(closed, O_CLOEXEC), 0);
	(void)close(closed[0]);
	r = run_of(&w, yes);
	r.streams[1] = closed[1];
	x = run(&w, &r);
	assert_exit(x, EXIT_SIGNAL, SIGPIPE);
	(void)close(closed[1]);
	/* Nobody reads a blocking pipe of 4 KiB: the wall time still ends it. */
	(void)fcntl(w.out[1], F_SETPIPE_SZ, 4096);
	r = run_of(&w, yes);
	r.timeout_ms = 1000;
	x = run(&w, &r);
	assert_true(x.out.truncated);
	assert_exit(x, EXIT_TIMEOUT, 0);
	assert_int_equal(fcntl(w.out[1], F_GETFL) & O_NONBLOCK, 0);
	world_close(&w);
}

static void
limits_hold(void **state)
{
	struct world w;
	const char *memory[] = {"sh", "-c",
				"head -c 300000000 /dev/zero | tail >/dev/null; echo $?", NULL},
		   *forks[] = {"sh", "-c",
			       "i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; wait",
			       NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, memory);
	r.memory = UINT64_C(64) << 20;
	x = run(&w, &r);
	assert_true(x.oom_kills > 0);
	assert_true(x.memory_peak <= r.memory);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_not_equal(said(w.out[0]), "0\n");
	r = run_of(&w, forks);
	r.pids = 20;
	x = run(&w, &r);
	assert_true(x.pids_peak <= 20);
	assert_non_null(strstr(said(w.err[0]), "fork"));
	exec_result_fini(&x);
	world_close(&w);
}

static void
changes_are_counted_and_kept_and_a_session_goes_on(void **state)
{
	struct world w;
	const char *first[] = {"sh", "-c", "echo one >kept; rm -f gone", NULL},
		   *second[] = {"cat", "kept", NULL}, *third[] = {"ls", NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, first);
	r.session = 77;
	x = run(&w, &r);
	assert_true(x.kept);
	assert_int_equal(x.changes, 1);
	assert_exit(x, EXIT_STATUS, 0);
	r = run_of(&w, second);
	r.session = 77;
	r.again = true;
	x = run(&w, &r);
	assert_int_equal(x.changes, 1);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "one\n");
	/* The workspace itself was not touched, and another session does not see it. */
	r = run_of(&w, third);
	x = run(&w, &r);
	assert_int_equal(x.changes, 0);
	assert_false(x.kept);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "");
	world_close(&w);
}

static void
put(const char *dir, const char *name, const char *text)
{
	char path[160];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (text == NULL) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Names in the directory of sessions that are none of a session's. */
static unsigned
count_spares(const struct world *w)
{
	char path[96];
	unsigned n = 0;
	const struct dirent *e;
	DIR *d;

	(void)snprintf(path, sizeof(path), "%s/sessions", w->d.state);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 &&
		     strcmp(e->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

/* A sandbox that was made ready for a workspace shows it as it is when it is used. */
static void
a_prepared_workspace_is_the_one_of_the_moment_or_none(void **state)
{
	struct world w;
	char other[] = "/var/tmp/box-test-XXXXXX";
	const char *cat[] = {"sh", "-c", "ls; cat file; echo x >new; cat new", NULL};
	struct drive_run r;
	struct exec_result x;

	assert_non_null(mkdtemp(other));
	assert_int_equal(chmod(other, 0755), 0);
	put(other, "file", "other\n");
	put(workspace, "file", "one\n");
	put(workspace, "old", "");
	world_open(&w);
	for (int i = 0; i < 4; i++) {
		r = run_of(&w, cat);
		x = run(&w, &r);
		assert_int_equal(x.changes, 1);
		assert_exit(x, EXIT_STATUS, 0);
		assert_string_equal(said(w.out[0]), i < 2    ? "file\nold\none\nx\n"
						    : i == 2 ? "file\nlater\ntwo and more\nx\n"
							     : "file\nlater\nthree\nx\n");
		/* Long enough for the next ones to be made ready. */
		(void)usleep(300000);
		assert_true(i == 0 || count_spares(&w) > 0);
		if (i == 1) {
			put(workspace, "file", "two and more\n");
			put(workspace, "later", "");
			put(workspace, "old", NULL);
		} else if (i == 2) {
			put(workspace, "file", NULL);
			put(workspace, "file", "three\n");
		}
	}
	/* Another workspace, and one whose owner changed, get their own. */
	r = run_of(&w, cat);
	r.workspace = other;
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "file\nother\nx\n");
	assert_int_equal(chown(other, 12345, 12345), 0);
	(void)usleep(300000);
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "file\nother\nx\n");
	put(workspace, "file", NULL);
	put(workspace, "later", NULL);
	put(other, "file", NULL);
	assert_int_equal(rmdir(other), 0);
	world_close(&w);
}

static void
files_made_in_direct_mode_belong_to_the_workspace_s_owner(void **state)
{
	struct world w;
	struct exec_result x;
	struct stat st;
	char path[96];

	assert_int_equal(chown(workspace, 12345, 12346), 0);
	world_open(&w);
	x = run_shell(&w, "id -u; echo x >made; chmod 4755 made; stat -c %u made",
		      WORKSPACE_DIRECT);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "1000\n1000\n");
	assert_non_null(strstr(said(w.err[0]), "Operation not permitted"));
	(void)snprintf(path, sizeof(path), "%s/made", workspace);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12346);
	assert_int_equal(st.st_mode & 07000, 0);
	assert_int_equal(unlink(path), 0);
	x = run_shell(&w, "echo x >made", WORKSPACE_READ_ONLY);
	assert_exit(x, EXIT_STATUS, 2);
	world_close(&w);
	assert_int_equal(chown(workspace, 0, 0), 0);
}

static void
a_workspace_can_lie_at_its_host_path_and_a_directory_be_chosen(void **state)
{
	struct world w;
	const char *argv[] = {"pwd", NULL};
	struct drive_run r;
	struct exec_result x;
	char sub[96], want[128];

	(void)snprintf(sub, sizeof(sub), "%s/a b", workspace);
	assert_int_equal(mkdir(sub, 0755), 0);
	world_open(&w);
	r = run_of(&w, argv);
	r.at = "host";
	r.cwd = "a b";
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	(void)snprintf(want, sizeof(want), "%s\n", sub);
	assert_string_equal(said(w.out[0]), want);
	assert_int_equal(rmdir(sub), 0);
	/* A link out of the workspace is no way to choose one. */
	assert_int_equal(symlink("/usr", sub), 0);
	r.at = NULL;
	x = run(&w, &r);
	assert_int_equal(x.status, RESULT_REFUSED);
	assert_int_equal(x.reason, R_INVALID_PATH);
	exec_result_fini(&x);
	assert_int_equal(unlink(sub), 0);
	world_close(&w);
}

static void
the_environment_is_built_and_the_client_s_comes_last(void **state)
{
	struct world w;
	const char *argv[] = {"env", NULL}, *env[] = {"HOME=/tmp", "MINE=a=b", NULL};
	struct drive_run r;
	struct exec_result x;
	const char *text;

	assert_int_equal(setenv("LOOM_TEST_LEAK", "1", 1), 0);
	world_open(&w);
	r = run_of(&w, argv);
	r.env = env;
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	text = said(w.out[0]);
	assert_non_null(strstr(text, "HOME=/tmp\n"));
	assert_null(strstr(text, "HOME=/tmp/home"));
	assert_non_null(strstr(text, "MINE=a=b\n"));
	assert_non_null(strstr(text, "LOOM_SESSION=s_"));
	assert_null(strstr(text, "LOOM_TEST_LEAK"));
	world_close(&w);
}

static void
a_terminal_is_the_session_s_own(void **state)
{
	struct world w;
	const char *argv[] = {"sh", "-c", "tty && test -t 2 && stty size", NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, argv);
	r.tty = true;
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	assert_non_null(strstr(said(w.out[0]), "/dev/pts/0"));
	world_close(&w);
}

/* ---- a lying authority ---- */

static void
expect_refused(struct drive_run r, struct world *w, enum reason reason)
{
	struct exec_result x = run(w, &r);

	assert_int_equal(x.status, RESULT_REFUSED);
	assert_int_equal(x.exit_kind, EXIT_NONE);
	assert_int_equal(x.reason, reason);
	assert_string_equal(said(w->out[0]), "");
	exec_result_fini(&x);
}

static void
what_differs_from_the_record_is_refused(void **state)
{
	struct world w;
	const char *argv[] = {"echo", "ran", NULL};
	struct drive_run r;
	struct exec_result x;

	world_open(&w);
	r = run_of(&w, argv);
	r.forged_args = true;
	expect_refused(r, &w, R_INVALID_PATH);
	r = run_of(&w, argv);
	r.swapped_workspace = true;
	expect_refused(r, &w, R_INVALID_PATH);
	r = run_of(&w, argv);
	r.other_cwd = true;
	expect_refused(r, &w, R_INVALID_PATH);
	r = run_of(&w, argv);
	r.other_profile = true;
	expect_refused(r, &w, R_PROFILE_MISMATCH);
	/* And the honest one is performed: the box has taken no harm. */
	r = run_of(&w, argv);
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	assert_string_equal(said(w.out[0]), "ran\n");
	world_close(&w);
}

/* The box ends rather than answer: there is no outcome, and nothing ran. */
static void
expect_death(void (*lie)(struct drive_run *r))
{
	struct world w;
	const char *argv[] = {"echo", "ran", NULL};
	struct drive_run r;
	struct exec_result x = {0};
	struct error err = {0};
	int status;

	world_open(&w);
	r = run_of(&w, argv);
	x = run(&w, &r);
	assert_exit(x, EXIT_STATUS, 0);
	(void)said(w.out[0]);
	r.reuse_index = 0;
	lie(&r);
	if (r.reuse_index == UINT64_MAX)
		r.reuse_index = w.d.index;
	assert_true(drive_run(&w.d, &r, &x, &err) < 0);
	assert_string_equal(said(w.out[0]), "");
	status = drive_stop(&w.d);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 0);
	fd_close(w.null);
	for (int i = 0; i < 2; i++) {
		fd_close(w.out[i]);
		fd_close(w.err[i]);
	}
}

static void
lie_mac(struct drive_run *r)
{
	r->wrong_mac = true;
}
static void
lie_leaf(struct drive_run *r)
{
	r->wrong_leaf = true;
}
static void
lie_digest(struct drive_run *r)
{
	r->no_ledger_digest = true;
}
static void
lie_kind(struct drive_run *r)
{
	r->wrong_kind = true;
}
static void
lie_replay(struct drive_run *r)
{
	r->reuse_index = UINT64_MAX;
}
static void
lie_ticket(struct drive_run *r)
{
	r->other_ticket = 4711;
}

static void
a_broken_record_ends_the_box_and_runs_nothing(void **state)
{
	expect_death(lie_mac);
	expect_death(lie_leaf);
	expect_death(lie_digest);
	expect_death(lie_kind);
	expect_death(lie_replay);
	expect_death(lie_ticket);
}

/* ---- what is left ---- */

/* Cgroups of the box that was PID, in hierarchies whose root our own cgroup is. */
static unsigned
count_cgroups_of(pid_t pid)
{
	const char *bases[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"};
	char prefix[32];
	unsigned n = 0;

	(void)snprintf(prefix, sizeof(prefix), "loom-%d-", (int)pid);
	for (size_t i = 0; i < 3; i++) {
		DIR *d = opendir(bases[i]);
		const struct dirent *e;

		while (d != NULL && (e = readdir(d)) != NULL)
			n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
		if (d != NULL)
			(void)closedir(d);
	}
	return n;
}

/* PIDs of all processes whose parent is PARENT, of up to N. */
static unsigned
children_of(pid_t parent, pid_t *out, unsigned max)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL && n < max) {
		char path[300], text[512];
		int fd, ppid;
		const char *close_paren;
		ssize_t len;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
		fd_close(fd);
		if (len <= 0)
			continue;
		text[len] = '\0';
		close_paren = strrchr(text, ')');
		if (close_paren != NULL && sscanf(close_paren + 1, " %*c %d", &ppid) == 1 &&
		    ppid == parent)
			out[n++] = (pid_t)strtol(e->d_name, NULL, 10);
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* Everything beneath ROOT, itself not. */
static unsigned
descendants(pid_t root, pid_t *out, unsigned max)
{
	unsigned n = children_of(root, out, max);

	for (unsigned i = 0; i < n; i++)
		n += children_of(out[i], out + n, max - n);
	return n;
}

static bool
any_alive(const pid_t *pids, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char path[40], text[256] = "";
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pids[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)!read(fd, text, sizeof(text) - 1);
		fd_close(fd);
		/* A zombie that its new parent has not fetched yet is dead. */
		if (strstr(text, ") Z") == NULL)
			return true;
	}
	return false;
}

static void
when_the_box_is_killed_all_of_it_dies(void **state)
{
	struct world w;
	const char *argv[] = {"sh", "-c", "(setsid sleep 1000 &); echo up; sleep 1000", NULL};
	struct drive_run r;
	struct exec_facts *facts = calloc(1, sizeof(*facts));
	struct error err = {0};
	enum reason reason;
	pid_t pids[64], box;
	unsigned n;
	int status;

	world_open(&w);
	r = run_of(&w, argv);
	assert_ok(drive_examine(&w.d, &r, &reason, facts, &err));
	assert_ok(drive_grant(&w.d, &r, facts, &err));
	free(facts);
	for (int i = 0; i < 500 && said(w.out[0])[0] == '\0'; i++)
		(void)usleep(10000);
	n = descendants(w.d.box, pids, 64);
	assert_true(n >= 5); /* nursery, keeper, init, sh, sleep */
	assert_int_equal(kill(w.d.box, SIGKILL), 0);
	for (int i = 0; i < 200 && any_alive(pids, n); i++)
		(void)usleep(10000);
	assert_false(any_alive(pids, n));
	status = drive_stop(&w.d);
	assert_true(WIFSIGNALED(status));
	fd_close(w.null);
	for (int i = 0; i < 2; i++) {
		fd_close(w.out[i]);
		fd_close(w.err[i]);
	}
	/* The next one cleans up. */
	box = w.d.box;
	world_open(&w);
	assert_int_equal(count_cgroups_of(box), 0);
	world_close(&w);
	assert_int_equal(count_cgroups_of(w.d.box), 0);
}

static int
group_setup(void **state)
{
	(void)snprintf(workspace, sizeof(workspace), "/var/tmp/box-test-XXXXXX");
	return mkdtemp(workspace) != NULL && chmod(workspace, 0755) == 0 ? 0 : -1;
}

static int
group_teardown(void **state)
{
	return rmdir(workspace);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_runs_in_each_mode_and_its_status_comes_back),
		cmocka_unit_test(what_is_not_there_or_no_program_is_told_apart),
		cmocka_unit_test(signals_and_time_end_a_command),
		cmocka_unit_test(a_stop_ends_everything_and_a_signal_reaches_the_command),
		cmocka_unit_test(output_is_counted_whole_and_delivered_to_the_limit),
		cmocka_unit_test(a_client_that_does_not_read_or_has_gone_holds_nothing_up),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(changes_are_counted_and_kept_and_a_session_goes_on),
		cmocka_unit_test(a_prepared_workspace_is_the_one_of_the_moment_or_none),
		cmocka_unit_test(files_made_in_direct_mode_belong_to_the_workspace_s_owner),
		cmocka_unit_test(a_workspace_can_lie_at_its_host_path_and_a_directory_be_chosen),
		cmocka_unit_test(the_environment_is_built_and_the_client_s_comes_last),
		cmocka_unit_test(a_terminal_is_the_session_s_own),
		cmocka_unit_test(what_differs_from_the_record_is_refused),
		cmocka_unit_test(a_broken_record_ends_the_box_and_runs_nothing),
		cmocka_unit_test(when_the_box_is_killed_all_of_it_dies),
	};

	if (argc != 2)
		return 2;
	box_path = argv[1];
	if (geteuid() != 0 || getenv("LOOM_VALGRIND") != NULL) {
		(void)fprintf(stderr, "SKIP: needs root, and no emulator\n");
		return getenv("LOOM_MUST_WORK") != NULL && getenv("LOOM_VALGRIND") == NULL ? 1 : 77;
	}
	return cmocka_run_group_tests_name("box", tests, group_setup, group_teardown);
}
