/*
 * One spelling for each name, checked whole: what is accepted here may be used in a file name, a
 * log line or a URL without quoting. Operation ids are random so that they say nothing about how
 * much was done before; session numbers are for people and are given out in order.
 */
#include "model/ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"

#define OP_PREFIX "op_"
#define SESSION_PREFIX "s_"
#define OP_RANDOM_LEN 8

int
op_id_new(char out[OP_ID_MAX], struct error *err)
{
	uint8_t bytes[OP_RANDOM_LEN];
	ssize_t n;

	do
		n = getrandom(bytes, sizeof(bytes), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_sys(err, -errno, "random bytes for an operation id");
	/* Up to 256 bytes come whole or not at all (getrandom(2)). */
	if ((size_t)n != sizeof(bytes))
		return error_set(err, -EIO, "random bytes for an operation id: only %zd came", n);
	memcpy(out, OP_PREFIX, sizeof(OP_PREFIX) - 1);
	hex_encode(bytes, sizeof(bytes), out + sizeof(OP_PREFIX) - 1);
	return 0;
}

bool
op_id_valid(const char *s)
{
	uint8_t bytes[OP_RANDOM_LEN];

	return strncmp(s, OP_PREFIX, sizeof(OP_PREFIX) - 1) == 0 &&
	       hex_decode(s + sizeof(OP_PREFIX) - 1, bytes, sizeof(bytes)) == 0;
}

void
session_id_print(uint64_t n, char out[SESSION_ID_MAX])
{
	(void)snprintf(out, SESSION_ID_MAX, SESSION_PREFIX "%" PRIu64, n);
}

bool
session_id_parse(const char *s, uint64_t *ret_n)
{
	return strncmp(s, SESSION_PREFIX, sizeof(SESSION_PREFIX) - 1) == 0 &&
	       decimal_parse(s + sizeof(SESSION_PREFIX) - 1, UINT64_MAX, ret_n) == 0;
}

bool
name_valid(const char *s)
{
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	if (len == 0 || len > NAME_MAX_LEN || s[len] != '\0' || strchr("._-", s[0]) != NULL)
		return false;
	return strncmp(s, SESSION_PREFIX, sizeof(SESSION_PREFIX) - 1) != 0 &&
	       strncmp(s, OP_PREFIX, sizeof(OP_PREFIX) - 1) != 0;
}
