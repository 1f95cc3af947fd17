/*
 * Two ways into the same struct. An operation's program is escaped text made by the box, and is
 * undone here, so that the checks see the bytes that will be executed. A request's URL is brought
 * into its one spelling; whatever it says that its capability does not have is an error.
 */
#include "policy/question.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "model/field.h"

bool
question_is_particular(const struct question *q)
{
	return capability_implemented(q->capability) || q->host != NULL || q->method != NULL ||
	       q->repository != NULL || q->ref != NULL || q->credential != NULL;
}

size_t
question_paths(const struct question *q)
{
	return q->path != NULL ? 1 : json_array_size(q->paths);
}

const char *
question_path(const struct question *q, size_t i)
{
	return q->path != NULL ? q->path : json_string_value(json_array_get(q->paths, i));
}

/* Undo text_escape on at most MAX bytes. NULL, or what is wrong with it. */
static const char *
unescape(const char *text, size_t max, char out[PATH_BYTES_MAX], size_t *ret_len)
{
	size_t n = 0;

	for (size_t i = 0; i < max && text[i] != '\0';) {
		char digits[3] = {0};
		uint8_t byte = (uint8_t)text[i];
		size_t took = 1;

		if (text[i] == '\\' && i + 1 < max && text[i + 1] == '\\') {
			took = 2;
		} else if (text[i] == '\\') {
			if (i + 4 > max || text[i + 1] != 'x')
				return "it has a backslash that is neither doubled nor part of "
				       "\\xNN";
			memcpy(digits, text + i + 2, 2);
			if (hex_decode(digits, &byte, 1) < 0)
				return "it has a backslash that is neither doubled nor part of "
				       "\\xNN";
			took = 4;
		}
		if (n + 1 >= PATH_BYTES_MAX)
			return "it is longer than any path";
		out[n++] = (char)byte;
		i += took;
	}
	out[n] = '\0';
	*ret_len = n;
	return NULL;
}

void
question_from_operation(const struct operation *op, struct asked *ret)
{
	struct question *q = &ret->q;
	const struct exec_facts *f = &op->facts;

	/* Not the whole: a decision is made of every operation, and most of it is never looked at.
	 */
	ret->q = (struct question){.capability = op->capability};
	ret->argv0[0] = '\0';
	ret->url.path[0] = '\0';
	q->has_mode = true;
	q->mode = op->mode;
	if (op->capability == C_WORKSPACE_ACCEPT)
		q->paths = op->paths;
	if (op->capability != C_EXEC)
		return;
	q->has_command = true;
	q->argv0 = ret->argv0;
	q->argv0_wrong = unescape(f->argv0, sizeof(f->argv0), ret->argv0, &q->argv0_len);
	q->args_count = f->args_count;
	q->args_bytes = f->args_bytes;
	q->cwd = f->cwd;
	q->has_timeout = true;
	q->timeout_ms = op->timeout_ms;
	q->n_env = f->n_env;
	for (uint32_t i = 0; i < f->n_env && i < ENV_COUNT_MAX; i++)
		q->env[i] = f->env[i].name;
}

/* ---- requests ------------------------------------------------------------------------------ */

#define BIT(c) CAPABILITY_BIT(c)
#define NET (BIT(C_NET_HTTP) | BIT(C_NET_CONNECT) | BIT(C_CREDENTIAL_USE))
#define HTTP (BIT(C_NET_HTTP) | BIT(C_CREDENTIAL_USE))
#define WORKSPACE (BIT(C_WORKSPACE_READ) | BIT(C_WORKSPACE_WRITE) | BIT(C_WORKSPACE_ACCEPT))
#define GITS (BIT(C_GIT_FETCH) | BIT(C_GIT_PUSH))

struct request_row {
	const char *key;
	uint32_t applies;
};
static const struct request_row REQUESTS[] = {
	{"command", BIT(C_EXEC)},
	{"args", BIT(C_EXEC)},
	{"env", BIT(C_EXEC)},
	{"cwd", BIT(C_EXEC)},
	{"timeout", BIT(C_EXEC)},
	{"url", HTTP},
	{"method", HTTP},
	{"host", NET},
	{"port", NET},
	{"path", HTTP | WORKSPACE},
	{"paths", BIT(C_WORKSPACE_ACCEPT)},
	{"repository", GITS},
	{"ref", BIT(C_GIT_PUSH)},
	{"credential", BIT(C_CREDENTIAL_USE)},
};

static const char *
text_of(const json_t *request, const char *key)
{
	return json_string_value(json_object_get(request, key));
}

