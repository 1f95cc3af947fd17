/*
 * A session's directory is made as session, layers, meta.json, and removed in the other order, so
 * that one without meta.json never holds anything of value. While a session runs its meta.json is
 * only in the page cache: nothing is kept yet. At the end of a run with changes it is replaced
 * durably. The changed files themselves are as safe from a power failure as any program's files
 * that nobody synced: syncing them would cost every run what hardly one ever needs.
 *
 * Removal and accept take a lock (flock) on the session's directory, so that they never meet.
 */
#include "box/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/accept.h"
#include "box/changes.h"
#include "box/meta.h"
#include "box/owner.h"

void
store_session_init(struct store_session *s)
{
	*s = (struct store_session){.dir = -1, .upper = -1, .work = -1};
}

void
store_session_close(struct store_session *s)
{
	fd_closep(&s->dir);
	fd_closep(&s->upper);
	fd_closep(&s->work);
}

static int
session_check(const char *session, struct error *err)
{
	uint64_t n;

	if (!session_id_parse(session, &n))
		return error_set(err, -EINVAL, "not a session");
	return 0;
}

static int
session_dir_open(int sessions, const char *session, struct error *err)
{
	int fd, r = session_check(session, err);

	if (r < 0)
		return r;
	fd = openat(sessions, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, -ENOENT, "nothing is kept of %s", session);
	if (fd < 0)
		return error_sys(err, -errno, "open what is kept of %s", session);
	return fd;
}

static int
layer_open(int dir, const char *name, struct error *err)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : error_sys(err, -errno, "open %s of the session", name);
}

/* A directory with the ids of the workspace; the mode last, since a change of owner clears bits. */
static int
layer_make(int dir, const char *name, const struct store_meta *m, mode_t mode, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	if (mkdirat(dir, name, 0700) != 0)
		return error_sys(err, -errno, "make %s of the session", name);
	fd = layer_open(dir, name, err);
	if (fd < 0)
		return fd;
	if (fchown(fd, m->uid, m->gid) != 0 || fchmod(fd, mode) != 0)
		return error_sys(err, -errno, "give %s of the session its owner", name);
	return TAKE_FD(fd);
}

