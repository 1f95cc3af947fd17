/*
 * The chain of each directory above one of ours is walked anew at each question: it costs a few
 * microseconds, and a directory may have been moved since. Links on the way of a path are followed
 * by hand, because the directory a link lies in is as good as the place: who may replace the link
 * decides where the next start looks.
 */
#include "box/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define LINKS_MAX 40 /* as the kernel's */

static struct {
	int fds[OWN_MAX];
	const char *paths[OWN_MAX];
	size_t n_fds, n_paths;
} own;

/* The question, and what came of it so far. */
struct question {
	const struct object *chain;
	int n;
	const struct where *w;
	struct object *scratch; /* WHERE_LEVELS_MAX */
	enum own_answer answer;
};

int
own_add_fd(int fd, struct error *err)
{
	if (own.n_fds == OWN_MAX)
		return error_set(err, -E2BIG, "too many directories of Loom's own");
	own.fds[own.n_fds++] = fd;
	return 0;
}

int
own_add_path(const char *path, struct error *err)
{
	int r = path_absolute_check(path, err);

	if (r < 0)
		return r;
	if (own.n_paths == OWN_MAX)
		return error_set(err, -E2BIG, "too many directories of Loom's own");
	own.paths[own.n_paths++] = path;
	return 0;
}

void
own_forget(void)
{
	own.n_fds = own.n_paths = 0;
}

/* By objects. FROM is 1 when chain[0] of ours is itself only something above the place. */
static enum own_answer
compare_chains(const struct question *q, int n, bool above)
{
	for (int i = 0; !above && i < q->n; i++)
		if (object_is(&q->chain[i], &q->scratch[0]))
			return i == 0 ? OWN_IS : OWN_BENEATH;
	/* The root contains everything; it has a rule of its own. */
	for (int i = above ? 0 : 1; i < n - 1; i++)
		if (object_is(&q->chain[0], &q->scratch[i]))
			return OWN_CONTAINS;
	return OWN_APART;
}

static enum own_answer
compare_where(const struct question *q, const struct where *ours, bool above)
{
	if (!above && where_same(q->w, ours))
		return OWN_IS;
	if (!above && where_beneath(q->w, ours))
		return OWN_BENEATH;
	return where_beneath(ours, q->w) ? OWN_CONTAINS : OWN_APART;
}

/* FD is one of ours, or ABOVE: a directory that the place lies, or would lie, beneath. */
static int
ask(struct question *q, int fd, bool above, struct error *err)
{
	CLEANUP(where_fini) struct where ours = {0};
	int n, r = 0;

	if (q->answer != OWN_APART)
		return 0;
	n = where_chain(fd, q->scratch, err);
	if (n < 0)
		return error_prefix(err, "a directory of Loom's own");
	q->answer = compare_chains(q, n, above);
	if (q->answer == OWN_APART && q->w->inside != NULL && n > 1)
		r = where_find(fd, &ours, err);
	if (r == -EXDEV)
		r = 0; /* deleted, or hidden by a mount: nothing leads to it */
	if (r == 0 && q->answer == OWN_APART)
		q->answer = compare_where(q, &ours, above);
	return r;
}

/* TARGET instead of the first component of REST, whose end is at AFTER. */
static int
follow_link(char rest[PATH_BYTES_MAX], const char *after, const char *target, struct error *err)
{
	char copy[PATH_BYTES_MAX];
	int n = snprintf(copy, sizeof(copy), "%s%s", target, after);

	if (n < 0 || n >= PATH_BYTES_MAX)
		return error_set(err, -ENAMETOOLONG, "the path is too long");
	memcpy(rest, copy, (size_t)n + 1);
	return 0;
}

/*
 * Go one component of REST further from *AT. Returns 1 when that was done, 0 when there is nothing
 * of that name yet. At a link, REST becomes what it leads to and *AT the root if that is absolute;
 * *RET_LINK tells of it.
 */
static int
step(int *at, char rest[PATH_BYTES_MAX], bool *ret_link, struct error *err)
{
	size_t skip = strspn(rest, "/"), len = strcspn(rest + skip, "/");
	char name[PATH_NAME_MAX + 1], target[PATH_BYTES_MAX];
	ssize_t n;
	int next;

	if (len > PATH_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "a name in the path is too long");
	memcpy(name, rest + skip, len);
	name[len] = '\0';
	n = readlinkat(*at, name, target, sizeof(target) - 1);
	*ret_link = n >= 0;
	if (n >= 0) {
		int r;

		target[n] = '\0';
		r = follow_link(rest, rest + skip + len, target, err);
		if (r < 0 || target[0] != '/')
			return r < 0 ? r : 1;
		next = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else {
		next = openat(*at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 && (errno == ENOENT || errno == ENOTDIR))
			return 0;
		for (size_t i = 0; (rest[i] = rest[skip + len + i]) != '\0';)
			i++;
	}
	if (next < 0)
		return error_sys(err, -errno, "open %s", name);
	fd_close(*at);
	*at = next;
	return 1;
}

static int
ask_path(struct question *q, const char *path, struct error *err)
{
	CLEANUP(fd_closep) int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char rest[PATH_BYTES_MAX];
	bool there = true;
	int links = 0, r = 0;

	if (at < 0)
		return error_sys(err, -errno, "open /");
	(void)snprintf(rest, sizeof(rest), "%s", path);
	while (q->answer == OWN_APART && there && rest[strspn(rest, "/")] != '\0') {
		CLEANUP(fd_closep) int before = fcntl(at, F_DUPFD_CLOEXEC, 0);
		bool link = false;

		if (before < 0)
			return error_sys(err, -errno, "duplicate a descriptor");
		r = step(&at, rest, &link, err);
		if (r == 1 && link)
			r = ++links > LINKS_MAX ? error_set(err, -ELOOP, "too many links")
						: ask(q, before, true, err);
		else
			there = r != 0;
		if (r < 0)
			return error_prefix(err, "%s", path);
	}
	return ask(q, at, !there, err);
}

/* The sessions lie in the state directory. */
static int
ask_parent(struct question *q, int fd, struct error *err)
{
	CLEANUP(fd_closep) int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return up >= 0 ? ask(q, up, false, err)
		       : error_sys(err, -errno, "look above a directory of Loom's own");
}

int
own_judge(const struct object *chain, int n, const struct where *w, const int *more, size_t n_more,
	  enum own_answer *ret, struct error *err)
{
	struct question q = {.chain = chain, .n = n, .w = w};
	int r = 0;

	q.scratch = malloc(WHERE_LEVELS_MAX * sizeof(*q.scratch));
	if (q.scratch == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n_more; i++)
		r = ask(&q, more[i], false, err);
	if (r == 0 && n_more > 0)
		r = ask_parent(&q, more[0], err);
	for (size_t i = 0; r == 0 && i < own.n_fds; i++)
		r = ask(&q, own.fds[i], false, err);
	for (size_t i = 0; r == 0 && i < own.n_paths; i++)
		r = ask_path(&q, own.paths[i], err);
	free(q.scratch);
	if (r == 0)
		*ret = q.answer;
	return r;
}
