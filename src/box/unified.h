/*
 * A unified diff of two texts, by E. W. Myers, "An O(ND) Difference Algorithm and Its Variations"
 * (Algorithmica 1, 1986), in its linear-space form, with a bound on the work: where the texts
 * differ too much for that, the region is shown as replaced, which is correct and only less pretty.
 */
#ifndef LOOM_BOX_UNIFIED_H
#define LOOM_BOX_UNIFIED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macro.h"

#define UNIFIED_CONTEXT 3

struct unified_text {
	const char *data;
	size_t len;
};

/* As git judges: a NUL in the first 8,000 bytes. */
bool unified_is_binary(struct unified_text t);
/*
 * Append hunks ("@@ -1,3 +1,4 @@" and lines) of B against A to OUT; nothing when they are equal. No
 * file header. Lines are bytes, shown as they are; "\ No newline at end of file" where due.
 * -ENOMEM, -EMSGSIZE (OUT's maximum).
 */
int unified_hunks(struct unified_text a, struct unified_text b, struct buf *out,
		  struct error *err) MUST_CHECK;
/*
 * Append a path for a header line: as it is, or in git's quoted form ("a\tb\303\244") when it has a
 * control byte, a double quote, a backslash or a byte above 0x7e. PREFIX ("a/", "b/", "") goes
 * inside.
 */
void unified_path(struct buf *out, const char *prefix, const char *path);

#endif