static int
ask_exec(const json_t *request, struct asked *ret, struct error *err)
{
	struct question *q = &ret->q;
	const json_t *command = json_object_get(request, "command"), *v;
	size_t i;
	json_t *e;

	v = json_object_get(request, "args");
	if (v != NULL && command == NULL)
		return error_set(err, -EINVAL, "args without a command");
	if (command != NULL) {
		q->has_command = true;
		q->argv0 = ret->argv0;
		q->argv0_wrong = unescape(json_string_value(command), json_string_length(command),
					  ret->argv0, &q->argv0_len);
		q->args_count = 1 + json_array_size(v);
		q->args_bytes = ARGS_SALT_LEN + q->argv0_len + 1;
		json_array_foreach(v, i, e) q->args_bytes += json_string_length(e) + 1;
	}
	v = json_object_get(request, "env");
	q->n_env = (uint32_t)json_array_size(v);
	json_array_foreach(v, i, e) if (i < ENV_COUNT_MAX) q->env[i] = json_string_value(e);
	q->cwd = text_of(request, "cwd");
	v = json_object_get(request, "timeout");
	q->has_timeout = v != NULL;
	q->timeout_ms = (uint64_t)json_integer_value(v);
	return 0;
}

static int
ask_url(const json_t *request, const json_t *url, struct asked *ret, struct error *err)
{
	static const char *const INSTEAD[] = {"host", "port", "path"};

	for (size_t i = 0; i < ARRAY_LEN(INSTEAD); i++)
		if (json_object_get(request, INSTEAD[i]) != NULL)
			return error_set(err, -EINVAL, "url and %s together; write one of them",
					 INSTEAD[i]);
	return url_parse(json_string_value(url), json_string_length(url), &ret->url, err);
}

static int
ask_parts(const json_t *request, struct asked *ret, struct error *err)
{
	const json_t *host = json_object_get(request, "host");
	const json_t *path = json_object_get(request, "path");
	const char *wrong;

	if (host == NULL)
		return error_set(err, -EINVAL, "neither a url nor a host");
	wrong = host_wrong(json_string_value(host), json_string_length(host));
	if (wrong != NULL)
		return error_set(err, -EINVAL, "a host that may not be: %s", wrong);
	memcpy(ret->url.host, json_string_value(host), json_string_length(host) + 1);
	ret->url.port = 443;
	if (json_object_get(request, "port") != NULL)
		ret->url.port = (uint16_t)json_integer_value(json_object_get(request, "port"));
	if (path == NULL)
		return 0;
	return url_path(json_string_value(path), json_string_length(path), ret->url.path, err);
}

static int
ask_net(const json_t *request, struct asked *ret, struct error *err)
{
	struct question *q = &ret->q;
	const json_t *url = json_object_get(request, "url"), *v;
	const char *wrong;
	int r = 0;

	v = json_object_get(request, "method");
	if (v != NULL) {
		wrong = method_wrong(json_string_value(v), json_string_length(v));
		if (wrong != NULL)
			return error_set(err, -EINVAL, "a method that may not be: %s", wrong);
		q->method = json_string_value(v);
	}
	q->credential = text_of(request, "credential");
	if (url != NULL)
		r = ask_url(request, url, ret, err);
	else if (json_object_get(request, "host") != NULL ||
		 json_object_get(request, "port") != NULL ||
		 json_object_get(request, "path") != NULL)
		r = ask_parts(request, ret, err);
	else
		return 0;
	if (r < 0)
		return r;
	q->host = ret->url.host;
	q->port = ret->url.port;
	q->path = ret->url.path[0] != '\0' ? ret->url.path : NULL;
	return 0;
}

static int
ask_git(const json_t *request, struct asked *ret, struct error *err)
{
	const json_t *v = json_object_get(request, "repository");
	const char *wrong = NULL;

	ret->q.repository = json_string_value(v);
	ret->q.ref = text_of(request, "ref");
	if (v != NULL)
		wrong = repository_wrong(json_string_value(v), json_string_length(v));
	if (wrong != NULL)
		return error_set(err, -EINVAL, "a repository that may not be: %s", wrong);
	return 0;
}

int
question_from_request(const json_t *request, struct asked *ret, struct error *err)
{
	const char *name = text_of(request, "capability");
	struct question *q = &ret->q;

	*ret = (struct asked){0};
	if (name == NULL || !capability_find(name, strlen(name), &q->capability))
		return error_set(err, -EINVAL, "no capability");
	q->workflow = text_of(request, "workflow");
	for (size_t i = 0; i < ARRAY_LEN(REQUESTS); i++)
		if ((REQUESTS[i].applies & BIT(q->capability)) == 0 &&
		    json_object_get(request, REQUESTS[i].key) != NULL)
			return error_set(err, -EINVAL, "%s has no %s", name, REQUESTS[i].key);
	if (q->capability == C_EXEC)
		return ask_exec(request, ret, err);
	if ((NET & BIT(q->capability)) != 0)
		return ask_net(request, ret, err);
	if ((GITS & BIT(q->capability)) != 0)
		return ask_git(request, ret, err);
	q->paths = json_object_get(request, "paths");
	q->path = text_of(request, "path");
	if (q->paths != NULL && q->path != NULL)
		return error_set(err, -EINVAL, "path and paths together; write one of them");
	return 0;
}
