/*
 * loomd: the parent. It makes the directories, the lock, the sockets, the receipt key and the
 * channels, starts the four processes that do the work, gives up everything but the right to watch,
 * kill and unlink, and ends all of them when one ends. It parses nothing from outside but its
 * command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "confine/confine.h"
#include "loomd/places.h"
#include "loomd/serve.h"
#include "loomd/sockets.h"
#include "loomd/spawn.h"

#define IDLE_PRIVATE_MS 60000
#define LOCK_WAIT_MS 25000     /* somebody who stops may have sandboxes to end */
#define LOCK_ELSEWHERE_MS 1000 /* somebody who ends gives both locks back, but not at once */
#define LOCK_POLL_MS 20
#define OPEN_FILES 256

struct options {
	struct places_spec places;
	bool private_mode;
	bool idle_given;
	uint64_t idle_ms;
	int ready_fd;
};

static int
option_text(const char *arg, const char **ret)
{
	*ret = arg;
	return 0;
}

static int
set_state(struct options *o, const char *arg)
{
	return option_text(arg, &o->places.state);
}

static int
set_run(struct options *o, const char *arg)
{
	return option_text(arg, &o->places.run);
}

static int
set_config(struct options *o, const char *arg)
{
	return option_text(arg, &o->places.config);
}

static int
set_ready_fd(struct options *o, const char *arg)
{
	uint64_t n;
	int r;

	r = decimal_parse(arg, 1 << 20, &n);
	if (r < 0)
		return r;
	/* Not a child's business. */
	if (n <= STDERR_FILENO || fcntl((int)n, F_SETFD, FD_CLOEXEC) != 0)
		return -EBADF;
	o->ready_fd = (int)n;
	return 0;
}

static int
set_idle(struct options *o, const char *arg)
{
	o->idle_given = true;
	return duration_parse(arg, &o->idle_ms);
}

static int
set_private(struct options *o, const char *arg)
{
	o->private_mode = true;
	return 0;
}

static const struct option_rule {
	const char *name;
	bool has_arg;
	int (*set)(struct options *o, const char *arg);
	const char *help;
} option_rules[] = {
	{"--private", false, set_private, "serve one user and leave when idle"},
	{"--state", true, set_state, "state directory (absolute)"},
	{"--run", true, set_run, "directory of the sockets and the lock (absolute)"},
	{"--config", true, set_config, "configuration directory (absolute)"},
	{"--ready-fd", true, set_ready_fd, "descriptor that gets one byte when all is ready"},
	{"--idle", true, set_idle, "leave after so long without a client (default 60s if private)"},
};

static void
usage(FILE *out)
{
	(void)fprintf(out, "usage: loomd --state DIR --run DIR [OPTION]...\n");
	for (size_t i = 0; i < ARRAY_LEN(option_rules); i++)
		(void)fprintf(out, "  %-13s %-4s %s\n", option_rules[i].name,
			      option_rules[i].has_arg ? "ARG" : "", option_rules[i].help);
}

static int
options_read(struct options *o, int argc, char **argv, struct error *err)
{
	for (int i = 1; i < argc; i++) {
		const struct option_rule *rule = NULL;
		const char *arg = NULL;
		int r;

		for (size_t k = 0; k < ARRAY_LEN(option_rules); k++)
			if (strcmp(argv[i], option_rules[k].name) == 0)
				rule = &option_rules[k];
		if (rule == NULL)
			return error_set(err, -EINVAL, "unknown option %.64s", argv[i]);
		if (rule->has_arg) {
			if (i + 1 == argc)
				return error_set(err, -EINVAL, "%s needs an argument", rule->name);
			arg = argv[++i];
		}
		r = rule->set(o, arg);
		if (r < 0)
			return error_sys(err, r, "%s %.64s", rule->name, arg != NULL ? arg : "");
	}
	if (o->places.state == NULL || o->places.run == NULL)
		return error_set(err, -EINVAL, "--state and --run are needed");
	if (!o->idle_given)
		o->idle_ms = o->private_mode ? IDLE_PRIVATE_MS : 0;
	return 0;
}

