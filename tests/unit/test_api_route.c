/* The table of routes: what matches, what does not, and that doc/openapi.yaml describes exactly it.
 */
#include <libfyaml.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "api/problem.h"
#include "api/route.h"
#include "base/json.h"
#include "base/macro.h"
#include "wire/message.h"

#define OP "op_0123456789abcdef"

static void
found_rows(void **state)
{
	static const struct {
		const char *method, *path, *template, *id;
	} rows[] = {
		{"GET", "/healthz", "/healthz", ""},
		{"HEAD", "/healthz", "/healthz", ""},
		{"GET", "/v1/sessions", "/v1/sessions", ""},
		{"GET", "/v1/sessions/s_1", "/v1/sessions/{id}", "s_1"},
		{"DELETE", "/v1/sessions/s_12", "/v1/sessions/{id}", "s_12"},
		{"GET", "/v1/sessions/s_1/diff", "/v1/sessions/{id}/diff", "s_1"},
		{"GET", "/v1/operations/" OP "/trace", "/v1/operations/{id}/trace", OP},
		{"GET", "/v1/profiles", "/v1/profiles", ""},
		{"GET", "/v1/ledger/checkpoint", "/v1/ledger/checkpoint", ""},
		{"POST", "/v1/decide", "/v1/decide", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct route *r = NULL;
		char id[ROUTE_ID_MAX] = "unwritten";

		assert_int_equal(route_find(rows[i].method, rows[i].path, &r, id), ROUTE_FOUND);
		assert_string_equal(r->path, rows[i].template);
		assert_string_equal(id, rows[i].id);
	}
}

static void
refused_rows(void **state)
{
	static const struct {
		const char *method, *path;
		enum route_found want;
	} rows[] = {
		{"GET", "", ROUTE_NO_PATH},
		{"GET", "/", ROUTE_NO_PATH},
		{"GET", "/healthz/", ROUTE_NO_PATH},
		{"GET", "/HEALTHZ", ROUTE_NO_PATH},
		{"GET", "//healthz", ROUTE_NO_PATH},
		{"GET", "/v1/sessions/", ROUTE_NO_PATH},
		{"GET", "/v1/sessions//diff", ROUTE_NO_PATH},
		{"GET", "/v1/sessions/s_1/", ROUTE_NO_PATH},
		{"GET", "/v1/sessions/s_1/diff/x", ROUTE_NO_PATH},
		{"GET", "/v1/sessions/../healthz", ROUTE_NO_PATH},
		{"GET", "/v1/sessions/s_1%2fdiff", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s%5f1", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s_01", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s_", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s_-1", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s_99999999999999999999999", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/s_1111111111111111111111111111111111111111", ROUTE_BAD_ID},
		{"GET", "/v1/sessions/" OP, ROUTE_BAD_ID},
		{"GET", "/v1/operations/s_1/trace", ROUTE_BAD_ID},
		{"GET", "/v1/operations/op_0123456789abcdeF/trace", ROUTE_BAD_ID},
		{"GET", "/v1/operations/op_0123456789abcde/trace", ROUTE_BAD_ID},
		{"POST", "/healthz", ROUTE_NO_METHOD},
		{"get", "/healthz", ROUTE_NO_METHOD},
		{"GET", "/v1/decide", ROUTE_NO_METHOD},
		{"PUT", "/v1/sessions/s_1", ROUTE_NO_METHOD},
		{"DELETE", "/v1/sessions/s_1/diff", ROUTE_NO_METHOD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct route *r = NULL;
		char id[ROUTE_ID_MAX] = "unwritten";

		assert_int_equal(route_find(rows[i].method, rows[i].path, &r, id), rows[i].want);
		assert_null(r);
		assert_string_equal(id, "unwritten");
	}
}

static void
allow_lists_methods(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 128);
	route_allow("/v1/sessions/s_1", &b);
	assert_string_equal(b.data, "DELETE, GET, HEAD");
	buf_reset(&b);
	b.data[0] = '\0';
	route_allow("/v1/decide", &b);
	assert_string_equal(b.data, "POST");
	buf_fini(&b);
}

static void
a_row_asks_one_thing(void **state)
{
	size_t n;
	const struct route *t = route_table(&n);

	(void)state;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		assert_true((t[i].query == 0) != (t[i].verb == 0));
		assert_int_equal(t[i].id != ROUTE_ID_NONE, strstr(t[i].path, "{id}") != NULL);
		assert_int_equal(t[i].body, strcmp(t[i].method, "POST") == 0);
	}
}

