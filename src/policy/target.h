/*
 * Names of what lies outside: hosts, host patterns, URLs, address ranges. Each has one spelling
 * here; what has another is either brought into it (URLs of requests) or refused (what profiles
 * say). RFC 1123 host names, RFC 3986 URLs, RFC 9110 methods, RFC 4632 and 4291 ranges.
 */
#ifndef LOOM_POLICY_TARGET_H
#define LOOM_POLICY_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"

#define HOST_MAX 253
#define URL_PATH_MAX 4096

/*
 * A host by name: lower case, labels of letters, digits, '-' and '_', no dot at the end. Addresses
 * in any spelling, localhost and what is beneath it are refused. NULL, or what is wrong.
 */
const char *host_wrong(const char *host, size_t len);
/*
 * A host, or `*.` (one label) or `**.` (one or more) before a host of at least two labels. NULL, or
 * what is wrong.
 */
const char *host_pattern_wrong(const char *pattern, size_t len);
/* Both valid. The labels that a star stands for are whole; `*.a.b` does not match a.b. */
bool host_pattern_match(const char *pattern, const char *host);

const char *method_wrong(const char *method, size_t len);
/* "10.20.0.0/16", "fd00:1::/32": no host bits, nothing of loopback, link-local or multicast. */
const char *cidr_wrong(const char *cidr, size_t len);
const char *header_wrong(const char *name, size_t len);

struct url {
	bool https;
	char host[HOST_MAX + 1];
	uint16_t port;
	char path[URL_PATH_MAX]; /* normal, without query; at least "/" */
};
/*
 * http or https, no user, no fragment. The host is put into lower case; the path is checked as by
 * url_path. -EINVAL says what is wrong.
 */
int url_parse(const char *text, size_t len, struct url *ret, struct error *err) MUST_CHECK;
/*
 * The path of a URL in its one spelling: escapes of ordinary characters undone, others in upper
 * case, the query cut off. Refused: no slash first, empty or dot segments, escaped slashes,
 * backslashes and controls, bytes outside ASCII.
 */
int url_path(const char *text, size_t len, char out[URL_PATH_MAX], struct error *err) MUST_CHECK;
/* https://host[:port]/path, normal, without query. NULL, or what is wrong. */
const char *repository_wrong(const char *text, size_t len);

#endif
