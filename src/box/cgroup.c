/*
 * What both versions share: names, directories, the lock by which a living instance is known, and
 * files that are written and read back. Removal goes by name and from outside, because the one that
 * was inside has died; a directory that is still busy is left to the caller to try again.
 */
#include "box/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define INSTANCE_PREFIX "loom-"

const char *const cgroup_controller_names[CGROUP_CONTROLLERS] = {"memory", "cpu", "pids"};

int
cgroup_write(int dir, const char *file, const char *text, struct error *err)
{
	CLEANUP(fd_closep) int fd = openat(dir, file, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	size_t len = strlen(text);

	if (fd < 0)
		return error_sys(err, -errno, "open cgroup file %s", file);
	if (write(fd, text, len) != (ssize_t)len)
		return error_sys(err, errno != 0 ? -errno : -EIO, "write \"%s\" to cgroup file %s",
				 text, file);
	return 0;
}

static ssize_t
read_small(int dir, const char *file, char *buf, size_t cap)
{
	CLEANUP(fd_closep) int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

int
cgroup_read(int dir, const char *file, char *ret, size_t cap, struct error *err)
{
	ssize_t n = read_small(dir, file, ret, cap);

	if (n < 0)
		return error_sys(err, (int)n, "read cgroup file %s", file);
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

int
cgroup_number(const char *text, const char *file, uint64_t *ret, struct error *err)
{
	if (strcmp(text, "max") == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (decimal_parse(text, UINT64_MAX, ret) < 0)
		return error_set(err, -EBADMSG, "cgroup file %s says \"%s\"", file, text);
	return 0;
}

int
cgroup_read_number(int dir, const char *file, uint64_t *ret, struct error *err)
{
	char text[CGROUP_TEXT_MAX];
	int r = cgroup_read(dir, file, text, sizeof(text), err);

	return r < 0 ? r : cgroup_number(text, file, ret, err);
}

int
cgroup_read_key(int dir, const char *file, const char *key, uint64_t *ret)
{
	char text[8192];
	size_t len = strlen(key);
	ssize_t n = read_small(dir, file, text, sizeof(text));

	if (n < 0)
		return (int)n;
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, key, len) == 0 && line[len] == ' ') {
			*ret = strtoull(line + len + 1, NULL, 10);
			return 0;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return -ENOENT;
}

void
cgroups_init(struct cgroups *c)
{
	*c = (struct cgroups){0};
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		c->base[i] = c->top[i] = -1;
}

/* Make and lock the instance's directory. The lock comes after the making, so look again. */
static int
make_top(struct cgroups *c, uint32_t i, struct error *err)
{
	struct stat there, mine;

	if (mkdirat(c->base[i], c->instance, 0755) != 0)
		return error_sys(err, -errno == -EROFS ? -EOPNOTSUPP : -errno,
				 "make a cgroup beneath %s", c->path[i]);
	c->top[i] =
		openat(c->base[i], c->instance, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (c->top[i] < 0)
		return error_sys(err, -errno, "open cgroup %s", c->instance);
	if (flock(c->top[i], LOCK_EX | LOCK_NB) != 0)
		return error_sys(err, -errno, "lock cgroup %s", c->instance);
	if (fstat(c->top[i], &mine) != 0 ||
	    fstatat(c->base[i], c->instance, &there, AT_SYMLINK_NOFOLLOW) != 0 ||
	    mine.st_ino != there.st_ino)
		return error_set(err, -EAGAIN, "cgroup %s was swept away while it was made",
				 c->instance);
	return 0;
}

static int
make_tops(struct cgroups *c, struct error *err)
{
	uint32_t id;
	int r = 0;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return error_sys(err, -errno, "getrandom");
	(void)snprintf(c->instance, sizeof(c->instance), INSTANCE_PREFIX "%d-%08x", (int)getpid(),
		       id);
	for (uint32_t i = 0; i < c->n && r == 0; i++)
		r = make_top(c, i, err);
	for (uint32_t i = 0; i < c->n && r == 0; i++) {
		size_t used = strlen(c->path[i]);
		int n = snprintf(c->path[i] + used, sizeof(c->path[i]) - used, "%s%s",
				 used > 0 && c->path[i][used - 1] == '/' ? "" : "/", c->instance);

		if (n < 0 || (size_t)n >= sizeof(c->path[i]) - used)
			r = error_set(err, -ENAMETOOLONG, "the daemon's cgroup path is too long");
	}
	return r;
}

/* Does the machine swap at all? Then it must be counted, or a limit is none. */
static bool
machine_swaps(void)
{
	char text[512];
	ssize_t n = read_small(AT_FDCWD, "/proc/swaps", text, sizeof(text));
	const char *line = n > 0 ? strchr(text, '\n') : NULL;

	return n < 0 || (line != NULL && line[1] != '\0');
}

int
cgroups_open(struct cgroups *c, struct error *err)
{
	struct error v1 = {0}, v2 = {0};
	int r;

	if (cgroup_v1_find(c, &v1) == 0)
		c->ops = &cgroup_v1;
	else if (cgroup_v2_find(c, &v2) == 0)
		c->ops = &cgroup_v2;
	else
		return error_set(err, -EOPNOTSUPP, "no usable cgroups: v1: %s; v2: %s", v1.text,
				 v2.text);
	r = make_tops(c, err);
	if (r == 0)
		r = c->ops->prepare(c, err);
	if (r == 0 && !c->swap_counted && machine_swaps())
		r = error_set(err, -EOPNOTSUPP,
			      "this machine swaps and its memory controller does not count swap: "
			      "boot with swapaccount=1, or turn swap off");
	if (r < 0)
		cgroups_close(c);
	return r;
}

static void
kill_all(int dir)
{
	char text[8192];
	ssize_t n = read_small(dir, "cgroup.procs", text, sizeof(text));
	char *at = text;

	while (n > 0 && *at != '\0') {
		long pid = strtol(at, &at, 10);

		if (pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
		at += strspn(at, "\n");
	}
}

/* Remove the cgroups beneath TOP (one level is all we make), killing what is in them. */
static void
empty_top(int top)
{
	CLEANUP(fd_closep) int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;

	if (d == NULL)
		return;
	copy = -1;
	while ((e = readdir(d)) != NULL) {
		CLEANUP(fd_closep) int dir = -1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		dir = openat(top, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (dir >= 0)
			kill_all(dir);
		/* A killed process leaves its cgroup when it is reaped; its parent does that. */
		for (int tries = 0; tries < 50; tries++) {
			if (unlinkat(top, e->d_name, AT_REMOVEDIR) == 0 || errno != EBUSY)
				break;
			(void)usleep(2000);
		}
	}
	(void)closedir(d);
}

static int
sweep_base(int base, const char *own)
{
	CLEANUP(fd_closep) int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	int swept = 0;

	if (d == NULL)
		return 0;
	copy = -1;
	while ((e = readdir(d)) != NULL) {
		CLEANUP(fd_closep) int top = -1;

		if (e->d_type != DT_DIR || strcmp(e->d_name, own) == 0 ||
		    strncmp(e->d_name, INSTANCE_PREFIX, strlen(INSTANCE_PREFIX)) != 0)
			continue;
		top = openat(base, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (top < 0 || flock(top, LOCK_EX | LOCK_NB) != 0)
			continue;
		empty_top(top);
		if (unlinkat(base, e->d_name, AT_REMOVEDIR) == 0)
			swept++;
	}
	(void)closedir(d);
	return swept;
}

int
cgroups_sweep(struct cgroups *c)
{
	int swept = 0;

	for (uint32_t i = 0; i < c->n; i++)
		swept += sweep_base(c->base[i], c->instance);
	return swept;
}

void
cgroups_close(struct cgroups *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->top[i] >= 0) {
			empty_top(c->top[i]);
			(void)unlinkat(c->base[i], c->instance, AT_REMOVEDIR);
		}
		fd_closep(&c->top[i]);
		fd_closep(&c->base[i]);
	}
}

static void
session_name(uint64_t number, char out[CGROUP_NAME_MAX])
{
	(void)snprintf(out, CGROUP_NAME_MAX, "s%llu", (unsigned long long)number);
}

static int
open_files(struct cgroup *g, struct error *err)
{
	for (int i = 0; i < CGROUP_FILES_MAX; i++) {
		const struct cgroup_file *f = &g->in->ops->files[i];

		if (f->name == NULL || (f->swap && !g->in->swap_counted))
			continue;
		g->file[i] = openat(g->dir[g->in->of[f->controller]], f->name,
				    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (g->file[i] < 0)
			return error_sys(err, -errno, "open cgroup file %s", f->name);
	}
	return 0;
}

int
cgroup_make(const struct cgroups *c, uint64_t number, struct cgroup *ret, struct error *err)
{
	struct cgroup g = {.in = c};
	int r = 0;

	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		g.dir[i] = -1;
	for (int i = 0; i < CGROUP_FILES_MAX; i++)
		g.file[i] = -1;
	session_name(number, g.name);
	for (uint32_t i = 0; i < c->n && r == 0; i++) {
		if (mkdirat(c->top[i], g.name, 0755) != 0) {
			r = error_sys(err, -errno, "make cgroup %s/%s", c->path[i], g.name);
			break;
		}
		g.dir[i] =
			openat(c->top[i], g.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (g.dir[i] < 0)
			r = error_sys(err, -errno, "open cgroup %s/%s", c->path[i], g.name);
	}
	if (r == 0)
		r = open_files(&g, err);
	if (r < 0) {
		cgroup_close(&g);
		(void)cgroup_remove(c, number);
		return r;
	}
	*ret = g;
	return 0;
}

void
cgroup_close(struct cgroup *g)
{
	for (int i = 0; i < CGROUP_CONTROLLERS; i++)
		fd_closep(&g->dir[i]);
	for (int i = 0; i < CGROUP_FILES_MAX; i++)
		fd_closep(&g->file[i]);
}

int
cgroup_limit(struct cgroup *g, const struct cgroup_limits *l, struct error *err)
{
	struct cgroup_values values;
	int r;

	if (memcmp(&g->limits, l, sizeof(*l)) == 0)
		return 0;
	r = g->in->ops->limit(g, l, err);
	if (r == 0)
		r = cgroup_values(g, l, &values, err);
	if (r == 0)
		g->limits = *l;
	return r;
}

int
cgroup_values(const struct cgroup *g, const struct cgroup_limits *l, struct cgroup_values *ret,
	      struct error *err)
{
	char texts[CGROUP_FILES_MAX][CGROUP_TEXT_MAX];
	struct cgroup_values want = {0};
	int r;

	*ret = (struct cgroup_values){.version = (uint8_t)g->in->ops->version,
				      .swap_counted = g->in->swap_counted};
	for (int i = 0; i < CGROUP_FILES_MAX; i++) {
		ssize_t n =
			g->file[i] >= 0 ? pread(g->file[i], texts[i], CGROUP_TEXT_MAX - 1, 0) : 0;

		if (n < 0)
			return error_sys(err, -errno, "read cgroup file %s",
					 g->in->ops->files[i].name);
		texts[i][n] = '\0';
		texts[i][strcspn(texts[i], "\n")] = '\0';
	}
	r = g->in->ops->values(texts, ret, err);
	if (r < 0)
		return r;
	g->in->ops->expect(g, l, &want);
	if (ret->memory != want.memory)
		return error_set(err, -EBADMSG, "the memory limit reads %llu instead of %llu",
				 (unsigned long long)ret->memory, (unsigned long long)want.memory);
	if (ret->swap != want.swap)
		return error_set(err, -EBADMSG, "the swap limit reads %llu instead of %llu",
				 (unsigned long long)ret->swap, (unsigned long long)want.swap);
	if (ret->sockets != want.sockets)
		return error_set(err, -EBADMSG, "the limit of sockets reads %llu instead of %llu",
				 (unsigned long long)ret->sockets,
				 (unsigned long long)want.sockets);
	if (ret->cpu_quota != want.cpu_quota || ret->cpu_period != want.cpu_period)
		return error_set(
			err, -EBADMSG, "the cpu limit reads %llu/%llu instead of %llu/%llu",
			(unsigned long long)ret->cpu_quota, (unsigned long long)ret->cpu_period,
			(unsigned long long)want.cpu_quota, (unsigned long long)want.cpu_period);
	if (ret->pids != want.pids)
		return error_set(err, -EBADMSG, "the limit of processes reads %llu instead of %llu",
				 (unsigned long long)ret->pids, (unsigned long long)want.pids);
	return 0;
}

int
cgroup_enter(const struct cgroup *g, struct error *err)
{
	return g->in->ops->enter(g, err);
}

int
cgroup_clone_fd(const struct cgroup *g)
{
	return g->in->ops->clone_fd(g);
}

/* "12:cpu,cpuacct:/path": is NAME one of the controllers? v2: the line is "0::/path". */
static bool
line_has(const char *line, int version, const char *name)
{
	const char *list = strchr(line, ':');
	size_t len = strlen(name);

	if (list == NULL)
		return false;
	list++;
	if (version == 2)
		return strncmp(line, "0::", 3) == 0;
	while (*list != ':' && *list != '\0') {
		size_t n = strcspn(list, ",:");

		if (n == len && strncmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

int
cgroup_has(const struct cgroup *g, const char *proc_cgroup, struct error *err)
{
	char want[CGROUP_PATH_MAX + CGROUP_NAME_MAX + 1];

	for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
		const char *line = proc_cgroup, *path = NULL;

		(void)snprintf(want, sizeof(want), "%s/%s", g->in->path[g->in->of[i]], g->name);
		while (line != NULL && *line != '\0' && path == NULL) {
			if (line_has(line, g->in->ops->version, cgroup_controller_names[i]))
				path = strchr(strchr(line, ':') + 1, ':') + 1;
			line = strchr(line, '\n');
			line = line != NULL ? line + 1 : NULL;
		}
		if (path == NULL || strncmp(path, want, strlen(want)) != 0 ||
		    path[strlen(want)] != '\n')
			return error_set(err, -EBADMSG, "it is not in %s for %s", want,
					 cgroup_controller_names[i]);
	}
	return 0;
}

void
cgroup_usage(const struct cgroup *g, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){0};
	g->in->ops->usage(g, ret);
}

void
cgroup_kill(const struct cgroups *c, uint64_t number, bool everything)
{
	char name[CGROUP_NAME_MAX];
	CLEANUP(fd_closep) int dir = -1;

	session_name(number, name);
	dir = openat(c->top[c->of[CGROUP_PIDS]], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	c->ops->kill(dir);
	if (everything)
		kill_all(dir);
}

int
cgroup_remove(const struct cgroups *c, uint64_t number)
{
	char name[CGROUP_NAME_MAX];
	int r = 0;

	session_name(number, name);
	for (uint32_t i = 0; i < c->n; i++)
		if (unlinkat(c->top[i], name, AT_REMOVEDIR) != 0 && errno != ENOENT)
			r = -errno;
	return r;
}
