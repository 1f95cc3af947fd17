/* What a fuzz target defines: libFuzzer calls it, and replay.c does for the stored corpus. */
#ifndef LOOM_TESTS_FUZZ_H
#define LOOM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert: it must hold in every build. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
