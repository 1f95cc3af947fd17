/*
 * A strict reader for the YAML that configuration is written in. It works on bytes that were handed
 * in and gives back a tree with positions, or an error "FILE:LINE:COLUMN: what was found; what
 * would be right".
 *
 * Bytes first: at most YAML_BYTES_MAX of valid UTF-8 with no control character but the line feed
 * (so no tab and no carriage return), no BOM, nothing that reverses text. Then exactly one document
 * of mappings, lists and plain or quoted one-line scalars, at most YAML_DEPTH_MAX deep and
 * YAML_NODES_MAX values large. No anchors, aliases, tags, merge keys, complex keys, directives,
 * block scalars, nulls, duplicate keys or trailing commas. JSON is the subset of this that it is.
 * (YAML 1.2.2)
 *
 * Scalars are text here, whatever they look like: what a value means is said by the schema.
 */
#ifndef LOOM_POLICY_YAML_H
#define LOOM_POLICY_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define YAML_BYTES_MAX (1024 * 1024)
#define YAML_DEPTH_MAX 32
#define YAML_NODES_MAX 200000

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAPPING };

struct yaml_position {
	uint32_t line, column; /* from 1; columns count characters */
};

struct yaml_node {
	enum yaml_kind kind;
	bool plain; /* a scalar without quotes */
	struct yaml_position at;
	const char *text; /* a scalar's; NUL-terminated, no NUL inside */
	size_t len;
	const char *key; /* of a value in a mapping; NULL in a list */
	size_t key_len;
	struct yaml_position key_at;
	struct yaml_node *first, *next; /* elements or values; siblings, in their order */
	uint32_t count;
};

struct yaml; /* owns all nodes and texts */

/* FILE is for messages only; it is copied and escaped. */
int yaml_read(const void *data, size_t len, const char *file, struct yaml **ret,
	      struct error *err) MUST_CHECK;
void yaml_free(struct yaml *y);
void yaml_freep(struct yaml **y);

const struct yaml_node *yaml_root(const struct yaml *y);
const char *yaml_file(const struct yaml *y);
/* The value of KEY in a mapping; NULL when NODE is none or has no such key. */
const struct yaml_node *yaml_get(const struct yaml_node *node, const char *key);
/* Element I of a list; NULL when there is none. */
const struct yaml_node *yaml_at(const struct yaml_node *node, size_t i);
/* Where a value stands to a reader: its key, or itself in a list. */
struct yaml_position yaml_where(const struct yaml_node *node);
/* Record -EINVAL with "FILE:LINE:COLUMN: " before the text. */
int yaml_error(const struct yaml *y, struct yaml_position at, struct error *err, const char *fmt,
	       ...) PRINTF(4, 5);

#endif
