/*
 * Names of things. Operation: "op_" and 16 lower-case hex digits, random. Session: "s_" and a
 * decimal counter, or a name the user gave (NAME: [a-z0-9][a-z0-9._-]{0,62}, not starting "s_" or
 * "op_"); inside the system a session is always known by its "s_N".
 */
#ifndef LOOM_MODEL_IDS_H
#define LOOM_MODEL_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define OP_ID_LEN 19
#define OP_ID_MAX (OP_ID_LEN + 1)
#define SESSION_ID_MAX 24
#define NAME_MAX_LEN 63

int op_id_new(char out[OP_ID_MAX], struct error *err) MUST_CHECK;
bool op_id_valid(const char *s);
void session_id_print(uint64_t n, char out[SESSION_ID_MAX]);
bool session_id_parse(const char *s, uint64_t *ret_n);
bool name_valid(const char *s);   /* profiles, workflows, session names, rule ids */

#endif
