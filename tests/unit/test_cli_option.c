/* The tables of the command line, and the parser that reads by them. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "cli/option.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static size_t
count(const char *const *words)
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

static int
parse(enum command_id id, const char *const *words, struct parsed *ret, struct error *err)
{
	*err = (struct error){0};
	return option_parse(&commands[id], (char **)words, count(words), ret, err);
}

static void
every_form_of_an_option(void **state)
{
	static const struct {
		const char *words[6];
	} forms[] = {
		{{"--workspace", "dir", "--tty", "--", "cmd"}},
		{{"--workspace=dir", "-t", "--", "cmd"}},
		{{"-C", "dir", "-t", "--", "cmd"}},
		{{"-Cdir", "-t", "--", "cmd"}},
		{{"-tCdir", "--", "cmd"}},
		{{"-tC", "dir", "--", "cmd"}},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const char *words[7] = {0};
		struct parsed p;
		struct error err;

		memcpy(words, forms[i].words, sizeof(forms[i].words));
		assert_ok(parse(COMMAND_run, words, &p, &err));
		assert_string_equal(option_value(&p, OPT_WORKSPACE), "dir");
		assert_true(option_given(&p, OPT_TTY));
		assert_false(option_given(&p, OPT_JSON));
		assert_int_equal(p.n_follows, 1);
		assert_string_equal(p.follows[0], "cmd");
		assert_null(p.follows[1]);
		parsed_fini(&p);
	}
}

static void
what_follows_is_never_parsed(void **state)
{
	struct parsed p;
	struct error err;

	assert_ok(parse(COMMAND_run, WORDS("--", "--bind", "--", "-t", "--help", ""), &p, &err));
	assert_int_equal(p.n_given, 0);
	assert_false(p.help);
	assert_int_equal(p.n_follows, 5);
	assert_string_equal(p.follows[0], "--bind");
	assert_string_equal(p.follows[1], "--");
	assert_string_equal(p.follows[3], "--help");
	assert_string_equal(p.follows[4], "");
	parsed_fini(&p);
}

static void
repeated_options_keep_their_order(void **state)
{
	struct parsed p;
	struct error err;

	assert_ok(parse(COMMAND_run, WORDS("-e", "A=1", "-eB=2", "--env=C", "--", "x"), &p, &err));
	assert_int_equal(p.n_given, 3);
	assert_string_equal(p.given[0].value, "A=1");
	assert_string_equal(p.given[1].value, "B=2");
	assert_string_equal(p.given[2].value, "C");
	parsed_fini(&p);
}

static void
operands_and_options_mix(void **state)
{
	struct parsed p;
	struct error err;

	assert_ok(parse(COMMAND_trace, WORDS("op_1", "--json"), &p, &err));
	assert_true(option_given(&p, OPT_JSON));
	assert_string_equal(p.operands[0], "op_1");
	parsed_fini(&p);
	assert_ok(parse(COMMAND_trace, WORDS("--", "--json"), &p, &err));
	assert_false(option_given(&p, OPT_JSON));
	assert_string_equal(p.operands[0], "--json");
	parsed_fini(&p);
	assert_ok(parse(COMMAND_trace, WORDS("-"), &p, &err));
	assert_string_equal(p.operands[0], "-");
	parsed_fini(&p);
}

static void
what_is_wrong_is_said(void **state)
{
	static const struct {
		enum command_id id;
		int code;
		const char *words[5];
		const char *says;
	} table[] = {
		{COMMAND_run, -EINVAL, {"--nope", "--", "x"}, "no option --nope"},
		{COMMAND_run, -EINVAL, {"--work", "d", "--", "x"}, "no option --work"},
		{COMMAND_run, -EINVAL, {"-x", "--", "x"}, "no option -x"},
		{COMMAND_run, -EINVAL, {"--tty=yes", "--", "x"}, "takes no value"},
		{COMMAND_run, -EINVAL, {"--profile"}, "needs a value"},
		{COMMAND_run, -EINVAL, {"--profile", "--", "x"}, "needs a value"},
		{COMMAND_run, -EINVAL, {"-C", "--", "x"}, "needs a value"},
		{COMMAND_run, -EINVAL, {"-t", "-t", "--", "x"}, "given twice"},
		{COMMAND_run, -EINVAL, {"-tt", "--", "x"}, "given twice"},
		{COMMAND_run, -EINVAL, {"--profile=a", "--profile=b", "--", "x"}, "given twice"},
		{COMMAND_run, -EINVAL, {"--json"}, "a command is missing"},
		{COMMAND_run, -EINVAL, {"--"}, "a command is missing"},
		{COMMAND_run, -EINVAL, {"ls", "-l"}, "no option -l"},
		{COMMAND_run, -EINVAL, {"ls"}, "the command goes after --"},
		{COMMAND_run, -EINVAL, {"ls", "--", "x"}, "the command goes after --"},
		{COMMAND_run, -ENOTSUP, {"--plan", "--", "x"}, "not in this version"},
		{COMMAND_run, -ENOTSUP, {"--explain", "--", "x"}, "not in this version"},
		{COMMAND_trace, -EINVAL, {"--json"}, "something is missing"},
		{COMMAND_trace, -EINVAL, {"a", "b"}, "'b' is one too many"},
		{COMMAND_session_ls, -EINVAL, {"x"}, "'x' is one too many"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *words[6] = {0};
		struct parsed p;
		struct error err;

		memcpy(words, table[i].words, sizeof(table[i].words));
		assert_int_equal(parse(table[i].id, words, &p, &err), table[i].code);
		if (strstr(err.text, table[i].says) == NULL)
			fail_msg("row %zu: '%s' does not say '%s'", i, err.text, table[i].says);
	}
}

static void
help_wins_over_what_is_missing(void **state)
{
	struct parsed p;
	struct error err;

	assert_ok(parse(COMMAND_run, WORDS("-h"), &p, &err));
	assert_true(p.help);
	parsed_fini(&p);
	assert_ok(parse(COMMAND_trace, WORDS("--help"), &p, &err));
	assert_true(p.help);
	parsed_fini(&p);
}

static void
commands_are_found_by_whole_words(void **state)
{
	static const struct {
		const char *words[3];
		enum lookup found;
		enum command_id id;
		size_t used;
	} table[] = {
		{{"run"}, LOOKUP_COMMAND, COMMAND_run, 1},
		{{"run", "ls"}, LOOKUP_COMMAND, COMMAND_run, 1},
		{{"session", "ls"}, LOOKUP_COMMAND, COMMAND_session_ls, 2},
		{{"ledger", "key"}, LOOKUP_COMMAND, COMMAND_ledger_key, 2},
		{{"session"}, LOOKUP_GROUP, 0, 1},
		{{"session", "l"}, LOOKUP_GROUP, 0, 1},
		{{"session", "start"}, LOOKUP_LATER, 0, 2},
		{{"mcp"}, LOOKUP_LATER, 0, 1},
		{{"exec", "s_1"}, LOOKUP_LATER, 0, 1},
		{{"ru"}, LOOKUP_UNKNOWN, 0, 0},
		{{"runs"}, LOOKUP_UNKNOWN, 0, 0},
		{{"session ls"}, LOOKUP_UNKNOWN, 0, 0},
		{{""}, LOOKUP_UNKNOWN, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *words[4] = {0};
		enum command_id id = COMMAND_COUNT;
		size_t used = 0;

		memcpy(words, table[i].words, sizeof(table[i].words));
		assert_int_equal(command_find((char *const *)words, count(words), &id, &used),
				 table[i].found);
		if (table[i].found == LOOKUP_COMMAND)
			assert_int_equal(id, table[i].id);
		if (table[i].found != LOOKUP_UNKNOWN)
			assert_int_equal(used, table[i].used);
	}
}

/* The completions put these texts between quotes, help puts them on lines. */
static void
the_tables_hold_together(void **state)
{
	for (size_t c = 0; c < COMMAND_COUNT; c++) {
		const struct command *command = &commands[c];

		assert_null(strpbrk(command->summary, "'\"`$\\\n"));
		for (size_t i = 0; i < command->n_options; i++) {
			const struct option_spec *a = &command->options[i];

			if (a->help != NULL)
				assert_null(strpbrk(a->help, "'\"`$\\\n"));
			assert_true(a->argument != NULL || a->completes == COMPLETE_NONE);
			for (size_t k = i + 1; k < command->n_options; k++) {
				const struct option_spec *b = &command->options[k];

				assert_string_not_equal(a->name, b->name);
				assert_true(a->letter == 0 || a->letter != b->letter);
				assert_int_not_equal(a->id, b->id);
			}
		}
	}
}

