/*
 * Everything is opened and sealed with the user's own rights before the daemon hears of it; what
 * the daemon then gets are descriptors, so that no name can mean something else later.
 */
#include "cli/request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "model/operation.h"

#define TERM_MAX 64
#define REFUSE_DETAIL_MAX 384

void
request_init(struct request *r)
{
	*r = (struct request){
		.fds = {-1, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, -1, -1},
	};
}

void
request_fini(struct request *r)
{
	fd_closep(&r->fds[REQUEST_WORKSPACE]);
	fd_closep(&r->fds[REQUEST_ARGS]);
	fd_closep(&r->fds[REQUEST_ENV]);
}

/* "dir//", "dir/." and "dir/./" name what "dir" names, but would follow a link that "dir" is. */
static size_t
without_tail(const char *path, size_t len)
{
	for (;;) {
		if (len > 1 && path[len - 1] == '/')
			len--;
		else if (len > 2 && path[len - 1] == '.' && path[len - 2] == '/')
			len--;
		else
			return len;
	}
}

int
request_workspace(struct request *r, const char *path, struct error *err)
{
	char name[PATH_MAX];
	size_t len = without_tail(path, strlen(path));
	struct stat st;
	int fd, code;

	if (len == 0)
		return error_set(err, -ENOENT, "the workspace is an empty path");
	if (len >= sizeof(name))
		return error_set(err, -ENAMETOOLONG, "workspace %.64s...: the path is too long",
				 path);
	memcpy(name, path, len);
	name[len] = '\0';
	fd = open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		r->fds[REQUEST_WORKSPACE] = fd;
		return 0;
	}
	code = -errno;
	if (lstat(name, &st) == 0 && S_ISLNK(st.st_mode))
		return error_set(err, -ELOOP,
				 "workspace %s is a symbolic link; name the directory itself",
				 name);
	if (code == -ENOENT)
		return error_set(err, code, "workspace %s does not exist", name);
	if (code == -ENOTDIR)
		return error_set(err, code, "workspace %s is not a directory", name);
	return error_sys(err, code, "workspace %s", name);
}