/* Does the table have a row with this template and (lower-case) method? */
static bool
table_has(const char *path, const char *method)
{
	size_t n;
	const struct route *t = route_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(t[i].path, path) == 0 && strcasecmp(t[i].method, method) == 0)
			return true;
	}
	return false;
}

static void
openapi_describes_the_table(void **state)
{
	static const char *const not_methods[] = {"parameters", "summary", "description"};
	struct fy_document *doc = fy_document_build_from_file(NULL, LOOM_OPENAPI_YAML);
	struct fy_node *paths;
	struct fy_node_pair *path, *op;
	void *i = NULL;
	size_t described = 0, n;

	(void)state;
	assert_non_null(doc);
	paths = fy_node_by_path(fy_document_root(doc), "/paths", FY_NT, FYNWF_DONT_FOLLOW);
	assert_non_null(paths);
	while ((path = fy_node_mapping_iterate(paths, &i)) != NULL) {
		const char *name = fy_node_get_scalar0(fy_node_pair_key(path));
		void *j = NULL;

		while ((op = fy_node_mapping_iterate(fy_node_pair_value(path), &j)) != NULL) {
			const char *method = fy_node_get_scalar0(fy_node_pair_key(op));
			bool skip = false;

			for (size_t k = 0; k < ARRAY_LEN(not_methods); k++)
				skip = skip || strcmp(method, not_methods[k]) == 0;
			if (skip)
				continue;
			if (!table_has(name, method))
				fail_msg("described, not served: %s %s", method, name);
			described++;
		}
	}
	(void)route_table(&n);
	assert_int_equal(described, n); /* each row once: a mapping has no key twice */
	fy_document_destroy(doc);
}

static void
every_reason_has_a_status(void **state)
{
	(void)state;
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		unsigned int s = problem_status(r);

		assert_true(s >= 400 && s < 600);
	}
}

static void
a_denial_becomes_a_problem(void **state)
{
	json_t *denial =
		json_pack("{s:s, s:s, s:s, s:[s], s:s}", "reason", "busy", "detail", "wait",
			  "operation", OP, "next", "try again", "secret", "not carried on");
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct problem p;
	struct buf b;

	(void)state;
	assert_non_null(denial);
	problem_of_denial(denial, &p);
	assert_int_equal(p.status, 409);
	buf_init(&b, 4096);
	assert_int_equal(problem_write(&p, &b, NULL), 0);
	assert_int_equal(json_read(b.data, b.len, &v, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(v, "type")), "urn:loom:reason:busy");
	assert_string_equal(json_string_value(json_object_get(v, "reason")), "busy");
	assert_string_equal(json_string_value(json_object_get(v, "detail")), "wait");
	assert_string_equal(json_string_value(json_object_get(v, "operation")), OP);
	assert_int_equal(json_integer_value(json_object_get(v, "status")), 409);
	assert_int_equal(json_array_size(json_object_get(v, "next")), 1);
	assert_null(json_object_get(v, "secret"));
	buf_fini(&b);
	json_decref(denial);
}

static void
an_odd_denial_is_internal(void **state)
{
	json_t *odd[] = {
		NULL,
		json_null(),
		json_array(),
		json_object(),
		json_pack("{s:i}", "reason", 7),
		json_pack("{s:s}", "reason", "no-such-reason"),
		json_pack("{s:s}", "reason", "allowed"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		struct problem p;

		problem_of_denial(odd[i], &p);
		assert_int_equal(p.reason, R_INTERNAL);
		assert_int_equal(p.status, 500);
		json_decref(odd[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_rows),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(allow_lists_methods),
		cmocka_unit_test(a_row_asks_one_thing),
		cmocka_unit_test(openapi_describes_the_table),
		cmocka_unit_test(every_reason_has_a_status),
		cmocka_unit_test(a_denial_becomes_a_problem),
		cmocka_unit_test(an_odd_denial_is_internal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
