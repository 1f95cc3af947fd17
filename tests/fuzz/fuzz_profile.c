/*
 * A profile file and a request, both from outside. Whatever loads has to come back from its
 * canonical bytes with the same digest, and has to decide a request the same way twice.
 */
#include "fuzz.h"

#include <string.h>

#include "policy/policy.h"

static void
same_again(const struct policy *p)
{
	struct policy *again = NULL;
	struct error err = {0};
	struct buf b;

	buf_init(&b, PROFILE_CANONICAL_MAX);
	FUZZ_CHECK(profile_write_canonical(policy_profile(p), &b, &err) == 0);
	FUZZ_CHECK(policy_load_canonical(b.data, b.len, &again, &err) == 0);
	FUZZ_CHECK(memcmp(policy_profile(p)->digest, policy_profile(again)->digest, 32) == 0);
	policy_free(again);
	buf_fini(&b);
}

static void
same_answer(const struct policy *p, const uint8_t *request, size_t len)
{
	struct workflow self;
	struct error err = {0};
	struct buf a, b;

	FUZZ_CHECK(workflow_find(WORKFLOW_SELF, 1000, &self, &err) == 0);
	buf_init(&a, 4 * 1024 * 1024);
	buf_init(&b, 4 * 1024 * 1024);
	FUZZ_CHECK(policy_why(p, &self, request, len, &a, &err) == 0);
	FUZZ_CHECK(policy_why(p, &self, request, len, &b, &err) == 0);
	FUZZ_CHECK(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	buf_fini(&a);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy *shipped;
	/* What stands after a line of its own with "===" is a request. */
	const uint8_t *cut = size > 0 ? memmem(data, size, "\n===\n", 5) : NULL;
	struct policy_source src = {.file = "fuzz", .data = data, .len = size};
	struct policy *p = NULL;
	struct error err = {0};
	int r;

	FUZZ_CHECK(shipped != NULL || policy_shipped(0, &shipped, &err) == 0);
	if (cut != NULL)
		src.len = (size_t)(cut - data) + 1;
	r = policy_load(&src, &p, &err);
	FUZZ_CHECK((r < 0) == (err.code != 0));
	if (r == 0)
		same_again(p);
	if (cut != NULL)
		same_answer(r == 0 ? p : shipped, cut + 5, size - src.len - 4);
	policy_free(p);
	return 0;
}
