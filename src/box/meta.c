/*
 * One object, every member required, none else allowed. Device and inode are texts, since JSON's
 * integers end at 2^53; the path is escaped bytes (json_escaped).
 */
#include "box/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "box/selection.h"

static json_t *
hex_json(const uint8_t *data, size_t len)
{
	char hex[2 * 64 + 1];

	hex_encode(data, len, hex);
	return json_string(hex);
}

static json_t *
meta_json(const struct store_meta *m)
{
	char dev[32], ino[24];

	(void)snprintf(dev, sizeof(dev), "%u:%u", m->dev_major, m->dev_minor);
	(void)snprintf(ino, sizeof(ino), "%llu", (unsigned long long)m->ino);
	return json_pack(
		"{s:i, s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I}", "v",
		1, "session", m->session, "name", m->name, "path",
		json_escaped(m->path, strlen(m->path)), "dev", dev, "ino", ino, "uid",
		(json_int_t)m->uid, "gid", (json_int_t)m->gid, "owner", (json_int_t)m->owner,
		"profile", hex_json(m->profile, sizeof(m->profile)), "started",
		(json_int_t)m->started_ms, "startedNs", (json_int_t)m->started_ns, "ended",
		(json_int_t)m->ended_ms, "changes", (json_int_t)m->changes, "bytes",
		(json_int_t)m->bytes);
}

json_t *
meta_list_json(const struct store_meta *m)
{
	return json_pack("{s:I, s:I, s:I, s:s, s:I, s:o, s:o, s:s, s:I}", "bytes",
			 (json_int_t)m->bytes, "changes", (json_int_t)m->changes, "ended",
			 (json_int_t)m->ended_ms, "name", m->name, "owner", (json_int_t)m->owner,
			 "path", json_escaped(m->path, strlen(m->path)), "profile",
			 hex_json(m->profile, sizeof(m->profile)), "session", m->session, "started",
			 (json_int_t)m->started_ms);
}

