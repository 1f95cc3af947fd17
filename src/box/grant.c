/*
 * The order matters: nothing of the entry is looked at before the MAC says that the ledger wrote
 * it, and the index is used up before anything else can fail, so that a grant is tried once.
 */
#include "box/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/entry.h"

bool
seen_take(struct seen_indexes *s, uint64_t index)
{
	uint64_t bit = index % SEEN_WINDOW;

	if (!s->any || index > s->highest) {
		uint64_t from = s->any ? s->highest + 1 : index;

		if (!s->any || index - s->highest >= SEEN_WINDOW) {
			memset(s->bits, 0, sizeof(s->bits));
			from = index;
		}
		/* Places of the window that were an older index's. */
		for (uint64_t i = from; i < index; i++)
			s->bits[i % SEEN_WINDOW / 8] &= (uint8_t) ~(1u << (i % SEEN_WINDOW % 8));
		s->any = true;
		s->highest = index;
	} else if (s->highest - index >= SEEN_WINDOW ||
		   (s->bits[bit / 8] & (1u << (bit % 8))) != 0) {
		return false;
	}
	s->bits[bit / 8] |= (uint8_t)(1u << (bit % 8));
	return true;
}

void
grant_free(struct grant *g)
{
	if (g == NULL)
		return;
	operation_fini(&g->op);
	free(g);
}

void
grant_freep(struct grant **g)
{
	grant_free(*g);
	*g = NULL;
}

int
grant_read(const struct secret *key, struct seen_indexes *seen, const struct msg_grant *m,
	   struct grant **ret, struct error *err)
{
	CLEANUP(grant_freep) struct grant *g = NULL;
	CLEANUP(entry_fini) struct entry entry = {0};
	struct receipt r;
	json_t *operation;
	int code = receipt_decode(m->receipt.data, m->receipt.len, &r, err);

	if (code == 0)
		code = receipt_check(key->data, &r, m->entry.data, m->entry.len, err);
	if (code < 0)
		return error_prefix(err, "receipt");
	if (!seen_take(seen, r.index))
		return error_set(err, -EALREADY, "the grant of entry %llu was used before",
				 (unsigned long long)r.index);
	code = entry_read(m->entry.data, m->entry.len, &entry, err);
	if (code < 0)
		return error_prefix(err, "entry");
	if (strcmp(entry.kind, "intent") != 0 || !entry.has_digest)
		return error_set(err, -EBADMSG, "the entry is no intent");
	if (!bytes_equal_ct(entry.digest, r.digest, sizeof(r.digest)))
		return error_set(err, -EBADMSG, "the receipt is for another operation");
	code = json_get_object(entry.json, "operation", &operation, err);
	if (code < 0)
		return error_prefix(err, "operation");
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return error_set(err, -ENOMEM, "no memory for a grant");
	g->receipt = r;
	code = operation_read(operation, &g->op, err);
	if (code < 0)
		return error_prefix(err, "operation");
	*ret = TAKE_PTR(g);
	return 0;
}

int
grant_profile(const struct grant *g, int fd, struct profile **cache, struct error *err)
{
	CLEANUP(buf_fini) struct buf bytes;
	uint8_t digest[32];
	struct profile *fresh;
	int r;

	buf_init(&bytes, PROFILE_CANONICAL_MAX);
	r = fd_memfd_read(fd, &bytes, err);
	if (r < 0)
		return error_prefix(err, "profile");
	sha256_of(bytes.data, bytes.len, digest);
	if (!bytes_equal_ct(digest, g->op.profile_digest, sizeof(digest)))
		return error_set(err, -EBADMSG, "the profile is not the recorded one");
	if (*cache != NULL && bytes_equal_ct((*cache)->digest, digest, sizeof(digest)))
		return 0;
	r = profile_read_canonical(bytes.data, bytes.len, &fresh, err);
	if (r < 0)
		return error_prefix(err, "profile");
	profile_free(*cache);
	*cache = fresh;
	return 0;
}

static bool
same_workspace(const struct workspace_facts *a, const struct workspace_facts *b)
{
	return strcmp(a->path, b->path) == 0 && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->ino == b->ino && a->uid == b->uid &&
	       a->gid == b->gid && strcmp(a->fs, b->fs) == 0;
}

static bool
same_env(const struct exec_facts *a, const struct exec_facts *b)
{
	if (a->n_env != b->n_env)
		return false;
	for (uint32_t i = 0; i < a->n_env; i++)
		if (strcmp(a->env[i].name, b->env[i].name) != 0 ||
		    a->env[i].length != b->env[i].length ||
		    memcmp(a->env[i].hmac, b->env[i].hmac, sizeof(a->env[i].hmac)) != 0)
			return false;
	return true;
}

int
grant_same_facts(const struct exec_facts *recorded, const struct exec_facts *held,
		 struct error *err)
{
	if (!same_workspace(&recorded->workspace, &held->workspace))
		return error_set(err, -ESTALE, "the workspace is not the recorded one");
	if (recorded->args_count != held->args_count || recorded->args_bytes != held->args_bytes ||
	    memcmp(recorded->args_sha256, held->args_sha256, sizeof(held->args_sha256)) != 0)
		return error_set(err, -ESTALE, "the arguments are not the recorded ones");
	if (!same_env(recorded, held))
		return error_set(err, -ESTALE, "the environment is not the recorded one");
	if (strcmp(recorded->cwd, held->cwd) != 0)
		return error_set(err, -ESTALE, "the directory is not the recorded one");
	return 0;
}
