/*
 * A profile file and a request, both from outside. Whatever loads has to come back from its canonical
 * bytes with the same digest, and has to decide a request the same way twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
same_again(const struct policy *p)
{
	struct policy *again = NULL;
	struct error err = {0};
	struct buf b;

	buf_init(&b, PROFILE_CANONICAL_MAX);
	if (profile_write_canonical(policy_profile(p), &b, &err) < 0 ||
	    policy_load_canonical(b.data, b.len, &again, &err) < 0 ||
	    memcmp(policy_profile(p)->digest, policy_profile(again)->digest, 32) != 0)
		abort();
	policy_free(again);
	buf_fini(&b);
}

static void
same_answer(const struct policy *p, const uint8_t *request, size_t len)
{
	struct workflow self;
	struct error err = {0};
	struct buf a, b;

	if (workflow_find(WORKFLOW_SELF, 1000, &self, &err) < 0)
		abort();
	buf_init(&a, 4 * 1024 * 1024);
	buf_init(&b, 4 * 1024 * 1024);
	if (policy_why(p, &self, request, len, &a, &err) < 0 ||
	    policy_why(p, &self, request, len, &b, &err) < 0 || a.len != b.len ||
	    memcmp(a.data, b.data, a.len) != 0)
		abort();
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

	if (shipped == NULL && policy_shipped(0, &shipped, &err) < 0)
		abort();
	if (cut != NULL)
		src.len = (size_t)(cut - data) + 1;
	r = policy_load(&src, &p, &err);
	if ((r < 0) != (err.code != 0))
		abort();
	if (r == 0)
		same_again(p);
	if (cut != NULL)
		same_answer(r == 0 ? p : shipped, cut + 5, size - src.len - 4);
	policy_free(p);
	return 0;
}
