/*
 * The parser takes one argument at a time and files it under given, operands or follows; all three
 * live in one allocation, as there cannot be more of them than arguments. Checks that need the
 * whole line (number of operands) come last.
 */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define HELP_COLUMN 26
#define NAME_BYTES_MAX 255

static const struct option_spec help_option = {
	OPT_HELP, "help", 'h', NULL, "explain this command", false, COMPLETE_NONE,
};

static const struct option_spec *
spec_by_name(const struct command *command, const char *name, size_t len)
{
	for (size_t i = 0; i < command->n_options; i++) {
		const struct option_spec *spec = &command->options[i];

		if (strlen(spec->name) == len && memcmp(spec->name, name, len) == 0)
			return spec;
	}
	if (len == strlen(help_option.name) && memcmp(help_option.name, name, len) == 0)
		return &help_option;
	return NULL;
}

static const struct option_spec *
spec_by_letter(const struct command *command, char letter)
{
	for (size_t i = 0; i < command->n_options; i++) {
		if (command->options[i].letter == letter)
			return &command->options[i];
	}
	return letter == help_option.letter ? &help_option : NULL;
}

static int
take_option(struct parsed *p, const struct option_spec *spec, const char *value, struct error *err)
{
	if (spec->help == NULL)
		return error_set(err, -ENOTSUP, "--%s is not in this version", spec->name);
	if (spec->id == OPT_HELP)
		p->help = true;
	if (!spec->repeats && option_given(p, spec->id))
		return error_set(err, -EINVAL, "--%s is given twice", spec->name);
	p->given[p->n_given++] = (struct given){.spec = spec, .value = value};
	return 0;
}

/* The value that follows an option as the next argument. */
static int
next_value(const struct option_spec *spec, char **arguments, size_t n, size_t *at,
	   const char **ret_value, struct error *err)
{
	if (*at + 1 >= n || strcmp(arguments[*at + 1], "--") == 0)
		return error_set(err, -EINVAL, "--%s needs a value: --%s %s", spec->name,
				 spec->name, spec->argument);
	*at += 1;
	*ret_value = arguments[*at];
	return 0;
}

static int
parse_long(struct parsed *p, char **arguments, size_t n, size_t *at, struct error *err)
{
	const char *name = arguments[*at] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_spec *spec = spec_by_name(p->command, name, len);
	const char *value = NULL;

	if (spec == NULL)
		return error_set(err, -EINVAL, "there is no option --%.*s", (int)len, name);
	if (spec->argument == NULL && equals != NULL)
		return error_set(err, -EINVAL, "--%s takes no value", spec->name);
	if (equals != NULL) {
		value = equals + 1;
	} else if (spec->argument != NULL) {
		int r = next_value(spec, arguments, n, at, &value, err);

		if (r < 0)
			return r;
	}
	return take_option(p, spec, value, err);
}

