/*
 * Starts commands in turn and times each from before its start until it was waited for.
 *
 *   spawn ROUNDS GAP_MS [open=FD:PATH]… -- CMD… [--- CMD…]…
 *
 * In every round each command runs once, one after the other, so that a slow moment of the machine
 * hits all of them. "%n" in an argument becomes a number that is used once. open= gives every
 * command a descriptor of its own on PATH (some tools read one to its end). One line a run:
 * "COMMAND ROUND MICROSECONDS". A command that does not exit with 0 ends everything: what failed
 * was not measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define ARGS_MAX 64
#define ARG_BYTES_MAX 512
#define OPENS_MAX 4
#define WARM_UP 5 /* rounds that are not printed */

extern char **environ;

struct command {
	char **argv; /* into main's, "---" replaced by NULL */
	int argc;
};
struct opened {
	int fd;
	const char *path;
};
struct plan {
	long rounds;
	long gap_ms;
	struct opened opens[OPENS_MAX];
	int n_opens;
	struct command commands[COMMANDS_MAX];
	int n_commands;
	unsigned long runs; /* for %n */
};

static void
die(const char *what, int code)
{
	fprintf(stderr, "spawn: %s: %s\n", what, strerror(code));
	exit(125);
}

static uint64_t
now_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) < 0)
		die("clock", errno);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* ARG with "%n" replaced, in OUT. */
static char *
filled(const struct plan *p, const char *arg, char out[ARG_BYTES_MAX])
{
	const char *hole = strstr(arg, "%n");
	int n;

	if (hole == NULL)
		n = snprintf(out, ARG_BYTES_MAX, "%s", arg);
	else
		n = snprintf(out, ARG_BYTES_MAX, "%.*s%d-%lu%s", (int)(hole - arg), arg,
			     (int)getpid(), p->runs, hole + 2);
	if (n < 0 || n >= ARG_BYTES_MAX)
		die("an argument is too long", E2BIG);
	return out;
}

static void
set_up_files(const struct plan *p, posix_spawn_file_actions_t *files)
{
	int r = posix_spawn_file_actions_init(files);

	/* Standard error stays: what a tool complains about is worth seeing. */
	for (int fd = 0; r == 0 && fd < STDERR_FILENO; fd++)
		r = posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	for (int i = 0; r == 0 && i < p->n_opens; i++)
		r = posix_spawn_file_actions_addopen(files, p->opens[i].fd, p->opens[i].path,
						     O_RDONLY, 0);
	if (r != 0)
		die("file actions", r);
}

static uint64_t
run_once(struct plan *p, const struct command *c)
{
	static char store[ARGS_MAX][ARG_BYTES_MAX];
	char *argv[ARGS_MAX + 1];
	posix_spawn_file_actions_t files;
	uint64_t start, end;
	int status, r;
	pid_t pid;

	p->runs++;
	for (int i = 0; i < c->argc; i++)
		argv[i] = filled(p, c->argv[i], store[i]);
	argv[c->argc] = NULL;
	set_up_files(p, &files);
	start = now_ns();
	r = posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	if (r != 0)
		die(argv[0], r);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid", errno);
	}
	end = now_ns();
	(void)posix_spawn_file_actions_destroy(&files);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "spawn: %s ended with status 0x%x\n", argv[0],
			(unsigned int)status);
		exit(124);
	}
	return end - start;
}

static void
read_plan(struct plan *p, int argc, char **argv)
{
	int i = 3;

	if (argc < 5)
		die("usage: spawn ROUNDS GAP_MS [open=FD:PATH]... -- CMD... [--- CMD...]...",
		    EINVAL);
	p->rounds = strtol(argv[1], NULL, 10);
	p->gap_ms = strtol(argv[2], NULL, 10);
	for (; i < argc && strncmp(argv[i], "open=", 5) == 0; i++) {
		char *path = strchr(argv[i], ':');

		if (path == NULL || p->n_opens == OPENS_MAX)
			die(argv[i], EINVAL);
		p->opens[p->n_opens++] = (struct opened){
			.fd = (int)strtol(argv[i] + 5, NULL, 10),
			.path = path + 1,
		};
	}
	if (i >= argc || strcmp(argv[i], "--") != 0)
		die("no command", EINVAL);
	while (i + 1 < argc) {
		struct command *c = &p->commands[p->n_commands++];

		if (p->n_commands > COMMANDS_MAX)
			die("too many commands", E2BIG);
		c->argv = &argv[++i];
		while (i < argc && strcmp(argv[i], "---") != 0) {
			i++;
			if (++c->argc > ARGS_MAX)
				die("too many arguments", E2BIG);
		}
		if (c->argc == 0)
			die("an empty command", EINVAL);
	}
}

int
main(int argc, char **argv)
{
	struct plan p = {0};
	struct timespec gap;

	read_plan(&p, argc, argv);
	gap = (struct timespec){.tv_sec = p.gap_ms / 1000, .tv_nsec = p.gap_ms % 1000 * 1000000};
	for (long round = -WARM_UP; round < p.rounds; round++) {
		for (int c = 0; c < p.n_commands; c++) {
			uint64_t ns;

			if (p.gap_ms > 0)
				(void)nanosleep(&gap, NULL);
			ns = run_once(&p, &p.commands[c]);
			if (round >= 0)
				printf("%d %ld %" PRIu64 ".%03" PRIu64 "\n", c, round, ns / 1000,
				       ns % 1000);
		}
	}
	return 0;
}
