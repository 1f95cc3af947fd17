/*
 * Descriptors 0, 1 and 2 are made to be open first: a number that is closed would be given to the
 * next thing opened, and a sandbox would be handed that as its standard stream.
 */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/option.h"
#include "cli/say.h"

#define HELP_MAX 16384

/* One system call asks about all three. */
static int
open_streams(struct error *err)
{
	struct pollfd polls[3] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};

	if (poll(polls, 3, 0) < 0)
		return error_sys(err, -errno, "look at the standard streams");
	for (int i = 0; i < 3; i++) {
		if ((polls[i].revents & POLLNVAL) == 0)
			continue;
		/* The lowest free number is this one: those below are open. */
		if (open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY) != i)
			return error_set(err, -EBADF,
					 "descriptor %d is closed, and so is /dev/null", i);
	}
	return 0;
}

static int
print_help(const struct command *command, const struct command_group *group)
{
	CLEANUP(buf_fini) struct buf text = {0};

	buf_init(&text, HELP_MAX);
	if (command != NULL)
		help_command(command, &text);
	else if (group != NULL)
		help_group(group, &text);
	else
		help_overview(&text);
	return print_buf(&text);
}

static int
print_version(void)
{
	CLEANUP(buf_fini) struct buf text = {0};

	buf_init(&text, HELP_MAX);
	buf_str(&text, "loom " LOOM_VERSION "\n");
	return print_buf(&text);
}

static int
unknown(char **arguments, size_t n)
{
	const struct command_group *group = command_group_find(arguments[0]);
	struct error err = {0};

	if (group != NULL && n > 1)
		error_set(&err, -EINVAL, "there is no command '%s %s'", group->word, arguments[1]);
	else if (group != NULL)
		error_set(&err, -EINVAL, "a command is missing");
	else if (arguments[0][0] == '-')
		error_set(&err, -EINVAL, "there is no option %s", arguments[0]);
	else
		error_set(&err, -EINVAL, "there is no command '%s'", arguments[0]);
	return say_usage(group != NULL ? group->word : "", &err);
}

static int
not_in_this_version(const char *what)
{
	say("%s is not in this version of Loom; 'loom help' lists what is", what);
	return STATUS_FAILED;
}

static bool
asks_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int
call(const struct command *command, command_fn *function, char **arguments, size_t n)
{
	CLEANUP(parsed_fini) struct parsed args = {0};
	struct error err = {0};
	int r;

	r = option_parse(command, arguments, n, &args, &err);
	if (r < 0)
		return say_usage(command->words, &err);
	return args.help ? print_help(command, NULL) : function(&args);
}

int
cmd_help(const struct parsed *args)
{
	enum command_id id;
	size_t words;

	if (args->n_operands == 0)
		return print_help(NULL, NULL);
	switch (command_find(args->operands, args->n_operands, &id, &words)) {
	case LOOKUP_COMMAND:
		return print_help(&commands[id], NULL);
	case LOOKUP_GROUP:
		if (args->n_operands == 1)
			return print_help(NULL, command_group_find(args->operands[0]));
		return unknown(args->operands, args->n_operands);
	case LOOKUP_LATER:
		return not_in_this_version(args->operands[0]);
	case LOOKUP_UNKNOWN:
	default:
		return unknown(args->operands, args->n_operands);
	}
}

static int
program_group(char **arguments, size_t n)
{
	if (n > 1 && asks_help(arguments[1]))
		return print_help(NULL, command_group_find(arguments[0]));
	return unknown(arguments, n);
}

int
program_main(int argc, char **argv, enum cli_program self, command_fn *const *functions,
	     int (*other)(char **argv))
{
	char **arguments = argv + 1;
	size_t n = argc > 1 ? (size_t)argc - 1 : 0;
	struct error err = {0};
	enum command_id id = COMMAND_run;
	size_t words = 0;

	if (open_streams(&err) < 0)
		return STATUS_FAILED;
	if (n == 0) {
		error_set(&err, -EINVAL, "a command is missing");
		return say_usage("", &err);
	}
	if (asks_help(arguments[0]))
		return print_help(NULL, NULL);
	if (strcmp(arguments[0], "--version") == 0)
		return print_version();
	switch (command_find(arguments, n, &id, &words)) {
	case LOOKUP_COMMAND:
		if (commands[id].program != self)
			return other != NULL ? other(argv) : STATUS_FAILED;
		return call(&commands[id], functions[id], arguments + words, n - words);
	case LOOKUP_GROUP:
		return program_group(arguments, n);
	case LOOKUP_LATER:
		return not_in_this_version(arguments[0]);
	case LOOKUP_UNKNOWN:
	default:
		return unknown(arguments, n);
	}
}
