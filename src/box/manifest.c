/*
 * Entries are written one by one and hashed on the way out, so that a manifest of any length costs
 * a buffer. The array's brackets and commas are written here; each entry is canonical by itself,
 * and an array of canonical values joined by commas is canonical.
 */
#include "box/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "box/owner.h"

#define MANIFEST_FLUSH_BYTES 65536
#define MANIFEST_BUFFER_MAX (8u << 20) /* one entry has a path and a target at most */
#define HASH_CHUNK_BYTES 65536

static void
json_set(json_t *obj, const char *key, json_t *value, bool *ok)
{
	/* Takes VALUE even on failure. */
	if (json_object_set_new(obj, key, value) != 0)
		*ok = false;
}

json_t *
change_json(const struct change *c, uint32_t mode)
{
	CLEANUP(json_decrefp) json_t *obj = json_object();
	char octal[8];
	bool ok = obj != NULL;

	if (!ok)
		return NULL;
	(void)snprintf(octal, sizeof(octal), "%04o", mode & 07777u);
	json_set(obj, "kind", json_string(change_kind_name(c->kind)), &ok);
	json_set(obj, "mode", json_string(octal), &ok);
	json_set(obj, "path", json_escaped(c->path, c->path_len), &ok);
	json_set(obj, "type", json_string(change_type_name(c->type)), &ok);
	return ok ? TAKE_PTR(obj) : NULL;
}

static int
hash_file(int dir, const char *name, uint64_t size, uint8_t ret[SHA256_LEN], struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(sha256_freep) struct sha256 *h = NULL;
	char chunk[HASH_CHUNK_BYTES];
	uint64_t done = 0;

	if (size > MANIFEST_FILE_MAX)
		return error_set(err, -EFBIG, "a changed file is larger than 16 GiB");
	fd = owner_open_file(dir, name);
	if (fd < 0)
		return error_sys(err, -errno, "open a changed file");
	h = sha256_new();
	if (h == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read a changed file");
		if (n == 0)
			break;
		sha256_add(h, chunk, (size_t)n);
		done += (uint64_t)n;
		if (done > size)
			break;
	}
	if (done != size)
		return error_set(err, -ESTALE, "a changed file changes while it is read");
	sha256_end(h, ret);
	return 0;
}

static int
add_content(json_t *obj, const struct change *c, uint8_t ret_sha256[SHA256_LEN], struct error *err)
{
	bool ok = true;
	int r;

	if (c->type == TYPE_FILE) {
		uint8_t digest[SHA256_LEN];
		char hex[2 * SHA256_LEN + 1];

		r = hash_file(c->upper_dir, c->name, c->size, digest, err);
		if (r < 0)
			return r;
		if (ret_sha256 != NULL)
			memcpy(ret_sha256, digest, sizeof(digest));
		hex_encode(digest, sizeof(digest), hex);
		json_set(obj, "sha256", json_string(hex), &ok);
		json_set(obj, "size", json_integer((json_int_t)c->size), &ok);
	} else if (c->type == TYPE_LINK) {
		char target[PATH_BYTES_MAX];
		ssize_t n = owner_readlink(c->upper_dir, c->name, target, sizeof(target));

		if (n < 0)
			return error_sys(err, -errno, "read a changed link");
		json_set(obj, "target", json_escaped(target, (size_t)n), &ok);
	}
	return ok ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int
manifest_flush(struct manifest *m, struct error *err)
{
	int r = buf_check(&m->out, err);

	if (r < 0)
		return r;
	m->bytes += m->out.len;
	if (m->bytes > CHANGES_OUTPUT_MAX)
		return error_set(err, -E2BIG,
				 "too many changes at once; take them in parts (--path)");
	sha256_add(m->hash, m->out.data, m->out.len);
	if (m->out_fd >= 0)
		r = fd_write_all(m->out_fd, m->out.data, m->out.len, err);
	buf_cut(&m->out, 0);
	return r;
}

int
manifest_begin(struct manifest *m, int out_fd, struct error *err)
{
	*m = (struct manifest){.out_fd = out_fd, .hash = sha256_new()};
	buf_init(&m->out, MANIFEST_BUFFER_MAX);
	if (m->hash == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	buf_char(&m->out, '[');
	return 0;
}

int
manifest_add(struct manifest *m, const struct change *c, uint8_t ret_sha256[SHA256_LEN],
	     struct error *err)
{
	CLEANUP(json_decrefp) json_t *obj = change_json(c, c->mode & 01777);
	int r = 0;

	if (obj == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	if (c->kind == CHANGE_DELETED)
		(void)json_object_del(obj, "mode");
	else
		r = add_content(obj, c, ret_sha256, err);
	if (r < 0)
		return r;
	if (m->entries++ > 0)
		buf_char(&m->out, ',');
	r = json_write_canonical(obj, &m->out, err);
	if (r == 0 && m->out.len >= MANIFEST_FLUSH_BYTES)
		r = manifest_flush(m, err);
	return r;
}

int
manifest_end(struct manifest *m, uint8_t ret_digest[SHA256_LEN], struct error *err)
{
	int r;

	buf_char(&m->out, ']');
	r = manifest_flush(m, err);
	if (r == 0)
		sha256_end(m->hash, ret_digest);
	return r;
}

void
manifest_fini(struct manifest *m)
{
	sha256_free(m->hash);
	m->hash = NULL;
	buf_fini(&m->out);
}

struct manifest_walk {
	struct manifest m;
	struct selection *sel;
};

static int
manifest_change(void *arg, const struct change *c, struct error *err)
{
	struct manifest_walk *w = arg;

	if (selection_judge(w->sel, c, NULL) == SELECTED_NO)
		return 0;
	return manifest_add(&w->m, c, NULL, err);
}

int
manifest_of(int upper, int lower, struct selection *sel, int out_fd, uint8_t ret_digest[SHA256_LEN],
	    struct error *err)
{
	const struct changes_in in = {
		.upper = upper, .lower = lower, .depth_max = CHANGES_DEPTH_MAX};
	struct manifest_walk w = {.sel = sel};
	uint8_t digest[SHA256_LEN];
	const char *missing;
	int r;

	r = manifest_begin(&w.m, out_fd, err);
	if (r == 0)
		r = changes_walk(&in, manifest_change, &w, err);
	if (r == 0)
		r = manifest_end(&w.m, digest, err);
	manifest_fini(&w.m);
	if (r < 0)
		return r;
	missing = selection_unmatched(sel);
	if (missing != NULL) {
		char shown[CHANGE_SHOWN_MAX];

		change_show(missing, shown);
		return error_set(err, -ENOENT, "nothing changed at '%s'", shown);
	}
	memcpy(ret_digest, digest, sizeof(digest));
	return 0;
}
