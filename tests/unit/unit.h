/* What every unit suite includes first: cmocka in the order it wants, and a few words more. */
#ifndef LOOM_TESTS_UNIT_H
#define LOOM_TESTS_UNIT_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

/*
 * A test that cannot be run here says why. With LOOM_MUST_WORK=1 that is a failure: what was meant
 * to be shown was not.
 */
#define unit_skip(why)                                                                             \
	do {                                                                                       \
		const char *unit_must_ = getenv("LOOM_MUST_WORK");                                 \
		if (unit_must_ != NULL && unit_must_[0] == '1')                                    \
			fail_msg("%s: would skip: %s", __func__, (why));                           \
		(void)fprintf(stderr, "SKIP %s: %s\n", __func__, (why));                           \
		skip();                                                                            \
	} while (0)

/* What valgrind cannot emulate is shown by the same test without it (meson test --setup). */
#define unit_skip_under_valgrind()                                                                 \
	do {                                                                                       \
		if (getenv("LOOM_VALGRIND") != NULL)                                               \
			skip();                                                                    \
	} while (0)

/* The call succeeds: 0 or a descriptor or count. */
#define assert_ok(call)                                                                            \
	do {                                                                                       \
		int unit_r_ = (call);                                                              \
		if (unit_r_ < 0)                                                                   \
			fail_msg("%s: %d", #call, unit_r_);                                        \
	} while (0)

/* The call fails with this negative code and says why in ERR, whose owner may use it again. */
#define assert_fails(code_, err_, call)                                                            \
	do {                                                                                       \
		struct error *unit_e_ = (err_);                                                    \
		int unit_r_;                                                                       \
		*unit_e_ = (struct error){0};                                                      \
		unit_r_ = (call);                                                                  \
		if (unit_r_ != (code_))                                                            \
			fail_msg("%s: %d, not %d: %s", #call, unit_r_, (code_), unit_e_->text);    \
		assert_int_equal(unit_e_->code, unit_r_);                                          \
		assert_true(unit_e_->text[0] != '\0');                                             \
		*unit_e_ = (struct error){0};                                                      \
	} while (0)

#endif
