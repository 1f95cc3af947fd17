/*
 * The result of a performed operation: canonical JSON made by the performer and recorded as it is.
 *
 * exec: {"status":"done"|"refused"|"failed", "reason":"<code>", "step":"<apply or confirm step>",
 *        "detail":"…", "exit":{"kind":"status|signal|timeout|not-found|not-executable|stopped|none|
 *        failed","value":N}, "usage":{"wallMs","cpuMs","memoryPeak","pidsPeak","oomKills"},
 *        "output":{"stdout":{"bytes","sha256","truncated"},"stderr":{…}}, "changes":N, "kept":bool,
 *        "box":{…what was read back…}}
 *   refused: the walls did not come up as planned, nothing ran. failed: it ran, and Loom failed.
 * accept: {"status":"done"|"refused","reason","detail","files":N,"bytes":N,"manifest":"<hex>",
 *          "stripped":N}
 *
 * step and detail may be any bytes: they are written escaped (json_escaped) and read back as they
 * were. All members are always there; box is {} when there is none.
 */
#ifndef LOOM_MODEL_RESULT_H
#define LOOM_MODEL_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"
#include "wire/message.h"

enum result_status { RESULT_DONE, RESULT_REFUSED, RESULT_FAILED };

struct output_result {
	uint64_t bytes;
	uint8_t sha256[32];
	bool truncated;
};
struct exec_result {
	enum result_status status;
	enum reason reason;
	char step[64];
	char detail[256];
	enum exit_kind exit_kind;
	int32_t exit_value;
	uint64_t wall_ms, cpu_ms, memory_peak, pids_peak, oom_kills;
	struct output_result out, err;
	uint64_t changes;
	bool kept;             /* the overlay is kept for diff and accept */
	json_t *box;           /* what was read back; owned, may be NULL */
};
void exec_result_fini(struct exec_result *r);
int exec_result_write(const struct exec_result *r, struct buf *out, struct error *err) MUST_CHECK;
int exec_result_read(const void *data, size_t len, struct exec_result *ret, struct error *err) MUST_CHECK;

struct accept_result {
	enum result_status status;
	enum reason reason;
	char detail[256];
	uint64_t files, bytes, stripped;
	uint8_t manifest[32];
};
int accept_result_write(const struct accept_result *r, struct buf *out, struct error *err) MUST_CHECK;
int accept_result_read(const void *data, size_t len, struct accept_result *ret, struct error *err) MUST_CHECK;

#endif
