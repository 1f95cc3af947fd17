/*
 * loom completion SHELL: a script made from the tables of spec.c, so that it offers exactly what
 * this program takes. Names that only a daemon knows (sessions, profiles) are asked for when the
 * key is pressed. Help texts contain no quote of any of the three shells; a unit test holds them to
 * it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "cli/option.h"
#include "cli/say.h"

#define SCRIPT_MAX (256 * 1024)

struct completer {
	enum completes what;
	const char *bash; /* a command that fills COMPREPLY for $cur */
	const char *zsh;  /* an action of _arguments */
	const char *fish; /* arguments of complete */
};

static const struct completer completers[] = {
	{COMPLETE_NONE, "COMPREPLY=()", " ", "-x"},
	{COMPLETE_FILE, "compopt -o default; COMPREPLY=()", "_files", "-r -F"},
	{COMPLETE_DIRECTORY, "COMPREPLY=($(compgen -d -- \"$cur\"))", "_files -/",
	 "-x -a '(__fish_complete_directories)'"},
	{COMPLETE_PROFILE, "COMPREPLY=($(compgen -W \"$(_loom_names profile)\" -- \"$cur\"))",
	 "_loom_names profile", "-x -a '(__loom_names profile)'"},
	{COMPLETE_SESSION, "COMPREPLY=($(compgen -W \"$(_loom_names session)\" -- \"$cur\"))",
	 "_loom_names session", "-x -a '(__loom_names session)'"},
	{COMPLETE_CAPABILITY,
	 "COMPREPLY=($(compgen -W 'exec workspace.read workspace.write workspace.accept' -- "
	 "\"$cur\"))",
	 "(exec workspace.read workspace.write workspace.accept)",
	 "-x -a 'exec workspace.read workspace.write workspace.accept'"},
	{COMPLETE_SHELL, "COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))", "(bash zsh fish)",
	 "-x -a 'bash zsh fish'"},
	{COMPLETE_ENV, "COMPREPLY=($(compgen -v -- \"$cur\"))", "_parameters -g '*export*'",
	 "-x -a '(set -nx)'"},
};

static const struct completer *
completer_of(enum completes what)
{
	for (size_t i = 0; i < ARRAY_LEN(completers); i++) {
		if (completers[i].what == what)
			return &completers[i];
	}
	return &completers[0];
}

/* "session" of "session ls"; the whole of "run". */
static int
word_length(const char *words)
{
	return (int)strcspn(words, " ");
}

/* Is this the first command of its first word? */
static bool
leads(size_t i)
{
	return i == 0 || strncmp(commands[i].words, commands[i - 1].words,
				 (size_t)word_length(commands[i].words) + 1) != 0;
}

static bool
grouped(const struct command *c)
{
	return strchr(c->words, ' ') != NULL;
}

/* The second words of a group, separated by spaces. */
static void
add_members(struct buf *out, const char *words)
{
	size_t len = (size_t)word_length(words);
	const char *space = "";

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (grouped(&commands[i]) && strncmp(commands[i].words, words, len + 1) == 0) {
			buf_fmt(out, "%s%s", space, commands[i].words + len + 1);
			space = " ";
		}
	}
}

static void
bash_values(struct buf *out, const struct command *c)
{
	for (size_t i = 0; i < c->n_options; i++) {
		const struct option_spec *o = &c->options[i];

		if (o->help == NULL || o->argument == NULL)
			continue;
		buf_fmt(out, "\t'%s --%s'", c->words, o->name);
		if (o->letter != 0)
			buf_fmt(out, "|'%s -%c'", c->words, o->letter);
		buf_fmt(out, ") %s; return ;;\n", completer_of(o->completes)->bash);
	}
}

static void
bash_options(struct buf *out, const struct command *c)
{
	buf_fmt(out, "\t'%s') options='--help", c->words);
	for (size_t i = 0; i < c->n_options; i++) {
		if (c->options[i].help != NULL && c->options[i].id != OPT_HELP)
			buf_fmt(out, " --%s", c->options[i].name);
	}
	buf_str(out, "' ;;\n");
}

