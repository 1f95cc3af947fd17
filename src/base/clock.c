/*
 * The calendar is computed here (days to civil date, H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms"): gmtime_r opens the time zone file on its first call, and most callers may not open.
 */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LAST_MS 253402300799999ULL /* 9999-12-31T23:59:59.999Z */

static uint64_t
clock_ms(clockid_t id)
{
	struct timespec ts;

	/* Both clocks always exist; without a clock no deadline can be kept. */
	if (clock_gettime(id, &ts) != 0)
		abort();
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t
clock_boot_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

uint64_t
clock_wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

void
clock_text(uint64_t wall_ms, char out[CLOCK_TEXT_MAX])
{
	uint64_t ms = wall_ms < LAST_MS ? wall_ms : LAST_MS;
	unsigned int second = (unsigned int)(ms / 1000 % 86400);
	/* Days since 0000-03-01, in eras of 400 years, so that the leap day is a year's last. */
	unsigned int days = (unsigned int)(ms / 86400000) + 719468;
	unsigned int era = days / 146097;
	unsigned int doe = days % 146097;
	unsigned int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned int mp = (5 * doy + 2) / 153;
	unsigned int day = doy - (153 * mp + 2) / 5 + 1;
	unsigned int month = mp < 10 ? mp + 3 : mp - 9;
	unsigned int year = yoe + era * 400 + (month <= 2);

	(void)snprintf(out, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year % 10000,
		       month % 100, day % 100, second / 3600 % 100, second / 60 % 60, second % 60,
		       (unsigned int)(ms % 1000));
}
