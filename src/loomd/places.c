/*
 * Directories are walked component by component on descriptors, so that a parent which is missing
 * can be made and the last one, which is ours, is judged on what was opened, not on its name.
 */
#include "loomd/places.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define PARENT_MODE 0700 /* XDG base directory specification: what is missing is made so */

void
places_init(struct places *p)
{
	*p = (struct places){
		.state = -1,
		.run = -1,
		.ledger = -1,
		.sessions = -1,
		.views = -1,
		.config = -1,
		.run_lock = -1,
		.state_lock = -1,
		.own_group = (gid_t)-1,
	};
}

void
places_fini(struct places *p)
{
	fd_closep(&p->state);
	fd_closep(&p->run);
	fd_closep(&p->ledger);
	fd_closep(&p->sessions);
	fd_closep(&p->views);
	fd_closep(&p->config);
	fd_closep(&p->run_lock);
	fd_closep(&p->state_lock);
}

/* Take the next component of *REST into NAME; false at the end. */
static bool
next_component(const char **rest, char name[PATH_NAME_MAX + 1])
{
	const char *start = *rest + strspn(*rest, "/");
	size_t len = strcspn(start, "/");

	if (len == 0 || len > PATH_NAME_MAX)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	*rest = start + len;
	return true;
}

static bool
path_at_end(const char *rest)
{
	return rest[strspn(rest, "/")] == '\0';
}

static int
path_check(const char *what, const char *path, struct error *err)
{
	int r;

	r = path_absolute_check(path, err);
	if (r < 0)
		return error_prefix(err, "%s directory %s", what, path);
	if (path[1] == '\0' || strlen(path) >= PATH_BYTES_MAX)
		return error_set(err, -EINVAL, "%s directory %.64s: not one of its own", what,
				 path);
	return 0;
}

/* Open PATH, making what is missing above it; the last component is ours. */
static int
place_open(const char *what, const char *path, struct error *err)
{
	CLEANUP(fd_closep) int at = -1;
	char name[PATH_NAME_MAX + 1];
	const char *rest = path;
	int r;

	r = path_check(what, path, err);
	if (r < 0)
		return r;
	at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return error_sys(err, -errno, "open /");
	while (next_component(&rest, name)) {
		int next;

		if (path_at_end(rest)) {
			r = fd_open_private_dir(at, name, err);
			return r < 0 ? error_prefix(err, "%s directory %s", what, path) : r;
		}
		if (mkdirat(at, name, PARENT_MODE) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "%s directory %s: create %s", what, path,
					 name);
		next = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0)
			return error_sys(err, -errno, "%s directory %s: open %s", what, path, name);
		fd_closep(&at);
		at = next;
	}
	return error_set(err, -ENAMETOOLONG, "%s directory %s: a name in it is too long", what,
			 path);
}

/*
 * Debian gives every user a group of their own name. Such a group, with nobody else in it, is no
 * other: its right to write is the owner's.
 */
static gid_t
own_group(void)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group;
	gid_t gid;

	if (user == NULL)
		return (gid_t)-1;
	gid = user->pw_gid;
	group = getgrgid(gid);
	user = getpwuid(geteuid());
	if (group == NULL || user == NULL || strcmp(group->gr_name, user->pw_name) != 0)
		return (gid_t)-1;
	for (char **member = group->gr_mem; *member != NULL; member++)
		if (strcmp(*member, user->pw_name) != 0)
			return (gid_t)-1;
	return gid;
}

/*
 * 0 with *RET_DIR -1 when there is no such directory. Who may write it is the authority's to judge,
 * at each run, so that what stands against it is told to who asks, and recorded.
 */
static int
config_open(const char *path, int *ret_dir, struct error *err)
{
	CLEANUP(fd_closep) int at = -1;
	char name[PATH_NAME_MAX + 1], so_far[PATH_BYTES_MAX];
	const char *rest = path;
	int r;

	r = path_check("configuration", path, err);
	if (r < 0)
		return r;
	at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return error_sys(err, -errno, "open /");
	while (next_component(&rest, name)) {
		bool last = path_at_end(rest);
		int next;

		memcpy(so_far, path, (size_t)(rest - path));
		so_far[rest - path] = '\0';
		next = openat(at, name,
			      (last ? O_RDONLY | O_NOFOLLOW : O_PATH) | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 && errno == ENOENT) {
			*ret_dir = -1;
			return 0;
		}
		if (next < 0)
			return error_sys(err, -errno, "open %s", so_far);
		fd_closep(&at);
		at = next;
	}
	if (!path_at_end(rest))
		return error_set(err, -ENAMETOOLONG, "%s: a name in it is too long", path);
	*ret_dir = TAKE_FD(at);
	return 0;
}

int
places_open(struct places *p, const struct places_spec *spec, struct error *err)
{
	const struct {
		const char *name;
		int *fd;
	} parts[] = {{"ledger", &p->ledger}, {"sessions", &p->sessions}, {"views", &p->views}};

	p->state = place_open("state", spec->state, err);
	if (p->state < 0)
		return p->state;
	p->run = place_open("run", spec->run, err);
	if (p->run < 0)
		return p->run;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		*parts[i].fd = fd_open_private_dir(p->state, parts[i].name, err);
		if (*parts[i].fd < 0)
			return error_prefix(err, "state directory %s", spec->state);
	}
	p->own_group = own_group();
	return spec->config != NULL ? config_open(spec->config, &p->config, err) : 0;
}

static int
lock_take(int dir, int *ret_lock, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;

	fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_sys(err, -errno, "open the lock");
	/* A lock of the open file: no child inherits it, and no other descriptor can drop it. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return error_sys(err, -errno, "lock");
	*ret_lock = TAKE_FD(fd);
	return 0;
}

int
places_lock(struct places *p, struct error *err)
{
	int r;

	r = lock_take(p->run, &p->run_lock, err);
	if (r < 0)
		return r;
	r = lock_take(p->state, &p->state_lock, err);
	if (r == 0)
		return 0;
	fd_closep(&p->run_lock);
	return r == -EWOULDBLOCK ? -EBUSY : r;
}
