/* What the files of check.h share: a document that is being checked, and the ways around in it. */
#ifndef LOOM_POLICY_CHECKER_H
#define LOOM_POLICY_CHECKER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "model/verdict.h"
#include "policy/policy.h"
#include "policy/yaml.h"

struct checker {
	const struct yaml *y;
	const json_t *doc;
	const json_t *spec;
	const struct policy_source *src;
	uint32_t capabilities;
};

/* spec.A, or spec.A.B. */
const json_t *checker_get(const struct checker *c, const char *a, const char *b);
/* A member that is text; "" when it is not there. */
const char *checker_text(const json_t *obj, const char *key);
/* A place in the document, such as "spec.network.egress.2.hosts". */
struct checker_path {
	char text[128];
};
struct checker_path checker_path(const char *fmt, ...) PRINTF(1, 2);
/* Record -EINVAL with the position of that place in the file, or of what is nearest above it. */
int checker_error(const struct checker *c, struct checker_path where, struct error *err,
		  const char *fmt, ...) PRINTF(4, 5);
bool checker_has(const struct checker *c, enum capability cap);

int check_egress(struct checker *c, struct error *err) MUST_CHECK;
int check_credentials(struct checker *c, struct error *err) MUST_CHECK;
int check_git(struct checker *c, struct error *err) MUST_CHECK;
int check_rules(struct checker *c, struct error *err) MUST_CHECK;

#endif