static int
parse_letters(struct parsed *p, char **arguments, size_t n, size_t *at, struct error *err)
{
	const char *letters = arguments[*at] + 1;

	while (*letters != '\0') {
		const struct option_spec *spec = spec_by_letter(p->command, *letters);
		const char *value = NULL;
		int r;

		if (spec == NULL)
			return error_set(err, -EINVAL, "there is no option -%c", *letters);
		letters++;
		if (spec->argument != NULL && *letters != '\0') {
			value = letters;
			letters += strlen(letters);
		} else if (spec->argument != NULL) {
			r = next_value(spec, arguments, n, at, &value, err);
			if (r < 0)
				return r;
		}
		r = take_option(p, spec, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
check_operands(const struct parsed *p, struct error *err)
{
	const struct command *command = p->command;

	if (command->command_follows && p->n_operands > 0)
		return error_set(err, -EINVAL, "the command goes after --: loom %s -- %s",
				 command->words, p->operands[0]);
	if (command->command_follows && p->n_follows == 0)
		return error_set(err, -EINVAL, "a command is missing: loom %s %s", command->words,
				 command->synopsis);
	if (p->n_operands < (size_t)command->operands_min)
		return error_set(err, -EINVAL, "something is missing: loom %s %s", command->words,
				 command->synopsis);
	if (command->operands_max >= 0 && p->n_operands > (size_t)command->operands_max)
		return error_set(err, -EINVAL, "'%s' is one too many: loom %s %s",
				 p->operands[command->operands_max], command->words,
				 command->synopsis);
	return 0;
}

static int
parse_all(struct parsed *p, char **arguments, size_t n, struct error *err)
{
	for (size_t at = 0; at < n && !p->help; at++) {
		const char *argument = arguments[at];
		int r = 0;

		if (strcmp(argument, "--") == 0) {
			char ***list = p->command->command_follows ? &p->follows : &p->operands;
			size_t *count =
				p->command->command_follows ? &p->n_follows : &p->n_operands;

			memcpy(*list + *count, arguments + at + 1, (n - at - 1) * sizeof(**list));
			*count += n - at - 1;
			break;
		}
		if (argument[0] == '-' && argument[1] == '-')
			r = parse_long(p, arguments, n, &at, err);
		else if (argument[0] == '-' && argument[1] != '\0')
			r = parse_letters(p, arguments, n, &at, err);
		else
			p->operands[p->n_operands++] = arguments[at];
		if (r < 0)
			return r;
	}
	return p->help ? 0 : check_operands(p, err);
}

int
option_parse(const struct command *command, char **arguments, size_t n, struct parsed *ret,
	     struct error *err)
{
	/* A bundle of letters gives more options than arguments, but each letter is a byte. */
	size_t letters = 0;
	struct parsed p = {.command = command};
	int r;

	for (size_t i = 0; i < n; i++)
		letters += strlen(arguments[i]) + 1;
	p.store = calloc(1, letters * sizeof(*p.given) + 2 * (n + 1) * sizeof(char *));
	if (p.store == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	p.given = p.store;
	p.operands = (char **)(void *)(p.given + letters);
	p.follows = p.operands + n + 1;
	r = parse_all(&p, arguments, n, err);
	if (r < 0) {
		parsed_fini(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void
parsed_fini(struct parsed *p)
{
	free(p->store);
	*p = (struct parsed){0};
}

bool
option_given(const struct parsed *p, enum option_id id)
{
	for (size_t i = 0; i < p->n_given; i++) {
		if (p->given[i].spec->id == id)
			return true;
	}
	return false;
}

const char *
option_value(const struct parsed *p, enum option_id id)
{
	const char *value = NULL;

	for (size_t i = 0; i < p->n_given; i++) {
		if (p->given[i].spec->id == id)
			value = p->given[i].value;
	}
	return value;
}

int
name_check(const char *what, const char *value, struct error *err)
{
	if (value == NULL)
		return 0;
	if (strlen(value) > NAME_BYTES_MAX)
		return error_set(err, -EINVAL, "%s: a name of over %d bytes", what, NAME_BYTES_MAX);
	if (!utf8_valid(value, strlen(value)))
		return error_set(err, -EINVAL, "%s: '%s' is not UTF-8", what, value);
	return 0;
}

static void
pad(struct buf *out, size_t from)
{
	size_t used = out->len - from;

	if (used + 2 > HELP_COLUMN) {
		buf_char(out, '\n');
		used = 0;
	}
	for (; used < HELP_COLUMN; used++)
		buf_char(out, ' ');
}

static void
help_option_line(const struct option_spec *spec, struct buf *out)
{
	size_t from = out->len;

	if (spec->help == NULL)
		return;
	if (spec->letter != 0)
		buf_fmt(out, "  -%c, --%s", spec->letter, spec->name);
	else
		buf_fmt(out, "      --%s", spec->name);
	if (spec->argument != NULL)
		buf_fmt(out, " %s", spec->argument);
	pad(out, from);
	buf_fmt(out, "%s\n", spec->help);
}

static void
help_command_line(const struct command *command, struct buf *out)
{
	size_t from = out->len;

	buf_fmt(out, "  %s", command->words);
	pad(out, from);
	buf_fmt(out, "%s\n", command->summary);
}

void
help_command(const struct command *command, struct buf *out)
{
	buf_fmt(out, "Usage: loom %s%s%s\n%s.\n\nOptions:\n", command->words,
		command->synopsis[0] != '\0' ? " " : "", command->synopsis, command->summary);
	for (size_t i = 0; i < command->n_options; i++) {
		if (command->options[i].id != OPT_HELP)
			help_option_line(&command->options[i], out);
	}
	help_option_line(&help_option, out);
	buf_fmt(out, "\nThe manual page is %s.\n", command->page);
}

void
help_group(const struct command_group *group, struct buf *out)
{
	size_t len = strlen(group->word);

	buf_fmt(out, "Usage: loom %s COMMAND\n%s.\n\nCommands:\n", group->word, group->summary);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strncmp(commands[i].words, group->word, len) == 0 &&
		    commands[i].words[len] == ' ')
			help_command_line(&commands[i], out);
	}
}

void
help_overview(struct buf *out)
{
	buf_str(out,
		"Usage: loom COMMAND [OPTION...]\n"
		"Run code that nobody has vouched for in a disposable sandbox, and prove what it "
		"did.\n\nCommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		help_command_line(&commands[i], out);
	buf_str(out, "\n'loom COMMAND --help' and loom(1) say more. 'loom --version' prints the "
		     "version.\n");
}