static void
help_lists_what_is_there_and_no_more(void **state)
{
	struct buf out;

	buf_init(&out, 65536);
	help_overview(&out);
	for (size_t c = 0; c < COMMAND_COUNT; c++)
		assert_non_null(strstr(out.data, commands[c].words));
	assert_null(strstr(out.data, "mcp"));
	buf_reset(&out);
	help_command(&commands[COMMAND_run], &out);
	assert_non_null(strstr(out.data, "-C, --workspace DIR"));
	assert_null(strstr(out.data, "--plan"));
	assert_false(out.failed);
	buf_fini(&out);
}

static void
names_are_text(void **state)
{
	char longest[257];
	struct error err = {0};

	memset(longest, 'a', sizeof(longest));
	longest[255] = '\0';
	assert_ok(name_check("it", NULL, &err));
	assert_ok(name_check("it", "", &err));
	assert_ok(name_check("it", "\xc3\xa4 \n", &err));
	assert_ok(name_check("it", longest, &err));
	longest[255] = 'a';
	longest[256] = '\0';
	assert_fails(-EINVAL, &err, name_check("it", longest, &err));
	assert_fails(-EINVAL, &err, name_check("it", "\xff", &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_an_option),
		cmocka_unit_test(what_follows_is_never_parsed),
		cmocka_unit_test(repeated_options_keep_their_order),
		cmocka_unit_test(operands_and_options_mix),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(help_wins_over_what_is_missing),
		cmocka_unit_test(commands_are_found_by_whole_words),
		cmocka_unit_test(the_tables_hold_together),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(help_lists_what_is_there_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
