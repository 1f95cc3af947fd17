/* Clocks. Deadlines use boottime; people see wall time. */
#ifndef LOOM_BASE_CLOCK_H
#define LOOM_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_TEXT_MAX 32

uint64_t clock_boot_ms(void);                  /* CLOCK_BOOTTIME, milliseconds */
uint64_t clock_wall_ms(void);                  /* CLOCK_REALTIME, milliseconds since 1970 UTC */
/* "2026-11-30T04:16:24.123Z" (RFC 3339, UTC, milliseconds). */
void clock_text(uint64_t wall_ms, char out[CLOCK_TEXT_MAX]);

#endif
