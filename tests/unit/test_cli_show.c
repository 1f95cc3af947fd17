/* Printing of documents: whatever they hold, no control byte comes out. */
#include "unit.h"

#include <string.h>

#include "base/json.h"
#include "cli/show.h"

static void
tables_are_laid_out_by_what_is_printed(void **state)
{
	static const struct show_column columns[] = {{"ID", "id"}, {"WHAT", "deep.er"}, {"N", "n"}};
	CLEANUP(json_decrefp)
	json_t *rows =
		json_pack("[{s:s, s:{s:s}, s:i}, {s:s, s:{s:s}, s:b}, {}]", "id", "a", "deep", "er",
			  "\xc3\xa4\x1b[31m", "n", 7, "id", "longer", "deep", "er", "x", "n", 1);
	struct buf out;

	buf_init(&out, 4096);
	show_table(&out, rows, columns, 3);
	assert_string_equal(out.data, "ID      WHAT       N\n"
				      "a       \xc3\xa4\\x1b[31m  7\n"
				      "longer  x          yes\n"
				      "-       -          -\n");
	buf_fini(&out);
}

static void
members_by_path(void **state)
{
	CLEANUP(json_decrefp)
	json_t *doc = json_pack("{s:{s:{s:s}}, s:s, s:I}", "a", "b", "c", "deep", "t", "x\ny", "n",
				(json_int_t)-5);
	struct buf out;

	buf_init(&out, 4096);
	show_member(doc, "a.b.c", &out);
	assert_string_equal(out.data, "deep");
	buf_reset(&out);
	show_member(doc, "a.b", &out);
	show_member(doc, "a.b.c.d", &out);
	show_member(doc, "nothing.at.all", &out);
	assert_int_equal(out.len, 0);
	show_line(&out, doc, "text", "t");
	show_line(&out, doc, "none", "zzz");
	show_line(&out, doc, "number", "n");
	assert_string_equal(out.data, "text        x\\x0ay\nnumber      -5\n");
	assert_string_equal(show_text(doc, "n"), "");
	assert_int_equal(show_int(doc, "n", 1), -5);
	assert_int_equal(show_int(doc, "t", 1), 1);
	buf_fini(&out);
}

static void
marks_follow_the_locale(void **state)
{
	static const struct {
		const char *all, *ctype, *lang;
		bool utf8;
	} table[] = {
		{NULL, NULL, NULL, false},
		{NULL, NULL, "C.UTF-8", true},
		{NULL, NULL, "de_DE.utf8", true},
		{NULL, "C", "C.UTF-8", false},
		{"C", "C.UTF-8", "C.UTF-8", false},
		{"", "en_US.UTF-8@x", "C", true},
		{NULL, NULL, "en_US.ISO-8859-1", false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct {
			const char *name, *value;
		} set[] = {{"LC_ALL", table[i].all},
			   {"LC_CTYPE", table[i].ctype},
			   {"LANG", table[i].lang}};
		struct buf out;

		for (size_t k = 0; k < 3; k++) {
			if (set[k].value != NULL)
				(void)setenv(set[k].name, set[k].value, 1);
			else
				(void)unsetenv(set[k].name);
		}
		buf_init(&out, 64);
		show_mark(&out, MARK_YES);
		assert_string_equal(out.data, table[i].utf8 ? "\xe2\x9c\x93" : "ok");
		buf_fini(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_laid_out_by_what_is_printed),
		cmocka_unit_test(members_by_path),
		cmocka_unit_test(marks_follow_the_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