static void
meta_started(struct store_meta *m, const struct timespec *t)
{
	m->started_ms = (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / 1000000;
	m->started_ns = (uint32_t)(t->tv_nsec % 1000000);
}

static int
fresh_fill(struct store_session *s, int workspace, struct error *err)
{
	struct timespec times[2];
	struct stat st;

	if (fstat(workspace, &st) != 0)
		return error_sys(err, -errno, "fstat the workspace");
	s->upper = layer_make(s->dir, "upper", &s->meta, st.st_mode & 07777, err);
	if (s->upper < 0)
		return s->upper;
	s->work = layer_make(s->dir, "work", &s->meta, 0700, err);
	if (s->work < 0)
		return s->work;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (futimens(s->upper, times) != 0 || fstat(s->upper, &st) != 0)
		return error_sys(err, -errno, "give the session's layer its times");
	/* The kernel's own stamp for a file just changed: the clock that later changes have too. */
	meta_started(&s->meta, &st.st_ctim);
	return meta_create(s->dir, &s->meta, err);
}

int
store_fresh(int sessions, const struct store_meta *meta, int workspace, struct store_session *ret,
	    struct error *err)
{
	CLEANUP(store_session_close) struct store_session s;
	int r;

	store_session_init(&s);
	s.meta = *meta;
	s.meta.ended_ms = s.meta.changes = s.meta.bytes = 0;
	r = session_check(meta->session, err);
	if (r < 0)
		return r;
	if (mkdirat(sessions, meta->session, 0700) != 0)
		return error_sys(err, -errno, "make the directory of %s", meta->session);
	s.dir = session_dir_open(sessions, meta->session, err);
	r = s.dir < 0 ? s.dir : fresh_fill(&s, workspace, err);
	if (r < 0) {
		if (store_remove_tree(sessions, meta->session, NULL) < 0)
			return error_prefix(err, "and it could not be cleared away");
		return r;
	}
	*ret = s;
	store_session_init(&s);
	return 0;
}

static int
same_workspace(int workspace, const struct store_meta *m, struct error *err)
{
	struct stat st;

	if (fstat(workspace, &st) != 0)
		return error_sys(err, -errno, "fstat the workspace");
	if (!meta_is_of(m, &st))
		return error_set(err, -ESTALE,
				 "the workspace is not the directory that %s was started on",
				 m->session);
	return 0;
}

int
store_continue(int sessions, const char *session, int workspace, struct store_session *ret,
	       struct error *err)
{
	CLEANUP(store_session_close) struct store_session s;
	int r;

	store_session_init(&s);
	s.dir = session_dir_open(sessions, session, err);
	if (s.dir < 0)
		return s.dir;
	if (accept_pending(s.dir))
		return error_set(err, -EBUSY, "an accept of %s was cut off and is not undone yet",
				 session);
	r = meta_read(s.dir, session, &s.meta, err);
	if (r == 0)
		r = same_workspace(workspace, &s.meta, err);
	if (r < 0)
		return r;
	s.upper = layer_open(s.dir, "upper", err);
	if (s.upper < 0)
		return s.upper;
	r = store_remove_tree(s.dir, "work", err);
	if (r < 0)
		return r;
	s.work = layer_make(s.dir, "work", &s.meta, 0700, err);
	if (s.work < 0)
		return s.work;
	s.meta.ended_ms = 0;
	r = meta_replace(s.dir, &s.meta, err);
	if (r < 0)
		return r;
	*ret = s;
	store_session_init(&s);
	return 0;
}

static int
any_entry(void *arg, const char *name, unsigned char type, struct error *err)
{
	return 1;
}

bool
store_untouched(const struct store_session *s, int workspace)
{
	CLEANUP(fd_closep) int fd = openat(s->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat u, l;

	return fd >= 0 && fstat(fd, &u) == 0 && fstat(workspace, &l) == 0 &&
	       ((u.st_mode ^ l.st_mode) & 01777) == 0 && owner_list(fd, any_entry, NULL, NULL) == 0;
}

static uint64_t
wall_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
count(const struct store_session *s, int workspace, uint64_t *ret_changes, uint64_t *ret_bytes)
{
	if (changes_count(s->upper, workspace, ret_changes, ret_bytes, NULL) == 0)
		return;
	/* Something is there that cannot be told, or not now: then it is kept. */
	if (changes_count(s->upper, -1, ret_changes, ret_bytes, NULL) < 0 || *ret_changes == 0)
		*ret_changes = 1;
}

static int
sync_layer(int dir, struct error *err)
{
	CLEANUP(fd_closep)
	int upper = openat(dir, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (upper < 0 || syncfs(upper) != 0)
		return error_sys(err, -errno, "sync the kept changes");
	return 0;
}

int
store_end(int sessions, struct store_session *s, int workspace, uint64_t *ret_changes,
	  bool *ret_kept, struct error *err)
{
	uint64_t changes = 0, bytes = 0;
	int r;

	if (!store_untouched(s, workspace))
		count(s, workspace, &changes, &bytes);
	if (changes == 0) {
		r = store_remove(sessions, s->meta.session, err);
		if (r < 0)
			return r;
		*ret_changes = 0;
		*ret_kept = false;
		return 0;
	}
	/* The overlay is volatile: what the command synced was not. What is kept is, from here on.
	 */
	r = sync_layer(s->dir, err);
	if (r < 0)
		return r;
	s->meta.changes = changes;
	s->meta.bytes = bytes;
	s->meta.ended_ms = wall_ms();
	r = meta_replace(s->dir, &s->meta, err);
	if (r < 0)
		return r;
	*ret_changes = changes;
	*ret_kept = true;
	return 0;
}

int
store_update(struct store_session *s, struct error *err)
{
	return meta_replace(s->dir, &s->meta, err);
}

int
store_read(int sessions, const char *session, struct store_meta *ret, struct error *err)
{
	CLEANUP(fd_closep) int dir = session_dir_open(sessions, session, err);

	return dir < 0 ? dir : meta_read(dir, session, ret, err);
}

int
store_open_kept(int sessions, const char *session, struct store_session *ret, int *ret_workspace,
		struct error *err)
{
	CLEANUP(store_session_close) struct store_session s;
	CLEANUP(fd_closep) int root = -1;
	CLEANUP(fd_closep) int workspace = -1;
	int r;

	store_session_init(&s);
	s.dir = session_dir_open(sessions, session, err);
	if (s.dir < 0)
		return s.dir;
	r = meta_read(s.dir, session, &s.meta, err);
	if (r < 0)
		return r;
	s.upper = layer_open(s.dir, "upper", err);
	if (s.upper < 0)
		return s.upper;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_sys(err, -errno, "open the root directory");
	workspace = fd_open_beneath(root, s.meta.path + 1, O_RDONLY | O_DIRECTORY, 0, NULL);
	if (workspace == -ENOENT || workspace == -ENOTDIR || workspace == -ELOOP)
		return error_set(err, -ESTALE, "the workspace of %s is not there any more",
				 session);
	if (workspace < 0)
		return error_sys(err, workspace, "open the workspace of %s", session);
	r = same_workspace(workspace, &s.meta, err);
	if (r < 0)
		return r;
	*ret = s;
	store_session_init(&s);
	*ret_workspace = TAKE_FD(workspace);
	return 0;
}

int
store_remove(int sessions, const char *session, struct error *err)
{
	CLEANUP(fd_closep) int dir = session_dir_open(sessions, session, err);
	int r;

	if (dir < 0)
		return dir;
	if (flock(dir, LOCK_EX | LOCK_NB) != 0)
		return error_set(err, -EBUSY, "%s is being accepted", session);
	if (accept_pending(dir))
		return error_set(err, -EBUSY, "an accept of %s was cut off and is not undone yet",
				 session);
	r = store_remove_tree(dir, "upper", err);
	if (r == 0)
		r = store_remove_tree(dir, "work", err);
	if (r == 0 && unlinkat(dir, META_NAME, 0) != 0 && errno != ENOENT)
		r = error_sys(err, -errno, "remove " META_NAME);
	if (r == 0)
		r = store_remove_tree(sessions, session, err);
	return r < 0 ? error_prefix(err, "remove what is kept of %s", session) : 0;
}
