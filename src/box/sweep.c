/*
 * What concerns all kept sessions at once: the list, what has grown too old, what a crash left.
 * Names in the directory that are no session ids are not ours to judge, but for probes of our own.
 */
#include "box/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "box/accept.h"
#include "box/changes.h"
#include "box/meta.h"
#include "box/owner.h"

#define PROBE_PREFIX ".probe-"

struct names {
	char (*names)[SESSION_ID_MAX];
	size_t n, cap;
	bool probes; /* something with PROBE_PREFIX was seen */
};

static void
names_fini(struct names *l)
{
	free(l->names);
}

static int
names_add(void *arg, const char *name, unsigned char type, struct error *err)
{
	struct names *l = arg;
	uint64_t n;

	if (strncmp(name, PROBE_PREFIX, strlen(PROBE_PREFIX)) == 0)
		l->probes = true;
	if (!session_id_parse(name, &n) || strlen(name) >= SESSION_ID_MAX)
		return 0;
	if (l->n == l->cap) {
		size_t cap = l->cap == 0 ? 64 : l->cap * 2;
		void *more = realloc(l->names, cap * sizeof(*l->names));

		if (more == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		l->names = more;
		l->cap = cap;
	}
	(void)snprintf(l->names[l->n++], SESSION_ID_MAX, "%s", name);
	return 0;
}

/* All of them first, then the work: what is worked on changes the directory. */
static int
names_read(int sessions, struct names *ret, struct error *err)
{
	CLEANUP(fd_closep) int fd = openat(sessions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, -errno, "open the directory of sessions");
	return owner_list(fd, names_add, ret, err);
}

/* ---- the list ---- */

static int
started_compare(const void *a, const void *b)
{
	const struct store_meta *x = *(struct store_meta *const *)a;
	const struct store_meta *y = *(struct store_meta *const *)b;

	if (x->started_ms != y->started_ms)
		return x->started_ms < y->started_ms ? -1 : 1;
	return strcmp(x->session, y->session);
}

static int
list_write(struct store_meta **metas, size_t n, struct buf *out, struct error *err)
{
	int r = 0;

	qsort(metas, n, sizeof(struct store_meta *), started_compare);
	buf_char(out, '[');
	for (size_t i = 0; r == 0 && i < n; i++) {
		CLEANUP(json_decrefp) json_t *v = meta_list_json(metas[i]);

		if (v == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		if (i > 0)
			buf_char(out, ',');
		r = json_write_canonical(v, out, err);
	}
	buf_char(out, ']');
	return r < 0 ? r : buf_check(out, err);
}

int
store_list(int sessions, struct buf *out, struct error *err)
{
	CLEANUP(names_fini) struct names l = {0};
	struct store_meta **metas;
	size_t n = 0;
	int r;

	r = names_read(sessions, &l, err);
	if (r < 0)
		return r;
	metas = calloc(l.n + 1, sizeof(struct store_meta *));
	if (metas == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < l.n; i++) {
		metas[n] = malloc(sizeof(*metas[n]));
		if (metas[n] == NULL)
			r = error_set(err, -ENOMEM, "out of memory");
		else if (store_read(sessions, l.names[i], metas[n], NULL) == 0)
			n++;
		else
			free(metas[n]);
	}
	if (r == 0)
		r = list_write(metas, n, out, err);
	for (size_t i = 0; i < n; i++)
		free(metas[i]);
	free(metas);
	return r;
}

/* ---- what is too old ---- */

static bool
too_old(const struct store_meta *m, uint64_t now_ms)
{
	return m->ended_ms != 0 && now_ms > m->ended_ms && now_ms - m->ended_ms > STORE_KEEP_MS;
}

int
store_expire(int sessions, uint64_t now_ms, store_in_use in_use, void *arg, uint32_t *ret_removed,
	     struct error *err)
{
	CLEANUP(names_fini) struct names l = {0};
	uint32_t removed = 0;
	int r, first = 0;

	r = names_read(sessions, &l, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.n; i++) {
		struct store_meta m;

		if (store_read(sessions, l.names[i], &m, NULL) < 0 || !too_old(&m, now_ms) ||
		    (in_use != NULL && in_use(l.names[i], arg)))
			continue;
		r = store_remove(sessions, l.names[i], err);
		if (r == 0)
			removed++;
		else if (r != -EBUSY && first == 0)
			first = r;
	}
	*ret_removed = removed;
	return first;
}

/* ---- what a crash left ---- */

/* A session that was running: what it changed is counted now, as its end would have. */
static int
end_cut_off(int sessions, const struct store_meta *m, uint64_t now_ms,
	    struct store_recovered *tally, struct error *err)
{
	CLEANUP(store_session_close) struct store_session s;
	CLEANUP(fd_closep) int workspace = -1;
	int r;

	store_session_init(&s);
	r = store_open_kept(sessions, m->session, &s, &workspace, err);
	if (r == 0) {
		bool kept;
		uint64_t changes;

		r = store_end(sessions, &s, workspace, &changes, &kept, err);
		if (r == 0)
			*(kept ? &tally->kept : &tally->removed) += 1;
		return r;
	}
	if (r != -ESTALE)
		return r;
	/* The workspace is gone. Nothing can be compared, so nothing is thrown away either. */
	s.meta = *m;
	s.meta.ended_ms = now_ms;
	s.dir = openat(sessions, m->session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s.dir < 0)
		return -errno;
	r = meta_replace(s.dir, &s.meta, err);
	if (r == 0)
		tally->kept++;
	return r;
}

static int
recover_one(int sessions, const char *session, uint64_t now_ms, struct store_recovered *tally,
	    struct error *err)
{
	struct store_meta m;
	int r, accept;

	accept = accept_recover(sessions, session, err);
	if (accept < 0)
		return accept;
	tally->rolled_back += accept == 1;
	tally->finished += accept == 2;
	r = store_read(sessions, session, &m, NULL);
	if (r == -ENOENT || (r == 0 && too_old(&m, now_ms))) {
		r = store_remove(sessions, session, err);
		if (r == 0)
			tally->removed++;
		return r == -ENOENT ? 0 : r;
	}
	if (r < 0) {
		tally->unreadable++;
		return 0;
	}
	if (m.ended_ms == 0) {
		struct error why = {0};

		r = end_cut_off(sessions, &m, now_ms, tally, &why);
		return r < 0 ? error_set(err, r, "%s", why.text) : 0;
	}
	return 0;
}

static int
remove_probe(void *arg, const char *name, unsigned char type, struct error *err)
{
	const int *sessions = arg;

	if (strncmp(name, PROBE_PREFIX, strlen(PROBE_PREFIX)) != 0)
		return 0;
	return store_remove_tree(*sessions, name, err);
}

int
store_recover(int sessions, uint64_t now_ms, struct store_recovered *ret, struct error *err)
{
	CLEANUP(names_fini) struct names l = {0};
	struct store_recovered tally = {0};
	int r, first = 0;

	r = names_read(sessions, &l, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.n; i++) {
		struct error why = {0};

		r = recover_one(sessions, l.names[i], now_ms, &tally, &why);
		if (r < 0 && first == 0)
			first = error_set(err, r, "%s: %s", l.names[i], why.text);
	}
	if (l.probes) {
		CLEANUP(fd_closep)
		int fd = openat(sessions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		r = fd < 0 ? -errno : owner_list(fd, remove_probe, &sessions, err);
		if (r < 0 && first == 0)
			first = r;
	}
	*ret = tally;
	return first;
}

/* ---- is this file system fit for it ---- */

static int
see_type(void *arg, const char *name, unsigned char type, struct error *err)
{
	bool *known = arg;

	*known = *known || (strcmp(name, "whiteout") == 0 && type == DT_CHR);
	return 0;
}

static int
capable_in(int dir, struct error *err)
{
	CLEANUP(fd_closep) int temporary = -1;
	bool typed = false;
	int r;

	if (fsetxattr(dir, "user.overlay.opaque", "y", 1, 0) != 0)
		return error_set(err, -EOPNOTSUPP,
				 "the file system of the state directory has no user attributes on "
				 "directories (%s)",
				 strerror(errno));
	if (mknodat(dir, "whiteout", S_IFCHR | 0600, makedev(0, 0)) != 0)
		return error_set(err, -EOPNOTSUPP,
				 "the file system of the state directory cannot mark removed files "
				 "(%s)",
				 strerror(errno));
	temporary = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (temporary < 0)
		return error_set(
			err, -EOPNOTSUPP,
			"the file system of the state directory has no nameless files (%s)",
			strerror(errno));
	r = owner_list(dir, see_type, &typed, err);
	if (r < 0)
		return r;
	if (!typed)
		return error_set(
			err, -EOPNOTSUPP,
			"the file system of the state directory does not tell the types of "
			"entries (for XFS: make it with ftype=1)");
	return 0;
}

int
store_capable(int sessions, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	char name[sizeof(PROBE_PREFIX) + 16];
	uint8_t random[8];
	int r, cleared;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_sys(err, -errno, "getrandom");
	memcpy(name, PROBE_PREFIX, sizeof(PROBE_PREFIX));
	hex_encode(random, sizeof(random), name + strlen(PROBE_PREFIX));
	if (mkdirat(sessions, name, 0700) != 0)
		return error_sys(err, -errno, "make a directory among the sessions");
	dir = openat(sessions, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = dir < 0 ? error_sys(err, -errno, "open a directory among the sessions")
		    : capable_in(dir, err);
	cleared = store_remove_tree(sessions, name, r < 0 ? NULL : err);
	return r < 0 ? r : cleared;
}
