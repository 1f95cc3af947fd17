#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "model/result.h"

static void
exec_round_trip(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0}, again = {0};
	struct exec_result r = {
		.status = RESULT_FAILED,
		.reason = R_LIMIT_EXCEEDED,
		.step = "confirm: mounts",
		.detail = "a \\ backslash, \x1b[2J, \xff\xfe and a cut \xe2\x82",
		.exit_kind = EXIT_SIGNAL,
		.exit_value = 9,
		.wall_ms = 1,
		.cpu_ms = 2,
		.memory_peak = JSON_INT_MAX,
		.pids_peak = 4,
		.oom_kills = 5,
		.out = {.bytes = 6, .sha256 = {7}, .truncated = true},
		.err = {.bytes = 8},
		.changes = 9,
		.kept = true,
	};
	struct exec_result got;

	r.box = json_pack("{s:{s:i}}", "landlock", "abi", 7);
	buf_init(&out, 65536);
	buf_init(&again, 65536);
	assert_ok(exec_result_write(&r, &out, NULL));
	assert_ok(exec_result_read(out.data, out.len, &got, NULL));
	assert_int_equal(got.status, RESULT_FAILED);
	assert_int_equal(got.reason, R_LIMIT_EXCEEDED);
	assert_string_equal(got.step, r.step);
	assert_string_equal(got.detail, r.detail);
	assert_int_equal(got.exit_kind, EXIT_SIGNAL);
	assert_int_equal(got.exit_value, 9);
	assert_memory_equal(&got.wall_ms, &r.wall_ms, 5 * sizeof(uint64_t));
	assert_memory_equal(&got.out.sha256, &r.out.sha256, 32);
	assert_true(got.out.truncated && !got.err.truncated && got.kept);
	assert_true(json_equal(got.box, r.box));
	assert_ok(exec_result_write(&got, &again, NULL));
	assert_string_equal(out.data, again.data);
	/* No raw control byte gets into a record. */
	assert_null(strchr(out.data, '\x1b'));
	exec_result_fini(&r);
	exec_result_fini(&got);
}

static void
exec_every_word(void **state)
{
	for (int kind = EXIT_NONE; kind <= EXIT_FAILED; kind++) {
		for (int reason = 0; reason < REASON_COUNT; reason++) {
			CLEANUP(buf_fini) struct buf out = {0};
			struct exec_result r = {
				.status = (enum result_status)(reason % 3),
				.reason = (enum reason)reason,
				.exit_kind = (enum exit_kind)kind,
				.exit_value = -1,
			};
			struct exec_result got;

			buf_init(&out, 65536);
			assert_ok(exec_result_write(&r, &out, NULL));
			assert_ok(exec_result_read(out.data, out.len, &got, NULL));
			assert_int_equal(got.reason, reason);
			assert_int_equal(got.exit_kind, kind);
			assert_int_equal(got.status, r.status);
			exec_result_fini(&got);
		}
	}
}

static void
exec_refused(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct exec_result r = {.reason = REASON_COUNT};
	struct error err = {0};

	buf_init(&out, 65536);
	assert_fails(-EINVAL, &err, exec_result_write(&r, &out, &err));
	r = (struct exec_result){.exit_kind = (enum exit_kind)99};
	assert_fails(-EINVAL, &err, exec_result_write(&r, &out, &err));
	r = (struct exec_result){.status = (enum result_status)7};
	assert_fails(-EINVAL, &err, exec_result_write(&r, &out, &err));
	r = (struct exec_result){.wall_ms = (uint64_t)JSON_INT_MAX + 1};
	assert_fails(-EINVAL, &err, exec_result_write(&r, &out, &err));
	assert_int_equal(out.len, 0);
}

/* Each member taken away, doubled in kind, or one more: all refused. */
static void
every_member_is_due(void **state)
{
	CLEANUP(buf_fini) struct buf exec = {0}, accept = {0};
	const struct exec_result e = {0};
	const struct accept_result a = {0};

	buf_init(&exec, 65536);
	buf_init(&accept, 65536);
	assert_ok(exec_result_write(&e, &exec, NULL));
	assert_ok(accept_result_write(&a, &accept, NULL));
	for (int which = 0; which < 2; which++) {
		struct buf *text = which == 0 ? &exec : &accept;
		CLEANUP(json_decrefp) json_t *v = NULL;
		const char *key;
		json_t *value;
		void *next;

		assert_ok(json_read(text->data, text->len, &v, NULL));
		json_object_foreach_safe(v, next, key, value)
		{
			for (int how = 0; how < 2; how++) {
				CLEANUP(json_decrefp) json_t *bad = json_copy(v);
				CLEANUP(buf_fini) struct buf out = {0};
				struct exec_result exec_got;
				struct accept_result accept_got;
				struct error err = {0};

				if (how == 0)
					assert_int_equal(json_object_del(bad, key), 0);
				else
					assert_int_equal(json_object_set_new(bad, key, json_null()),
							 0);
				buf_init(&out, 65536);
				assert_ok(json_write_canonical(bad, &out, NULL));
				if (which == 0)
					assert_true(exec_result_read(out.data, out.len, &exec_got,
								     &err) < 0);
				else
					assert_true(accept_result_read(out.data, out.len,
								       &accept_got, &err) < 0);
				assert_int_equal(strncmp(err.text, "result: ", 8), 0);
			}
		}
		assert_int_equal(json_object_set_new(v, "more", json_true()), 0);
		{
			CLEANUP(buf_fini) struct buf out = {0};
			struct exec_result exec_got;
			struct accept_result accept_got;

			buf_init(&out, 65536);
			assert_ok(json_write_canonical(v, &out, NULL));
			assert_int_equal(exec_result_read(out.data, out.len, &exec_got, NULL),
					 -EINVAL);
			assert_int_equal(accept_result_read(out.data, out.len, &accept_got, NULL),
					 -EINVAL);
		}
	}
	/* Not canonical: the same with a space. */
	{
		CLEANUP(buf_fini) struct buf out = {0};
		struct exec_result got;

		buf_init(&out, 65536);
		buf_char(&out, ' ');
		buf_add(&out, exec.data, exec.len);
		assert_int_equal(exec_result_read(out.data, out.len, &got, NULL), -EBADMSG);
	}
}

static void
accept_round_trip(void **state)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct accept_result got, r = {
		.status = RESULT_REFUSED,
		.reason = R_BUSY,
		.detail = "changed \\ meanwhile",
		.files = 1,
		.bytes = 2,
		.stripped = 3,
		.manifest = {4},
	};

	buf_init(&out, 65536);
	assert_ok(accept_result_write(&r, &out, NULL));
	assert_ok(accept_result_read(out.data, out.len, &got, NULL));
	assert_memory_equal(&got, &r, sizeof(r));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_round_trip),
		cmocka_unit_test(exec_every_word),
		cmocka_unit_test(exec_refused),
		cmocka_unit_test(every_member_is_due),
		cmocka_unit_test(accept_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