static void
completion_bash(struct buf *out)
{
	buf_str(out, "# bash completion for loom, made by 'loom completion bash'\n"
		     "_loom_names() { loom \"$1\" ls 2>/dev/null | awk 'NR > 1 {print $1}'; }\n"
		     "_loom() {\n"
		     "local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
		     "local command=${COMP_WORDS[1]} options=\n"
		     "COMPREPLY=()\n"
		     "if ((COMP_CWORD == 1)); then\n"
		     "\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (leads(i))
			buf_fmt(out, "%.*s ", word_length(commands[i].words), commands[i].words);
	}
	buf_str(out, "--help --version' -- \"$cur\"))\n\treturn\nfi\ncase $command in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!grouped(&commands[i]) || !leads(i))
			continue;
		buf_fmt(out, "%.*s) if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W '",
			word_length(commands[i].words), commands[i].words);
		add_members(out, commands[i].words);
		buf_str(out, "' -- \"$cur\")); return; fi; command+=\" ${COMP_WORDS[2]}\" ;;\n");
	}
	buf_str(out, "esac\n"
		     "for ((i = 2; i < COMP_CWORD; i++)); do\n"
		     "\tif [[ $command == run && ${COMP_WORDS[i]} == -- ]]; then\n"
		     "\t\tif ((COMP_CWORD == i + 1)); then COMPREPLY=($(compgen -c -- \"$cur\"))\n"
		     "\t\telse compopt -o default; fi\n"
		     "\t\treturn\n\tfi\ndone\ncase \"$command $prev\" in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		bash_values(out, &commands[i]);
	buf_str(out, "esac\ncase $command in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		bash_options(out, &commands[i]);
	buf_str(out, "esac\nif [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- "
		     "\"$cur\")); return; fi\ncase $command in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (commands[i].completes != COMPLETE_NONE)
			buf_fmt(out, "\t'%s') %s ;;\n", commands[i].words,
				completer_of(commands[i].completes)->bash);
	}
	buf_str(out, "esac\n}\ncomplete -F _loom loom\n");
}

/* Brackets and colons end a text of _arguments. */
static void
zsh_text(struct buf *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("[]:\\", *text) != NULL)
			buf_char(out, '\\');
		buf_char(out, *text);
	}
}

static void
zsh_option(struct buf *out, const struct option_spec *o)
{
	const char *star = o->repeats ? "*" : "";

	if (o->help == NULL)
		return;
	for (int form = o->letter != 0 ? 0 : 1; form < 2; form++) {
		buf_fmt(out, " \\\n\t\t'%s", star);
		if (form == 0)
			buf_fmt(out, "-%c%s[", o->letter, o->argument != NULL ? "+" : "");
		else
			buf_fmt(out, "--%s%s[", o->name, o->argument != NULL ? "=" : "");
		zsh_text(out, o->help);
		buf_char(out, ']');
		if (o->argument != NULL) {
			buf_char(out, ':');
			zsh_text(out, o->argument);
			buf_str(out, ":'");
			/* The action may hold quotes of its own, so it stands in double ones. */
			buf_fmt(out, "\"%s\"", completer_of(o->completes)->zsh);
		} else {
			buf_char(out, '\'');
		}
	}
}

static void
zsh_command(struct buf *out, const struct command *c)
{
	buf_fmt(out, "\t'%s') _arguments -s", c->words);
	for (size_t i = 0; i < c->n_options; i++) {
		if (c->options[i].id != OPT_HELP)
			zsh_option(out, &c->options[i]);
	}
	buf_str(out, " \\\n\t\t'(- *)--help[explain this command]'");
	if (c->command_follows)
		buf_str(out, " \\\n\t\t'*::command:_normal'");
	else if (c->completes != COMPLETE_NONE)
		buf_fmt(out, " \\\n\t\t'*:operand:'\"%s\"", completer_of(c->completes)->zsh);
	buf_str(out, " ;;\n");
}

