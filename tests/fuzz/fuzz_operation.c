/* What is read as an operation, as facts or as a result is written back as it was. */
#include "fuzz.h"

#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/operation.h"
#include "model/result.h"

static void
operation_again(const uint8_t *data, size_t size)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(json_decrefp) json_t *again = NULL;
	uint8_t one[SHA256_LEN], two[SHA256_LEN];
	struct operation op;

	if (json_read(data, size, &v, NULL) < 0 || operation_read(v, &op, NULL) < 0)
		return;
	again = operation_json(&op, NULL);
	FUZZ_CHECK(again != NULL && json_equal(v, again));
	FUZZ_CHECK(operation_digest(v, one, NULL) == 0 && operation_digest(again, two, NULL) == 0);
	FUZZ_CHECK(memcmp(one, two, sizeof(one)) == 0);
	operation_fini(&op);
}

static void
same_bytes(const struct buf *b, const uint8_t *data, size_t size)
{
	FUZZ_CHECK(!b->failed && b->len == size && memcmp(b->data, data, size) == 0);
}

static void
facts_again(const uint8_t *data, size_t size)
{
	static struct exec_facts facts;
	CLEANUP(buf_fini) struct buf b = {0};

	if (exec_facts_read(data, size, &facts, NULL) < 0)
		return;
	buf_init(&b, size);
	FUZZ_CHECK(exec_facts_write(&facts, &b, NULL) == 0);
	same_bytes(&b, data, size);
}

static void
results_again(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf b = {0};
	struct exec_result exec;
	struct accept_result accept;

	buf_init(&b, size);
	if (exec_result_read(data, size, &exec, NULL) == 0) {
		FUZZ_CHECK(exec_result_write(&exec, &b, NULL) == 0);
		same_bytes(&b, data, size);
		exec_result_fini(&exec);
	}
	buf_reset(&b);
	if (accept_result_read(data, size, &accept, NULL) == 0) {
		FUZZ_CHECK(accept_result_write(&accept, &b, NULL) == 0);
		same_bytes(&b, data, size);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	operation_again(data, size);
	facts_again(data, size);
	results_again(data, size);
	return 0;
}