/*
 * 0: locked. 1: another loomd serves here. One that is about to end holds its lock a moment longer
 * than its sockets are there, so the lock is waited for as long as they are not.
 */
static int
lock_or_served(struct places *p, struct error *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};
	uint64_t start = clock_boot_ms();

	for (;;) {
		struct error why = {0};
		int r = places_lock(p, &why);
		uint64_t waited = clock_boot_ms() - start;

		if (r == 0)
			return 0;
		if (r != -EWOULDBLOCK && r != -EBUSY)
			return error_set(err, r, "%s", why.text);
		if (r == -EWOULDBLOCK && sockets_there(p->run))
			return 1;
		if (r == -EBUSY && waited >= LOCK_ELSEWHERE_MS)
			return error_set(err, r,
					 "another loomd uses the state directory and has its "
					 "sockets in another run directory");
		if (waited >= LOCK_WAIT_MS)
			return error_set(err, r, "another loomd stops and does not end");
		(void)nanosleep(&pause, NULL);
	}
}

/* SIGCHLD is blocked too: who ended is learned from pidfds alone. */
static void
signals_block(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	/* A terminal that closes is no reason to drop other clients' sandboxes. */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	/* An ignored SIGCHLD, which is inherited, would reap our children behind our back. */
	(void)signal(SIGCHLD, SIG_DFL);
}

static int
confine(const struct places *p, struct error *err)
{
	const struct confine_dir dirs[] = {{.fd = p->run, .write = true}};
	const struct confine_spec spec = {
		.process = CONFINE_LOOMD,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.dirs = dirs,
		.n_dirs = ARRAY_LEN(dirs),
		.open_files = OPEN_FILES,
	};

	return confine_self(&spec, err);
}

static int
start_and_serve(struct options *o, struct places *p)
{
	struct child children[CHILD_COUNT];
	struct spawn_spec spawn = {.places = p,
				   .paths = &o->places,
				   .private_mode = o->private_mode,
				   .idle_ms = o->idle_ms};
	struct serve_spec spec = {.run_dir = p->run, .ready_fd = o->ready_fd};
	struct error err = {0};
	int r;

	signals_block();
	r = sockets_bind(p->run, &spawn.cli_listen, &spawn.http_listen, &err);
	if (r == 0) {
		r = spawn_all(children, &spawn, &err);
		/* Only the authority accepts; when it dies, connecting fails. */
		fd_close(spawn.cli_listen);
		fd_close(spawn.http_listen);
		if (r < 0)
			sockets_unlink(p->run);
	}
	if (r < 0) {
		log_error("%s", err.text);
		return LOOMD_EXIT_FAILED;
	}
	r = confine(p, &err);
	if (r < 0) {
		log_error("%s", err.text);
		sockets_unlink(p->run);
		spawn_kill_all(children);
		spawn_fini(children);
		return LOOMD_EXIT_FAILED;
	}
	r = serve(children, &spec);
	spawn_fini(children);
	fd_closep(&spec.ready_fd);
	return r;
}

int
main(int argc, char **argv)
{
	struct options o = {.ready_fd = -1};
	struct error err = {0};
	struct places places;
	int r;

	log_init("loomd");
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("loomd %s\n", LOOM_VERSION);
		return 0;
	}
	if (options_read(&o, argc, argv, &err) < 0) {
		log_error("%s", err.text);
		usage(stderr);
		return LOOMD_EXIT_FAILED;
	}
	if (geteuid() != 0) {
		log_error("running as an ordinary user is not supported in this version: it needs "
			  "root; the next release has rootless sandboxes");
		return LOOMD_EXIT_FAILED;
	}
	(void)umask(077);
	if (chdir("/") != 0)
		log_warning("chdir /: %s", strerror(errno));
	places_init(&places);
	r = places_open(&places, &o.places, &err);
	if (r == 0)
		r = lock_or_served(&places, &err);
	if (r < 0)
		log_error("%s", err.text);
	if (r == 0)
		r = start_and_serve(&o, &places);
	else
		r = r > 0 ? LOOMD_EXIT_SERVED : LOOMD_EXIT_FAILED;
	places_fini(&places);
	/* Not exit: what a sanitizer does there is not what the filter lets us do. */
	_exit(r);
}