static void
completion_zsh(struct buf *out)
{
	buf_str(out,
		"#compdef loom\n"
		"# zsh completion for loom, made by 'loom completion zsh'\n"
		"_loom_names() {\n"
		"\tlocal -a names=(${(f)\"$(loom $1 ls 2>/dev/null | awk 'NR > 1 {print $1}')\"})\n"
		"\tcompadd -a names\n}\n"
		"_loom() {\n"
		"local command=${words[2]}\n"
		"if ((CURRENT == 2)); then\n\tlocal -a list=(\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const struct command *c = &commands[i];

		if (!leads(i))
			continue;
		buf_fmt(out, "\t\t'%.*s:", word_length(c->words), c->words);
		if (grouped(c)) {
			char word[32] = {0};

			memcpy(word, c->words, (size_t)word_length(c->words) % sizeof(word));
			zsh_text(out, command_group_find(word)->summary);
		} else {
			zsh_text(out, c->summary);
		}
		buf_str(out, "'\n");
	}
	buf_str(out, "\t)\n\t_describe command list\n\treturn\nfi\ncase $command in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!grouped(&commands[i]) || !leads(i))
			continue;
		buf_fmt(out, "%.*s) if ((CURRENT == 3)); then compadd ",
			word_length(commands[i].words), commands[i].words);
		add_members(out, commands[i].words);
		buf_str(out, "; return; fi\n\tcommand+=\" ${words[3]}\"; shift words; "
			     "((CURRENT--)) ;;\n");
	}
	buf_str(out, "esac\nshift words; ((CURRENT--))\ncase $command in\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		zsh_command(out, &commands[i]);
	buf_str(out, "esac\n}\n_loom \"$@\"\n");
}

static void
fish_command(struct buf *out, const struct command *c)
{
	int len = word_length(c->words);
	const char *second = c->words[len] == ' ' ? c->words + len + 1 : NULL;
	CLEANUP(buf_fini) struct buf when = {0};

	buf_init(&when, 256);
	buf_fmt(&when, "__loom_is %s", c->words);
	if (second != NULL)
		buf_fmt(out, "complete -c loom -f -n '__loom_needs %.*s' -a %s -d '%s'\n", len,
			c->words, second, c->summary);
	else
		buf_fmt(out, "complete -c loom -f -n '__loom_needs' -a %s -d '%s'\n", c->words,
			c->summary);
	for (size_t i = 0; i < c->n_options; i++) {
		const struct option_spec *o = &c->options[i];

		if (o->help == NULL || o->id == OPT_HELP)
			continue;
		buf_fmt(out, "complete -c loom -n '%s' -l %s", when.data, o->name);
		if (o->letter != 0)
			buf_fmt(out, " -s %c", o->letter);
		if (o->argument != NULL)
			buf_fmt(out, " %s", completer_of(o->completes)->fish);
		else
			buf_str(out, " -f");
		buf_fmt(out, " -d '%s'\n", o->help);
	}
	if (c->completes != COMPLETE_NONE)
		buf_fmt(out, "complete -c loom -n '%s' %s\n", when.data,
			completer_of(c->completes)->fish);
}

static void
completion_fish(struct buf *out)
{
	buf_str(out, "# fish completion for loom, made by 'loom completion fish'\n"
		     "function __loom_names; loom $argv[1] ls 2>/dev/null | awk 'NR > 1 {print "
		     "$1}'; end\n"
		     "# Are the words so far exactly these?\n"
		     "function __loom_needs\n"
		     "\tset -l words (commandline -opc)\n"
		     "\ttest (count $words) -eq (math (count $argv) + 1); or return 1\n"
		     "\ttest (count $argv) -eq 0; or test \"$words[2]\" = \"$argv[1]\"\n"
		     "end\n"
		     "# Do the words so far start with these?\n"
		     "function __loom_is\n"
		     "\tset -l words (commandline -opc)\n"
		     "\tfor i in (seq (count $argv))\n"
		     "\t\ttest \"$words[(math $i + 1)]\" = \"$argv[$i]\"; or return 1\n"
		     "\tend\n"
		     "end\n");
	for (size_t i = 0; i < n_command_groups; i++)
		buf_fmt(out, "complete -c loom -f -n '__loom_needs' -a %s -d '%s'\n",
			command_groups[i].word, command_groups[i].summary);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fish_command(out, &commands[i]);
}

int
cmd_completion(const struct parsed *args)
{
	static const struct {
		const char *shell;
		void (*make)(struct buf *out);
	} shells[] = {
		{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
	CLEANUP(buf_fini) struct buf script = {0};
	struct error err = {0};

	buf_init(&script, SCRIPT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].shell, args->operands[0]) == 0) {
			shells[i].make(&script);
			return print_buf(&script);
		}
	}
	error_set(&err, -EINVAL, "there is no completion for '%s'; bash, zsh and fish have one",
		  args->operands[0]);
	return say_usage(args->command->words, &err);
}
