/*
 * Fail the Nth allocation, for every N until the operation succeeds: each failure is reported as
 * -ENOMEM, leaks nothing (the sanitizers and valgrind look), and leaves outputs alone. Our own
 * calls are caught by the linker's --wrap, jansson's by its hook.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

void *
__real_malloc(size_t size);
void *
__real_calloc(size_t n, size_t size);
void *
__real_realloc(void *p, size_t size);
void *
__wrap_malloc(size_t size);
void *
__wrap_calloc(size_t n, size_t size);
void *
__wrap_realloc(void *p, size_t size);

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

/*
 * Run OP with the Nth allocation failing, N = 1, 2, … until it succeeds untouched. Each time it
 * must fail with -ENOMEM or OR_ELSE.
 */
static void
every_allocation(int (*op)(void), unsigned int at_least, int or_else)
{
	unsigned int n;

	for (n = 1; n < 100000; n++) {
		int r;
		bool reached;

		countdown = n;
		r = op();
		reached = countdown == 0;
		countdown = 0;
		if (!reached) {
			assert_int_equal(r, 0);
			break;
		}
		if (r != -ENOMEM && r != or_else)
			fail_msg("allocation %u: %d", n, r);
	}
	assert_true(n > at_least);
}

static int
op_buf(void)
{
	CLEANUP(buf_fini) struct buf b = {0};

	buf_init(&b, 100000);
	for (unsigned int i = 0; i < 1000; i++)
		buf_fmt(&b, "%u ", i);
	if (b.failed && b.data != NULL && b.data[b.len] != '\0')
		return -1;
	return buf_check(&b, NULL);
}

static const char text[] = "{\"a\":[1,2,{\"x\":\"y\"}],\"b\":{\"c\":null},\"d\":\"long enough\"}";

static int
op_json_read(void)
{
	json_t *v = NULL;
	int r = json_read(text, sizeof(text) - 1, &v, NULL);

	if (r < 0 && v != NULL)
		return -1;
	json_decref(v);
	return r;
}

static int
op_json_canonical(void)
{
	json_t *v = NULL;
	int r = json_read_canonical(text, sizeof(text) - 1, &v, NULL);

	if (r < 0 && v != NULL)
		return -1;
	json_decref(v);
	return r;
}

static json_t *ready;

static int
op_json_write(void)
{
	CLEANUP(buf_fini) struct buf b = {0};
	int r;

	buf_init(&b, 1000);
	r = json_write_canonical(ready, &b, NULL);
	return r < 0 && b.len != 0 ? -1 : r;
}

static int
op_json_escaped(void)
{
	json_t *v = json_escaped("\xff\\ and a text of some length, so that the buffer grows: \xff"
				 "\xff\xff\xff\xff\xff\xff\xff\xff",
				 66);
	int r = v != NULL ? 0 : -ENOMEM;

	json_decref(v);
	return r;
}

static void
nth_allocation_in_buf(void **state)
{
	every_allocation(op_buf, 3, -ENOMEM);
}

static void
nth_allocation_in_json(void **state)
{
	json_set_alloc_funcs(__wrap_malloc, free);
	assert_ok(json_read(text, sizeof(text) - 1, &ready, NULL));
	/* jansson calls a string it had no memory for a syntax error. */
	every_allocation(op_json_read, 10, -EINVAL);
	every_allocation(op_json_canonical, 15, -EINVAL);
	every_allocation(op_json_write, 3, -ENOMEM);
	every_allocation(op_json_escaped, 3, -ENOMEM);
	json_decref(ready);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nth_allocation_in_buf),
		cmocka_unit_test(nth_allocation_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
