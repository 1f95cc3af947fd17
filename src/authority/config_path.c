/*
 * Opened before the process gives up its rights, folder by folder, each on the descriptor of the
 * one above; after that a check is one fstat for each.
 */
#include "authority/config_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

void
config_path_close(struct config_path *p)
{
	for (size_t i = 0; i < p->n; i++)
		fd_close(p->at[i].fd);
	p->n = 0;
}

static int
add_folder(struct config_path *p, int above, size_t start, size_t end, struct error *err)
{
	char name[PATH_NAME_MAX + 1];
	int fd;

	if (end - start > PATH_NAME_MAX || p->n == CONFIG_PATH_DEPTH)
		return error_set(err, -ENAMETOOLONG, "%s: too long or too deep", p->path);
	memcpy(name, p->path + start, end - start);
	name[end - start] = '\0';
	fd = openat(above, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, -errno, "open %.*s", (int)end, p->path);
	p->at[p->n].fd = fd;
	p->at[p->n].len = end;
	p->n++;
	return fd;
}

int
config_path_open(struct config_path *p, const char *path, struct error *err)
{
	CLEANUP(fd_closep) int root = -1;
	size_t len = strlen(path), start = 0;
	int above, r = 0;

	p->n = 0;
	if (path[0] != '/' || len >= sizeof(p->path))
		return error_set(err, -EINVAL, "the configuration directory is no absolute path");
	memcpy(p->path, path, len + 1);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_sys(err, -errno, "open /");
	above = root;
	while (r >= 0) {
		size_t end;

		start += strspn(path + start, "/");
		if (path[start] == '\0')
			return 0;
		end = start + strcspn(path + start, "/");
		r = above = add_folder(p, above, start, end, err);
		start = end;
	}
	/* What is not there yet cannot be written either; the folders above it can. */
	if (r == -ENOENT) {
		*err = (struct error){0};
		return 0;
	}
	config_path_close(p);
	return r;
}

static int
folder_check(const struct stat *st, const char *path, int len, bool above, uint32_t uid,
	     gid_t own_group, struct error *err)
{
	mode_t others = st->st_mode & 022;

	if (st->st_uid != 0 && st->st_uid != uid)
		return error_set(err, -EPERM,
				 "%.*s belongs to user %lu: configuration is read only from what "
				 "you or root own",
				 len, path, (unsigned long)st->st_uid);
	if (own_group != (gid_t)-1 && st->st_gid == own_group)
		others &= ~(mode_t)020;
	if (others == 0 || (above && (st->st_mode & S_ISVTX) != 0))
		return 0;
	return error_set(err, -EPERM,
			 "%.*s may be written by others (mode %04o); mend with: chmod go-w %.*s",
			 len, path, (unsigned int)st->st_mode & 07777, len, path);
}

int
config_path_check(const struct config_path *p, uint32_t uid, gid_t own_group, struct error *err)
{
	for (size_t i = 0; i < p->n; i++) {
		int len = (int)p->at[i].len, r;
		struct stat st;

		if (fstat(p->at[i].fd, &st) != 0)
			return error_sys(err, -errno, "fstat %.*s", len, p->path);
		r = folder_check(&st, p->path, len, p->path[len] != '\0', uid, own_group, err);
		if (r < 0)
			return r;
	}
	return 0;
}
