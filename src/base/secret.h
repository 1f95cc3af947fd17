/* Key material: locked, left out of dumps and forks' copies where the kernel can, wiped, never printed. */
#ifndef LOOM_BASE_SECRET_H
#define LOOM_BASE_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

struct secret {
	uint8_t *data;
	size_t len;
	size_t mapped;
};

int secret_alloc(struct secret *ret, size_t len, struct error *err) MUST_CHECK;
int secret_random(struct secret *ret, size_t len, struct error *err) MUST_CHECK;
int secret_read_fd(struct secret *ret, int fd, size_t len, struct error *err) MUST_CHECK; /* exactly LEN, then EOF */
void secret_wipe(struct secret *s);            /* safe on a zeroed one */

#endif