static int
meta_bytes(const struct store_meta *m, struct buf *out, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = meta_json(m);

	if (v == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return json_write_canonical(v, out, err);
}

int
meta_create(int dir, const struct store_meta *m, struct error *err)
{
	CLEANUP(buf_fini) struct buf b = {0};
	CLEANUP(fd_closep) int fd = -1;
	int r;

	buf_init(&b, META_MAX);
	r = meta_bytes(m, &b, err);
	if (r < 0)
		return r;
	fd = openat(dir, META_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_sys(err, -errno, "create " META_NAME);
	return fd_write_all(fd, b.data, b.len, err);
}

int
meta_replace(int dir, const struct store_meta *m, struct error *err)
{
	CLEANUP(buf_fini) struct buf b = {0};
	int r;

	buf_init(&b, META_MAX);
	r = meta_bytes(m, &b, err);
	return r < 0 ? r : fd_replace_file_at(dir, META_NAME, b.data, b.len, 0600, err);
}

static int
read_number(const json_t *v, const char *key, uint64_t max, uint64_t *ret, struct error *err)
{
	int64_t n;
	int r = json_get_int(v, key, 0, (int64_t)max, &n, err);

	if (r == 0)
		*ret = (uint64_t)n;
	return r;
}

static int
read_u32(const json_t *v, const char *key, uint32_t *ret, struct error *err)
{
	uint64_t n;
	int r = read_number(v, key, UINT32_MAX, &n, err);

	if (r == 0)
		*ret = (uint32_t)n;
	return r;
}

static int
read_text(const json_t *v, const char *key, char *out, size_t cap, struct error *err)
{
	const char *text;
	int r = json_get_text(v, key, &text, err);

	if (r < 0)
		return r;
	if (strlen(text) >= cap)
		return error_set(err, -EINVAL, "%s is too long", key);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static void
freep(char **p)
{
	free(*p);
}

static int
read_path(const json_t *v, char out[PATH_BYTES_MAX], struct error *err)
{
	CLEANUP(freep) char *path = NULL;
	const char *text;
	int r = json_get_text(v, "path", &text, err);

	if (r == 0)
		r = escaped_read(text, &path, err);
	if (r < 0)
		return r;
	if (path[0] != '/' || path[1] == '\0' || strlen(path) >= PATH_BYTES_MAX)
		return error_set(err, -EINVAL, "path is not absolute, or too long");
	memcpy(out, path, strlen(path) + 1);
	return 0;
}

static int
read_device(const json_t *v, struct store_meta *m, struct error *err)
{
	char dev[32], ino[24];
	char *colon;
	uint64_t a = 0, b = 0;
	int r = read_text(v, "dev", dev, sizeof(dev), err);

	if (r == 0)
		r = read_text(v, "ino", ino, sizeof(ino), err);
	if (r < 0)
		return r;
	colon = strchr(dev, ':');
	if (colon != NULL)
		*colon = '\0';
	if (colon == NULL || decimal_parse(dev, UINT32_MAX, &a) < 0 ||
	    decimal_parse(colon + 1, UINT32_MAX, &b) < 0 ||
	    decimal_parse(ino, UINT64_MAX, &m->ino) < 0)
		return error_set(err, -EINVAL, "dev or ino is no number");
	m->dev_major = (uint32_t)a;
	m->dev_minor = (uint32_t)b;
	return 0;
}

static int
read_members(const json_t *v, struct store_meta *m, struct error *err)
{
	static const char *const keys[] = {
		"v",	 "session", "name",    "path",	    "dev",   "ino",	"uid",	 "gid",
		"owner", "profile", "started", "startedNs", "ended", "changes", "bytes", NULL};
	const char *profile = NULL;
	uint64_t ns = 0, version = 0;
	int r = json_only_keys(v, keys, err);

	r = r < 0 ? r : read_number(v, "v", UINT32_MAX, &version, err);
	r = r < 0 ? r : read_text(v, "session", m->session, sizeof(m->session), err);
	r = r < 0 ? r : read_text(v, "name", m->name, sizeof(m->name), err);
	r = r < 0 ? r : read_path(v, m->path, err);
	r = r < 0 ? r : read_device(v, m, err);
	r = r < 0 ? r : read_u32(v, "uid", &m->uid, err);
	r = r < 0 ? r : read_u32(v, "gid", &m->gid, err);
	r = r < 0 ? r : read_u32(v, "owner", &m->owner, err);
	r = r < 0 ? r : json_get_text(v, "profile", &profile, err);
	r = r < 0 ? r : read_number(v, "started", JSON_INT_MAX, &m->started_ms, err);
	r = r < 0 ? r : read_number(v, "startedNs", 999999, &ns, err);
	r = r < 0 ? r : read_number(v, "ended", JSON_INT_MAX, &m->ended_ms, err);
	r = r < 0 ? r : read_number(v, "changes", JSON_INT_MAX, &m->changes, err);
	r = r < 0 ? r : read_number(v, "bytes", JSON_INT_MAX, &m->bytes, err);
	if (r < 0)
		return r;
	m->started_ns = (uint32_t)ns;
	if (version != 1)
		return error_set(err, -EINVAL, "version %llu", (unsigned long long)version);
	if (hex_decode(profile, m->profile, sizeof(m->profile)) < 0)
		return error_set(err, -EINVAL, "profile is no digest");
	return 0;
}

int
meta_read(int dir, const char *session, struct store_meta *ret, struct error *err)
{
	CLEANUP(json_decrefp) json_t *v = NULL;
	CLEANUP(buf_fini) struct buf b = {0};
	struct error why = {0};
	struct store_meta m = {0};
	int r;

	buf_init(&b, META_MAX);
	r = fd_read_file_at(dir, META_NAME, &b, &why);
	if (r == -ENOENT)
		return error_set(err, r, "nothing is kept of %s", session);
	if (r == 0)
		r = json_read_canonical(b.data, b.len, &v, &why);
	if (r == 0)
		r = read_members(v, &m, &why);
	if (r == 0 && strcmp(m.session, session) != 0)
		r = error_set(&why, -EINVAL, "is of %s", m.session);
	if (r < 0)
		return error_set(err, -EBADMSG, "%s of %s cannot be read: %s", META_NAME, session,
				 why.text);
	*ret = m;
	return 0;
}

bool
meta_is_of(const struct store_meta *m, const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_dev == makedev(m->dev_major, m->dev_minor) &&
	       st->st_ino == m->ino && st->st_uid == m->uid && st->st_gid == m->gid;
}
