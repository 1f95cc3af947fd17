/* One table from reason codes to statuses; a switch without default, so that a new code is asked
 * for. */
#include "api/problem.h"

#include <errno.h>

#include "base/json.h"

unsigned int
problem_status(enum reason r)
{
	switch (r) {
	case R_INVALID_REQUEST:
	case R_INVALID_PATH:
	case R_INVALID_ARGUMENT:
	case R_UNKNOWN_CAPABILITY:
	case R_CONFLICTING_CONSTRAINTS:
		return 400;
	case R_DEFAULT_DENY:
	case R_RULE_DENIED:
	case R_NOT_AUTHORIZED:
	case R_IDENTITY_MISMATCH:
	case R_APPROVAL_REQUIRED:
	case R_APPROVAL_INVALID:
	case R_APPROVAL_EXPIRED:
	case R_LEASE_EXPIRED:
	case R_LEASE_REVOKED:
		return 403;
	case R_SESSION_ENDED:
		return 404;
	case R_PROFILE_MISMATCH:
	case R_BUSY:
		return 409;
	case R_LIMIT_EXCEEDED:
		return 429;
	case R_CAPABILITY_UNAVAILABLE:
	case R_RUNTIME_UNAVAILABLE:
		return 501;
	case R_AUDIT_UNAVAILABLE:
		return 503;
	case R_ALLOWED: /* an error that says it was allowed contradicts itself */
	case R_INTERNAL:
	case REASON_COUNT:
		break;
	}
	return 500;
}

void
problem_of_denial(const json_t *denial, struct problem *ret)
{
	const char *code = json_string_value(json_object_get(denial, "reason"));
	const char *detail = json_string_value(json_object_get(denial, "detail"));
	enum reason r;

	if (code == NULL || !reason_find(code, &r) || r == R_ALLOWED)
		r = R_INTERNAL;
	*ret = (struct problem){
		.status = problem_status(r),
		.reason = r,
		.detail = detail != NULL ? detail : reason_sentence(r),
		.denial = denial,
	};
}

int
problem_write(const struct problem *p, struct buf *out, struct error *err)
{
	/* What a denial may carry on; anything else of it stays here. */
	static const char *const kept[] = {"next", "operation"};
	CLEANUP(json_decrefp) json_t *v = NULL;
	int r;

	v = json_pack("{s:s+, s:s, s:i, s:s, s:s}", "type",
		      "urn:loom:reason:", reason_code(p->reason), "title",
		      reason_sentence(p->reason), "status", (int)p->status, "reason",
		      reason_code(p->reason), "detail", p->detail);
	if (v == NULL)
		return error_set(err, -ENOMEM, "out of memory for a problem document");
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		json_t *m = json_object_get(p->denial, kept[i]);

		if (m != NULL && json_object_set(v, kept[i], m) < 0)
			return error_set(err, -ENOMEM, "out of memory for a problem document");
	}
	r = json_write_canonical(v, out, err);
	if (r < 0)
		return r;
	buf_char(out, '\n');
	return buf_check(out, err);
}