static int
add_salt(struct buf *blob, struct error *err)
{
	uint8_t salt[ARGS_SALT_LEN];

	if (getrandom(salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
		return error_sys(err, -EIO, "getrandom");
	buf_add(blob, salt, sizeof(salt));
	return 0;
}

static int
seal(struct buf *blob, const char *name, const char *too_much, int *ret_fd, struct error *err)
{
	int fd;

	if (blob->failed && !blob->no_memory)
		return error_set(err, -E2BIG, "%s", too_much);
	fd = buf_check(blob, err);
	if (fd == 0)
		fd = fd_memfd_sealed(name, blob->data, blob->len, err);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int
request_args(struct request *r, char *const *arguments, size_t n, struct error *err)
{
	CLEANUP(buf_fini) struct buf blob = {0};
	int code;

	if (n > ARGS_COUNT_MAX)
		return error_set(err, -E2BIG, "%zu arguments; at most %d are allowed", n,
				 ARGS_COUNT_MAX);
	buf_init(&blob, ARGS_BLOB_MAX);
	code = add_salt(&blob, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < n; i++)
		buf_add(&blob, arguments[i], strlen(arguments[i]) + 1);
	return seal(&blob, "loom-args", "the arguments are over 2 MiB", &r->fds[REQUEST_ARGS], err);
}

static bool
name_ok(const char *name, size_t len)
{
	if (len == 0 || len > ENV_NAME_MAX || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		      (c >= '0' && c <= '9')))
			return false;
	}
	return true;
}

/* Was the same name given by an earlier -e? */
static bool
given_before(const struct parsed *p, size_t at, const char *name, size_t len)
{
	for (size_t i = 0; i < at; i++) {
		const char *other = p->given[i].value;

		if (p->given[i].spec->id == OPT_ENV && strncmp(other, name, len) == 0 &&
		    (other[len] == '=' || other[len] == '\0'))
			return true;
	}
	return false;
}

static int
add_variable(struct buf *blob, const struct parsed *p, size_t at, struct error *err)
{
	const char *given = p->given[at].value;
	size_t len = strcspn(given, "=");
	const char *value = given[len] == '=' ? given + len + 1 : NULL;
	char name[ENV_NAME_MAX + 1];

	if (!name_ok(given, len))
		return error_set(err, -EINVAL,
				 "-e %.*s: a name is letters, digits and underscores, at most %d",
				 (int)(len < 128 ? len : 128), given, ENV_NAME_MAX);
	memcpy(name, given, len);
	name[len] = '\0';
	if (given_before(p, at, name, len))
		return error_set(err, -EINVAL, "-e %s is given twice", name);
	if (value == NULL)
		value = getenv(name);
	if (value == NULL)
		return error_set(err, -ENOENT,
				 "-e %s: it is not in the environment; give the value: -e %s=VALUE",
				 name, name);
	buf_add(blob, name, len);
	buf_char(blob, '=');
	buf_add(blob, value, strlen(value) + 1);
	return 0;
}

int
request_env(struct request *r, const struct parsed *p, struct error *err)
{
	CLEANUP(buf_fini) struct buf blob = {0};
	size_t n = 0;
	int code;

	if (!option_given(p, OPT_ENV))
		return 0;
	buf_init(&blob, ENV_BLOB_MAX);
	code = add_salt(&blob, err);
	for (size_t i = 0; i < p->n_given && code == 0; i++) {
		if (p->given[i].spec->id != OPT_ENV)
			continue;
		if (++n > ENV_COUNT_MAX)
			return error_set(err, -E2BIG, "over %d variables", ENV_COUNT_MAX);
		code = add_variable(&blob, p, i, err);
	}
	if (code == 0)
		code = seal(&blob, "loom-env", "the variables are over 1 MiB", &r->fds[REQUEST_ENV],
			    err);
	/* The values may be secret: leave no copy behind in the heap. */
	if (blob.data != NULL)
		explicit_bzero(blob.data, blob.len);
	return code;
}

/* TERM is a name; anything else would only confuse what reads it inside. */
static const char *
term_name(const char *term)
{
	if (term == NULL || term[0] == '\0' || strlen(term) > TERM_MAX)
		return "";
	for (const char *at = term; *at != '\0'; at++) {
		if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
		      (*at >= '0' && *at <= '9') || strchr("-+._", *at) != NULL))
			return "";
	}
	return term;
}

int
request_send(const struct request *r, struct channel *c, struct error *err)
{
	size_t n = r->fds[REQUEST_ENV] >= 0 ? REQUEST_FDS : REQUEST_FDS - 1;
	uint32_t flags = 0;

	flags |= r->tty ? RUN_TTY : 0;
	flags |= r->fds[REQUEST_ENV] >= 0 ? RUN_ENV : 0;
	return CHANNEL_SEND_FDS(c, run, err, r->fds, n, .version = WIRE_VERSION, .flags = flags,
				.profile = wire_text_of(r->profile),
				.workflow = wire_text_of(r->workflow),
				.session = wire_text_of(r->session),
				.cwd = wire_bytes_of(r->cwd, r->cwd != NULL ? strlen(r->cwd) : 0),
				.timeout_ms = r->timeout_ms, .rows = r->rows, .columns = r->columns,
				.term = wire_text_of(term_name(r->term)));
}

int
request_refuse(enum reason reason, const char *why, struct channel *c, struct error *err)
{
	CLEANUP(buf_fini) struct buf text = {0};
	char detail[REFUSE_DETAIL_MAX + 1];
	size_t len;

	/* A path need not be a text; and what is cut off is whole characters. */
	buf_init(&text, 4 * sizeof(err->text));
	text_escape(why, strlen(why), &text);
	len = text.len < REFUSE_DETAIL_MAX ? text.len : REFUSE_DETAIL_MAX;
	while (len > 0 && len < text.len && (text.data[len] & 0xc0) == 0x80)
		len--;
	if (len > 0)
		memcpy(detail, text.data, len);
	detail[len] = '\0';
	return CHANNEL_SEND(c, refuse, err, .version = WIRE_VERSION, .reason = (uint32_t)reason,
			    .detail = wire_text_of(detail));
}
