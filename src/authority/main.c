/*
 * loom-authority: takes the descriptors that loomd hands it (wire/inherit.h), gives up its rights,
 * and then reads its first byte. Its arguments are loomd's, not anybody's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "authority/authority.h"
#include "base/log.h"
#include "base/text.h"
#include "confine/confine.h"
#include "wire/inherit.h"

#define OPEN_FILES 4096

static int
set_private(struct settings *s, const char *arg)
{
	s->private_mode = true;
	return 0;
}

static int
set_idle(struct settings *s, const char *arg)
{
	return decimal_parse(arg, UINT64_MAX / 2, &s->idle_ms);
}

static int
set_owner(struct settings *s, const char *arg)
{
	if (!name_valid(arg))
		return -EINVAL;
	(void)snprintf(s->owner, sizeof(s->owner), "%s", arg);
	return 0;
}

static int
set_group(struct settings *s, const char *arg)
{
	uint64_t n;
	int r = decimal_parse(arg, UINT32_MAX - 1, &n);

	if (r == 0)
		s->own_group = (gid_t)n;
	return r;
}

static int
set_boot(struct settings *s, const char *arg)
{
	(void)snprintf(s->boot, sizeof(s->boot), "%s", arg);
	return 0;
}

static int
set_state(struct settings *s, const char *arg)
{
	s->state = arg;
	return 0;
}

static int
set_run(struct settings *s, const char *arg)
{
	s->run = arg;
	return 0;
}

static int
set_config(struct settings *s, const char *arg)
{
	s->config = arg;
	return 0;
}

static const struct {
	const char *name;
	bool has_arg;
	int (*set)(struct settings *s, const char *arg);
} options[] = {
	{"--private", false, set_private}, {"--idle-ms", true, set_idle},
	{"--owner", true, set_owner},	   {"--own-group", true, set_group},
	{"--boot", true, set_boot},	   {"--state", true, set_state},
	{"--run", true, set_run},	   {"--config", true, set_config},
};

static void
settings_read(struct settings *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *arg = NULL;
		size_t k = 0;

		while (k < ARRAY_LEN(options) && strcmp(options[k].name, argv[i]) != 0)
			k++;
		if (k < ARRAY_LEN(options) && options[k].has_arg && i + 1 < argc)
			arg = argv[++i];
		if (k == ARRAY_LEN(options) || (options[k].has_arg && arg == NULL) ||
		    options[k].set(s, arg) < 0)
			fatal("argument %.64s is not one of loomd's; loom-authority is started by "
			      "it",
			      argv[i]);
	}
}

/* Only what is there is handed on: a number that is closed is none of ours. */
static int
handed_fd(enum inherit_fd fd)
{
	return fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0 ? (int)fd : -1;
}

static int
confine(const struct handed *h, struct error *err)
{
	struct confine_dir dirs[2];
	struct confine_spec spec = {
		.process = CONFINE_AUTHORITY,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.dirs = dirs,
		.open_files = OPEN_FILES,
	};

	if (h->views >= 0)
		dirs[spec.n_dirs++] = (struct confine_dir){.fd = h->views, .write = true};
	if (h->config >= 0)
		dirs[spec.n_dirs++] = (struct confine_dir){.fd = h->config, .write = false};
	return confine_self(&spec, err);
}

int
main(int argc, char **argv)
{
	struct settings settings = {.own_group = (gid_t)-1, .uid = geteuid()};
	const struct handed handed = {
		.loomd = handed_fd(INHERIT_LOOMD),
		.ledger = handed_fd(INHERIT_LEDGER),
		.box = handed_fd(INHERIT_BOX),
		.api = handed_fd(INHERIT_API),
		.cli_listen = handed_fd(INHERIT_CLI_LISTEN),
		.http_listen = handed_fd(INHERIT_HTTP_LISTEN),
		.views = handed_fd(INHERIT_STATE),
		.config = handed_fd(INHERIT_CONFIG),
	};
	static struct config_path config_path;
	struct authority a;
	struct error err = {0};
	int r;

	log_init("loom-authority");
	settings_read(&settings, argc, argv);
	if (handed.loomd < 0 || handed.ledger < 0 || handed.box < 0 || handed.api < 0)
		fatal("started without its channels; loom-authority is started by loomd");
	if (settings.config != NULL) {
		if (config_path_open(&config_path, settings.config, &err) < 0)
			fatal("%s", err.text);
		settings.config_path = &config_path;
		if (handed.config < 0)
			settings.config = NULL;
	}
	if (confine(&handed, &err) < 0)
		fatal("%s", err.text);
	r = authority_init(&a, &settings, &handed, &err);
	if (r == 0)
		r = authority_start(&a, &err);
	if (r < 0) {
		log_error("%s", err.text);
		r = AUTHORITY_EXIT_FAILED;
	} else {
		r = sd_event_loop(a.hub.loop);
		if (r < 0) {
			log_error("event loop: %s", strerror(-r));
			r = AUTHORITY_EXIT_FAILED;
		}
	}
	authority_fini(&a);
	/* Not exit: what a sanitizer does there is not what the filter lets us do. */
	_exit(r);
}
