/*
 * Fail the Nth allocation of loading, of `why` and of the schema, for every N until they succeed:
 * each failure is an error or, in what decides, a denial; never a looser profile.
 */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

static unsigned int countdown; /* the allocation that fails, counted from 1; 0: none does */

static bool
fails_now(void)
{
	return countdown > 0 && --countdown == 0;
}

void *
__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return fails_now() ? NULL : __real_realloc(p, size);
}

void *
__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails_now() ? NULL : __real_reallocarray(p, n, size);
}

static const char TEXT[] =
	"apiVersion: loom/v1\n"
	"kind: Profile\n"
	"metadata: {name: x, description: d}\n"
	"spec:\n"
	"  capabilities: [exec, workspace.read, workspace.write, net.http, git.push, "
	"credential.use]\n"
	"  filesystem: {root: {image: \"a@sha256:"
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"},\n"
	"    readOnly: [{host: /opt/b, at: /opt/b}, {host: /opt/a, at: /opt/a}]}\n"
	"  env: {A: b}\n"
	"  network: {egress: [{id: a, hosts: [\"*.a.example\"], methods: [GET], paths: "
	"[\"/**\"]}]}\n"
	"  credentials: [{name: c, source: {file: /a}, inject: {header: X}, to: [{host: a.example, "
	"methods: [GET], paths: [\"/**\"]}]}]\n"
	"  git: [{repository: \"https://a.example/b\", push: {refs: [refs/heads/a]}}]\n"
	"  rules: [{id: r, effect: deny, capability: net.http, ports: [80], paths: [\"/x\"]}]\n"
	"  tests: [{request: {capability: net.http, method: GET, url: \"https://b.a.example/\"}, "
	"expect: allow}]\n";

static struct policy *loaded;

static int
load(void)
{
	struct policy_source src = {.file = "x", .data = TEXT, .len = sizeof(TEXT) - 1};
	struct policy *p = NULL;
	struct error err = {0};
	int r = policy_load(&src, &p, &err);

	assert_true((r == 0) == (p != NULL));
	assert_true((r == 0) == (err.code == 0));
	policy_free(p);
	return r;
}

static int
why(void)
{
	static const char REQUEST[] =
		"{\"capability\":\"net.http\",\"method\":\"GET\",\"url\":\"https://b.a.example/\"}";
	struct workflow self;
	struct error err = {0};
	struct buf b;
	int r;

	if (workflow_find("", 0, &self, &err) < 0)
		return err.code;
	buf_init(&b, 1 << 20);
	r = policy_why(loaded, &self, REQUEST, sizeof(REQUEST) - 1, &b, &err);
	if (r == 0)
		assert_null(strstr(b.data, "\"verdict\":\"allow\""));
	buf_fini(&b);
	return r;
}

static int
write_schema(void)
{
	struct error err = {0};
	struct buf b;
	int r;

	buf_init(&b, 1 << 20);
	r = policy_schema(&b, &err);
	buf_fini(&b);
	return r;
}

/*
 * An allocation that fails while a message is being made only costs the message, and one in the
 * middle of a document looks like a mistake in it: so the code is any, and never 0.
 */
static void
every_allocation(int (*op)(void), unsigned int at_least)
{
	unsigned int n;

	for (n = 1; n < 100000; n++) {
		bool reached;
		int r;

		countdown = n;
		r = op();
		reached = countdown == 0;
		countdown = 0;
		if (!reached) {
			assert_int_equal(r, 0);
			break;
		}
		if (r >= 0)
			fail_msg("allocation %u: %d", n, r);
	}
	assert_true(n > at_least);
}

static void
loading(void **state)
{
	every_allocation(load, 100);
}

static void
explaining(void **state)
{
	struct policy_source src = {.file = "x", .data = TEXT, .len = sizeof(TEXT) - 1};
	struct error err = {0};

	assert_ok(policy_load(&src, &loaded, &err));
	every_allocation(why, 20);
	policy_free(loaded);
}

static void
describing(void **state)
{
	every_allocation(write_schema, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading),
		cmocka_unit_test(explaining),
		cmocka_unit_test(describing),
	};

	json_set_alloc_funcs(__wrap_malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
