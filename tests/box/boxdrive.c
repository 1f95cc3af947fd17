/*
 * boxdrive [options] BOX -- CMD…: one loom-box, N runs of CMD, times of each.
 *   -n N  -s MS (quiet before each)  -m overlay|direct|read-only  -a AT  -C DIR  -w CWD  -t  -e K=V
 *   -T timeout-ms  -M memory  -p pids  -o output  -x ptrace
 *   -b   after each, the same under bwrap with all its namespaces, for a ratio
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drive.h"

static double
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
print_times(const char *what, double *t, unsigned n)
{
	qsort(t, n, sizeof(*t), by_value);
	(void)fprintf(stderr, "%-20s median %7.0f us  p10 %7.0f  p90 %7.0f  max %7.0f  (%u)\n",
		      what, t[n / 2], t[n / 10], t[n * 9 / 10], t[n - 1], n);
}

static double
bwrap_us(const char *const *command)
{
	const char *argv[64] = {"bwrap",
				"--unshare-all",
				"--die-with-parent",
				"--ro-bind",
				"/usr",
				"/usr",
				"--symlink",
				"usr/bin",
				"/bin",
				"--symlink",
				"usr/lib64",
				"/lib64",
				"--symlink",
				"usr/lib",
				"/lib",
				"--proc",
				"/proc",
				"--dev",
				"/dev",
				"--tmpfs",
				"/tmp",
				"--bind",
				".",
				"/workspace",
				"--chdir",
				"/workspace"};
	double from = now_us();
	unsigned n = 0;
	pid_t pid;

	while (argv[n] != NULL)
		n++;
	for (; *command != NULL && n < 63; command++)
		argv[n++] = *command;
	pid = vfork();
	if (pid == 0) {
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
	return now_us() - from;
}

int
main(int argc, char **argv)
{
	struct drive d;
	struct error err = {0};
	const char *env[33] = {0};
	struct drive_run r = {.workspace = ".", .streams = {0, 1, 2}};
	unsigned n = 1, sleep_ms = 0, n_env = 0;
	double *examine, *start, *done, *total, *bwrap;
	bool compare = false;
	int c, status = 0;

	while ((c = getopt(argc, argv, "+n:s:m:a:C:w:te:T:M:p:o:xb")) != -1) {
		switch (c) {
		case 'n':
			n = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			sleep_ms = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			r.mode = optarg[0] == 'o'   ? WORKSPACE_OVERLAY
				 : optarg[0] == 'd' ? WORKSPACE_DIRECT
						    : WORKSPACE_READ_ONLY;
			break;
		case 'a':
			r.at = optarg;
			break;
		case 'C':
			r.workspace = optarg;
			break;
		case 'w':
			r.cwd = optarg;
			break;
		case 't':
			r.tty = true;
			break;
		case 'b':
			compare = true;
			break;
		case 'x':
			r.ptrace = true;
			break;
		case 'e':
			env[n_env++ % 32] = optarg;
			r.env = env;
			break;
		case 'T':
			r.timeout_ms = strtoull(optarg, NULL, 10);
			break;
		case 'M':
			r.memory = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			r.pids = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'o':
			r.output = strtoull(optarg, NULL, 10);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	r.argv = (const char *const *)argv + optind + 1 + (strcmp(argv[optind + 1], "--") == 0);
	examine = calloc(n, sizeof(double));
	start = calloc(n, sizeof(double));
	done = calloc(n, sizeof(double));
	total = calloc(n, sizeof(double));
	bwrap = calloc(n, sizeof(double));
	if (drive_start(&d, argv[optind], &err) < 0) {
		(void)fprintf(stderr, "boxdrive: %s\n", err.text);
		return 125;
	}
	(void)usleep(200000);
	for (unsigned i = 0; i < n; i++) {
		struct exec_facts *facts = calloc(1, sizeof(*facts));
		struct exec_result x = {0};
		enum reason reason;
		double a, b, s, e;
		bool started;
		int code;

		if (sleep_ms > 0)
			(void)usleep(sleep_ms * 1000);
		a = now_us();
		code = drive_examine(&d, &r, &reason, facts, &err);
		b = now_us();
		if (code == 0)
			code = drive_grant(&d, &r, facts, &err);
		s = now_us();
		if (code == 0)
			code = drive_outcome(&d, &x, &started, &err);
		e = now_us();
		free(facts);
		if (code < 0) {
			(void)fprintf(stderr, "boxdrive: %s\n", err.text);
			status = 125;
			break;
		}
		examine[i] = b - a;
		start[i] = s - b;
		done[i] = e - s;
		total[i] = e - a;
		if (n == 1) {
			(void)fprintf(
				stderr,
				"boxdrive: status %d reason %s step %s detail \"%s\" exit %d/%d "
				"wall %llu cpu %llu mem %llu pids %llu oom %llu changes %llu\n",
				(int)x.status, reason_code(x.reason), x.step, x.detail,
				(int)x.exit_kind, (int)x.exit_value, (unsigned long long)x.wall_ms,
				(unsigned long long)x.cpu_ms, (unsigned long long)x.memory_peak,
				(unsigned long long)x.pids_peak, (unsigned long long)x.oom_kills,
				(unsigned long long)x.changes);
		}
		status = x.exit_kind == EXIT_STATUS ? x.exit_value : 125;
		exec_result_fini(&x);
		if (compare && sleep_ms > 0)
			(void)usleep(sleep_ms * 1000);
		if (compare)
			bwrap[i] = bwrap_us(r.argv);
	}
	if (n > 1 && status == 0) {
		print_times("examine", examine, n);
		print_times("driver records", start, n);
		print_times("grant to outcome", done, n);
		print_times("all", total, n);
		if (compare) {
			print_times("bwrap", bwrap, n);
			(void)fprintf(stderr, "ratio of medians %.2f, of p10 %.2f\n",
				      total[n / 2] / bwrap[n / 2], total[n / 10] / bwrap[n / 10]);
		}
	}
	(void)drive_stop(&d);
	return status;
}
