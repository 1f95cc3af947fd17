/* A dozen rows are searched from the top: matching is linear in the table and in the path. */
#include "api/route.h"

#include <string.h>

#include "base/macro.h"
#include "model/ids.h"
#include "wire/message.h"

static const struct route routes[] = {
	{.method = "GET", .path = "/healthz", .query = Q_STATUS, .answer = ROUTE_ANSWER_HEALTH},
	{.method = "GET", .path = "/v1/sessions", .query = Q_SESSIONS},
	{.method = "GET", .path = "/v1/sessions/{id}", .id = ROUTE_ID_SESSION, .query = Q_SESSION},
	{.method = "DELETE",
	 .path = "/v1/sessions/{id}",
	 .id = ROUTE_ID_SESSION,
	 .verb = V_RM,
	 .answer = ROUTE_ANSWER_NOTHING},
	{.method = "GET",
	 .path = "/v1/sessions/{id}/diff",
	 .id = ROUTE_ID_SESSION,
	 .query = Q_DIFF_JSON},
	{.method = "GET", .path = "/v1/profiles", .query = Q_PROFILES},
	{.method = "GET",
	 .path = "/v1/operations/{id}/trace",
	 .id = ROUTE_ID_OPERATION,
	 .query = Q_TRACE},
	{.method = "GET",
	 .path = "/v1/ledger/checkpoint",
	 .query = Q_LEDGER_HEAD,
	 .answer = ROUTE_ANSWER_NOTE},
	{.method = "POST", .path = "/v1/decide", .query = Q_WHY, .body = true},
};

const struct route *
route_table(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(routes);
	return routes;
}

/* Does PATH have the shape of TEMPLATE? The segment at "{id}" goes to ID when it fits there. */
static bool
path_matches(const char *template, const char *path, const char **ret_id, size_t *ret_len)
{
	const char *hole = strstr(template, "{id}");
	size_t before, len;

	*ret_id = "";
	*ret_len = 0;
	if (hole == NULL)
		return strcmp(template, path) == 0;
	before = (size_t)(hole - template);
	if (strncmp(template, path, before) != 0)
		return false;
	len = strcspn(path + before, "/");
	if (len == 0 || strcmp(hole + strlen("{id}"), path + before + len) != 0)
		return false;
	*ret_id = path + before;
	*ret_len = len;
	return true;
}

static bool
method_serves(const struct route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	       (strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0);
}

static bool
id_valid(enum route_id kind, const char *id)
{
	uint64_t n;

	switch (kind) {
	case ROUTE_ID_NONE:
		return id[0] == '\0';
	case ROUTE_ID_SESSION:
		return session_id_parse(id, &n);
	case ROUTE_ID_OPERATION:
		return op_id_valid(id);
	}
	return false;
}

enum route_found
route_find(const char *method, const char *path, const struct route **ret, char id[ROUTE_ID_MAX])
{
	bool path_there = false;

	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		char text[ROUTE_ID_MAX] = "";
		const char *seg;
		size_t len;

		if (!path_matches(routes[i].path, path, &seg, &len))
			continue;
		path_there = true;
		if (!method_serves(&routes[i], method))
			continue;
		if (len >= sizeof(text))
			return ROUTE_BAD_ID;
		memcpy(text, seg, len);
		if (!id_valid(routes[i].id, text))
			return ROUTE_BAD_ID;
		memcpy(id, text, sizeof(text));
		*ret = &routes[i];
		return ROUTE_FOUND;
	}
	return path_there ? ROUTE_NO_METHOD : ROUTE_NO_PATH;
}

void
route_allow(const char *path, struct buf *out)
{
	/* In alphabetical order, so that the header does not depend on the order of the rows. */
	static const char *const methods[] = {"DELETE", "GET", "HEAD", "POST"};
	const char *sep = "";

	for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
		for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
			const char *seg;
			size_t len;

			if (!method_serves(&routes[i], methods[m]) ||
			    !path_matches(routes[i].path, path, &seg, &len))
				continue;
			buf_fmt(out, "%s%s", sep, methods[m]);
			sep = ", ";
			break;
		}
	}
}
