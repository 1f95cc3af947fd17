/* Hosts, URLs, ranges: what has one spelling, and what has none. Rows of tests/policy say the rest.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "policy/suggest.h"
#include "policy/target.h"

struct url_row {
	const char *text;
	const char *host;
	unsigned int port;
	const char *path;
};
static const struct url_row URLS[] = {
	{"https://a.example", "a.example", 443, "/"},
	{"https://a.example?x=/..", "a.example", 443, "/"},
	{"HTTPS://A.Example/", "a.example", 443, "/"},
	{"http://a.example:8080/b/", "a.example", 8080, "/b/"},
	{"http://a.example/", "a.example", 80, "/"},
	{"https://a.example/%41%2b%7e", "a.example", 443, "/A%2B~"},
	{"https://xn--mnchen-3ya.example/x", "xn--mnchen-3ya.example", 443, "/x"},
};
static const char *const NOT_URLS[] = {
	"",
	"a.example",
	"ftp://a.example/",
	"https:/a.example",
	"https://",
	"https:///a",
	"https://u@a.example/",
	"https://a.example:0/",
	"https://a.example:65536/",
	"https://a.example:/",
	"https://a.example:+1/",
	"https://a.example:080/",
	"https://[::1]/",
	"https://1.2.3.4/",
	"https://2852039166/",
	"https://0x7f000001/",
	"https://a.example./",
	"https://.a.example/",
	"https://a..example/",
	"https://localhost/",
	"https://a.example/../b",
	"https://a.example/b/..",
	"https://a.example/./b",
	"https://a.example/%2e%2e/b",
	"https://a.example/%2E./b",
	"https://a.example//b",
	"https://a.example/a%2fb",
	"https://a.example/a%5Cb",
	"https://a.example/a\\b",
	"https://a.example/%00",
	"https://a.example/%0a",
	"https://a.example/%7f",
	"https://a.example/%",
	"https://a.example/%4",
	"https://a.example/%4g",
	"https://a.example/a b",
	"https://a.example/\xc3\xa4",
	"https://a.example/#x",
	"https://a.example#x",
	"https://a.ex\tample/",
	"https://a_\xff.example/",
};

static void
urls(void **state)
{
	struct error err = {0};
	struct url u;

	for (size_t i = 0; i < ARRAY_LEN(URLS); i++) {
		assert_ok(url_parse(URLS[i].text, strlen(URLS[i].text), &u, &err));
		assert_string_equal(u.host, URLS[i].host);
		assert_int_equal(u.port, URLS[i].port);
		assert_string_equal(u.path, URLS[i].path);
	}
	for (size_t i = 0; i < ARRAY_LEN(NOT_URLS); i++) {
		err = (struct error){0};
		if (url_parse(NOT_URLS[i], strlen(NOT_URLS[i]), &u, &err) == 0)
			fail_msg("'%s' is taken as host '%s', path '%s'", NOT_URLS[i], u.host,
				 u.path);
		assert_true(err.text[0] != '\0');
	}
	err = (struct error){0};
	/* A NUL in the middle is no end. */
	assert_true(url_parse("https://a.example/\0x", 20, &u, &err) < 0);
	assert_true(url_parse("https://a\0.example/", 19, &u, &err) < 0);
}

static void
long_ones(void **state)
{
	char text[2 * URL_PATH_MAX];
	struct error err = {0};
	struct url u;

	(void)snprintf(text, sizeof(text), "https://a.example/%0*d", URL_PATH_MAX - 8, 1);
	assert_ok(url_parse(text, strlen(text), &u, &err));
	(void)snprintf(text, sizeof(text), "https://a.example/%0*d", URL_PATH_MAX, 1);
	assert_true(url_parse(text, strlen(text), &u, &err) < 0);
	memset(text, 'a', sizeof(text));
	assert_null(host_wrong(text, 63));
	assert_non_null(host_wrong(text, 64));
	for (size_t i = 63; i < 300; i += 64)
		text[i] = '.';
	assert_null(host_wrong(text, 253));
	assert_non_null(host_wrong(text, 254));
}

struct pattern_row {
	const char *pattern, *host;
	bool match;
};
static const struct pattern_row PATTERNS[] = {
	{"a.example", "a.example", true},	 {"a.example", "b.a.example", false},
	{"*.a.example", "b.a.example", true},	 {"*.a.example", "a.example", false},
	{"*.a.example", "c.b.a.example", false}, {"*.a.example", "ba.example", false},
	{"*.a.example", ".a.example", false},	 {"**.a.example", "b.a.example", true},
	{"**.a.example", "c.b.a.example", true}, {"**.a.example", "a.example", false},
	{"**.a.example", "xa.example", false},	 {"*.a.example", "b.a.example.org", false},
};

static void
patterns(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(PATTERNS); i++) {
		const struct pattern_row *p = &PATTERNS[i];

		assert_null(host_pattern_wrong(p->pattern, strlen(p->pattern)));
		if (host_pattern_match(p->pattern, p->host) != p->match)
			fail_msg("'%s' and '%s'", p->pattern, p->host);
	}
}

static void
ranges(void **state)
{
	static const char *const GOOD[] = {"10.0.0.0/8", "192.168.1.7/32", "fd00:1::/32",
					   "2001:db8::/32"};
	static const char *const BAD[] = {"",
					  "/",
					  "10.0.0.0",
					  "10.0.0.0/",
					  "10.0.0.0/33",
					  "10.0.0.0/08",
					  "10.0.0.0/8 ",
					  "010.0.0.0/8",
					  "10.0.0/8",
					  "10.0.0.1/8",
					  "126.0.0.0/7",
					  "fd00:0ec2::/32",
					  "fd00:ec2::254/128",
					  "FD00:1::/32",
					  "::/0",
					  "0.0.0.0/0",
					  "224.0.0.0/4",
					  "fe80::/10",
					  "::ffff:0:0/96"};

	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_null(cidr_wrong(GOOD[i], strlen(GOOD[i])));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		if (cidr_wrong(BAD[i], strlen(BAD[i])) == NULL)
			fail_msg("'%s' is taken", BAD[i]);
}

static void
suggestions(void **state)
{
	static const char *const WORDS[] = {"capabilities", "workspace.read", "namespaces", "exec"};
	static const struct {
		const char *word, *best;
	} ROWS[] = {
		{"capabilties", "capabilities"},
		{"Capabilities", "capabilities"},
		{"workspace_read", "workspace.read"},
		{"namepsaces", "namespaces"},
		{"exce", "exec"},
		{"net", NULL},
		{"", NULL},
		{"xxxxxxxxxxxx", NULL},
	};
	char longest[SUGGEST_WORD_MAX + 2];
	struct suggest s;

	for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
		suggest_init(&s, ROWS[i].word, strlen(ROWS[i].word));
		for (size_t j = 0; j < ARRAY_LEN(WORDS); j++)
			suggest_try(&s, WORDS[j]);
		if (ROWS[i].best == NULL)
			assert_null(suggest_best(&s));
		else
			assert_string_equal(suggest_best(&s), ROWS[i].best);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	suggest_init(&s, longest, strlen(longest));
	suggest_try(&s, "exec");
	assert_null(suggest_best(&s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls),	  cmocka_unit_test(long_ones),	 cmocka_unit_test(patterns),
		cmocka_unit_test(ranges), cmocka_unit_test(suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
