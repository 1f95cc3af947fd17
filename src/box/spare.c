/*
 * The names start with a dot, so that they are never taken for a session's. Nothing here is synced:
 * until a run has ended with changes there is nothing to lose (store.h).
 */
#include "box/spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/meta.h"

#define SPARE_PREFIX ".spare-"
#define GONE_PREFIX ".gone-"

void
spare_for_stat(const struct stat *workspace, struct spare_for *ret)
{
	*ret = (struct spare_for){.dev = workspace->st_dev,
				  .ino = workspace->st_ino,
				  .uid = workspace->st_uid,
				  .gid = workspace->st_gid,
				  .mode = workspace->st_mode & 07777};
}

bool
spare_for_same(const struct spare_for *a, const struct spare_for *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void
spare_name(uint64_t number, char out[SPARE_NAME_MAX])
{
	(void)snprintf(out, SPARE_NAME_MAX, SPARE_PREFIX "%llu", (unsigned long long)number);
}

static int
open_layer(int dir, const char *name, struct error *err)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : error_sys(err, -errno, "open %s of the session", name);
}

/* The mode last, since a change of owner clears bits of it. */
static int
make_layer(int dir, const char *name, const struct spare_for *what, mode_t mode, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	if (mkdirat(dir, name, 0700) != 0)
		return error_sys(err, -errno, "make %s of a session", name);
	fd = open_layer(dir, name, err);
	if (fd < 0)
		return fd;
	if (fchown(fd, what->uid, what->gid) != 0 || fchmod(fd, mode) != 0)
		return error_sys(err, -errno, "give %s of a session its owner", name);
	return 0;
}

int
spare_make(int sessions, uint64_t number, const struct spare_for *what, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	char name[SPARE_NAME_MAX];
	int r;

	spare_name(number, name);
	if (mkdirat(sessions, name, 0711) != 0)
		return error_sys(err, -errno, "make spare layers");
	dir = open_layer(sessions, name, err);
	r = dir < 0 ? dir : 0;
	if (r == 0 && fchmod(dir, 0711) != 0)
		r = error_sys(err, -errno, "open spare layers to the session");
	if (r == 0)
		r = make_layer(dir, "upper", what, what->mode, err);
	if (r == 0)
		r = make_layer(dir, "work", what, 0700, err);
	return r == 0 ? TAKE_FD(dir) : r;
}

int
spare_adopt(int sessions, uint64_t number, const struct store_meta *meta, struct store_session *ret,
	    struct error *err)
{
	CLEANUP(store_session_close) struct store_session s;
	char name[SPARE_NAME_MAX];

	store_session_init(&s);
	s.meta = *meta;
	s.meta.ended_ms = s.meta.changes = s.meta.bytes = 0;
	spare_name(number, name);
	if (renameat2(sessions, name, sessions, meta->session, RENAME_NOREPLACE) != 0)
		return error_sys(err, -errno, "make the directory of %s", meta->session);
	s.dir = open_layer(sessions, meta->session, err);
	if (s.dir >= 0)
		s.upper = open_layer(s.dir, "upper", err);
	if (s.upper >= 0)
		s.work = open_layer(s.dir, "work", err);
	if (s.work < 0)
		return err->code;
	*ret = s;
	store_session_init(&s);
	return 0;
}

int
spare_settle(struct store_session *s, int workspace, struct error *err)
{
	struct timespec times[2];
	struct stat st;

	if (fstat(workspace, &st) != 0)
		return error_sys(err, -errno, "fstat the workspace");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (futimens(s->upper, times) != 0 || fstat(s->upper, &st) != 0)
		return error_sys(err, -errno, "give the session's layer its times");
	/* As store_fresh does it: the kernel's own stamp for a file just changed. */
	s->meta.started_ms =
		(uint64_t)st.st_ctim.tv_sec * 1000 + (uint64_t)st.st_ctim.tv_nsec / 1000000;
	s->meta.started_ns = (uint32_t)(st.st_ctim.tv_nsec % 1000000);
	return meta_create(s->dir, &s->meta, err);
}

int
spare_bury(int sessions, const char *session, char ret_name[SPARE_NAME_MAX], struct error *err)
{
	(void)snprintf(ret_name, SPARE_NAME_MAX, GONE_PREFIX "%.22s", session);
	if (renameat2(sessions, session, sessions, ret_name, RENAME_NOREPLACE) != 0)
		return error_sys(err, -errno, "remove the layers of %s", session);
	return 0;
}

int
spare_remove(int sessions, const char *name, struct error *err)
{
	if (strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)) != 0 &&
	    strncmp(name, GONE_PREFIX, strlen(GONE_PREFIX)) != 0)
		return error_set(err, -EINVAL, "these are no spare layers");
	return store_remove_tree(sessions, name, err);
}

void
spare_sweep(int sessions)
{
	CLEANUP(fd_closep) int copy = openat(sessions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;

	if (d == NULL)
		return;
	copy = -1;
	while ((e = readdir(d)) != NULL) {
		struct error err = {0};

		if (e->d_name[0] == '.' && e->d_name[1] != '\0')
			(void)!spare_remove(sessions, e->d_name, &err);
	}
	(void)closedir(d);
}
