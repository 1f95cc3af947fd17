/*
 * Copies instead of binds: a handful of mounts instead of dozens, nothing that the host writes
 * there later shows, and a file that is not readable for everybody is simply not there. Links are
 * copied as they are; inside they lead to what is there, or nowhere.
 */
#include "box/rootfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define COPY_BYTES_MAX (16u << 20)
#define COPY_FILES_MAX 8192u
#define COPY_DEPTH_MAX 6u

/* Beneath /etc. Directories with what is in them. Absent ones are skipped. */
static const char *const rootfiles_list[] = {
	/* the dynamic linker and Debian's alternatives */
	"ld.so.cache",
	"ld.so.conf",
	"ld.so.conf.d",
	"alternatives",
	/* certificates of authorities; never /etc/ssl/private */
	"ssl/certs",
	"ssl/openssl.cnf",
	"ca-certificates",
	"ca-certificates.conf",
	"pki/tls/certs",
	"crypto-policies",
	/* names and numbers */
	"nsswitch.conf",
	"host.conf",
	"gai.conf",
	"protocols",
	"services",
	"rpc",
	"networks",
	"ethertypes",
	/* time, language, terminal */
	"localtime",
	"timezone",
	"locale.alias",
	"locale.conf",
	"default/locale",
	"terminfo",
	"inputrc",
	"magic",
	"magic.mime",
	"mime.types",
	/* shells */
	"profile",
	"profile.d",
	"bash.bashrc",
	"shells",
	"environment",
	/* which system this is */
	"debian_version",
	"os-release",
	"lsb-release",
	"redhat-release",
	"alpine-release",
	/* language runtimes and fonts */
	"perl",
	"python3",
	"python3.9",
	"python3.10",
	"python3.11",
	"python3.12",
	"python3.13",
	"java-11-openjdk",
	"java-17-openjdk",
	"java-21-openjdk",
	"fonts",
	"xml",
	"sgml",
	"dpkg/origins",
	"dpkg/shlibs.default",
	"dpkg/dpkg.cfg",
	"gitattributes",
	"papersize",
};

/* Their change means that copies are out of date. */
static const char *const rootfiles_watched[] = {
	"/etc/ld.so.cache", "/etc/alternatives",  "/etc/ssl/certs",
	"/etc/localtime",   "/etc/nsswitch.conf",
};

struct copying {
	uint64_t bytes;
	uint32_t files;
};

static int copy_entry(struct copying *c, int from, int to, const char *name, unsigned depth,
		      struct error *err);

static int
copy_bytes(struct copying *c, int from, int to, const char *name, const struct stat *st,
	   struct error *err)
{
	CLEANUP(fd_closep)
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	CLEANUP(fd_closep) int out = -1;
	char buf[16384];
	ssize_t n;

	if (in < 0)
		return error_sys(err, -errno, "open %s beneath /etc", name);
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     (st->st_mode & 0111) != 0 ? 0755 : 0644);
	if (out < 0)
		return error_sys(err, -errno, "copy %s beneath /etc", name);
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		int r = fd_write_all(out, buf, (size_t)n, err);

		c->bytes += (uint64_t)n;
		if (r < 0)
			return r;
		if (c->bytes > COPY_BYTES_MAX)
			return error_set(err, -EFBIG, "the files beneath /etc are too large");
	}
	return n == 0 ? 0 : error_sys(err, -errno, "read %s beneath /etc", name);
}

static int
copy_directory(struct copying *c, int from, int to, const char *name, unsigned depth,
	       struct error *err)
{
	CLEANUP(fd_closep)
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(fd_closep) int out = -1;
	const struct dirent *e;
	DIR *d;
	int r = 0;

	if (depth == COPY_DEPTH_MAX)
		return 0;
	if (in < 0)
		return error_sys(err, -errno, "open %s beneath /etc", name);
	if (mkdirat(to, name, 0755) != 0 && errno != EEXIST)
		return error_sys(err, -errno, "make %s beneath /etc", name);
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return error_sys(err, -errno, "open %s beneath /etc", name);
	d = fdopendir(in);
	if (d == NULL)
		return error_sys(err, -errno, "list %s beneath /etc", name);
	in = -1;
	while (r == 0 && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = copy_entry(c, dirfd(d), out, e->d_name, depth + 1, err);
	(void)closedir(d);
	return r;
}

static int
copy_entry(struct copying *c, int from, int to, const char *name, unsigned depth, struct error *err)
{
	char target[4096];
	struct stat st;
	ssize_t n;

	if (strcmp(name, "private") == 0)
		return 0;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0
				       : error_sys(err, -errno, "look at %s beneath /etc", name);
	if (++c->files > COPY_FILES_MAX)
		return error_set(err, -EFBIG, "there are too many files beneath /etc");
	if (S_ISDIR(st.st_mode))
		return (st.st_mode & 0005) == 0005 ? copy_directory(c, from, to, name, depth, err)
						   : 0;
	if (S_ISREG(st.st_mode))
		return (st.st_mode & 0004) != 0 ? copy_bytes(c, from, to, name, &st, err) : 0;
	if (!S_ISLNK(st.st_mode))
		return 0;
	n = readlinkat(from, name, target, sizeof(target) - 1);
	if (n < 0)
		return error_sys(err, -errno, "read the link %s beneath /etc", name);
	target[n] = '\0';
	return symlinkat(target, to, name) == 0
		       ? 0
		       : error_sys(err, -errno, "copy the link %s beneath /etc", name);
}

/* "ssl/certs": the directories above are made; each must be a directory of the host, no link. */
static int
copy_listed(struct copying *c, int host_etc, int etc, const char *path, struct error *err)
{
	CLEANUP(fd_closep) int from = dup(host_etc);
	CLEANUP(fd_closep) int to = dup(etc);
	char part[64];

	for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		int next;

		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		next = openat(from, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return 0;
		fd_closep(&from);
		from = next;
		if (mkdirat(to, part, 0755) != 0 && errno != EEXIST)
			return error_sys(err, -errno, "make %s beneath /etc", part);
		next = openat(to, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return error_sys(err, -errno, "open %s beneath /etc", part);
		fd_closep(&to);
		to = next;
	}
	return copy_entry(c, from, to, path, 0, err);
}

int
rootfiles_copy(int host, int root, struct error *err)
{
	CLEANUP(fd_closep) int from = openat(host, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_closep) int to = openat(root, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct copying c = {0};
	int r = 0;

	if (from < 0 || to < 0)
		return error_sys(err, -errno, "open /etc");
	for (size_t i = 0; i < ARRAY_LEN(rootfiles_list) && r == 0; i++)
		r = copy_listed(&c, from, to, rootfiles_list[i], err);
	return r;
}

static bool
watch_one(const char *path, uint64_t *ino, int64_t *sec, uint32_t *nsec)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return false;
	*ino = st.st_ino;
	*sec = st.st_ctim.tv_sec;
	*nsec = (uint32_t)st.st_ctim.tv_nsec;
	return true;
}

void
rootfiles_watch(struct root *r)
{
	_Static_assert(ARRAY_LEN(rootfiles_watched) <= ROOT_WATCHED_MAX, "room for all");
	for (size_t i = 0; i < ARRAY_LEN(rootfiles_watched); i++)
		if (!watch_one(rootfiles_watched[i], &r->watched[i].ino, &r->watched[i].sec,
			       &r->watched[i].nsec))
			r->watched[i].ino = 0;
	r->n_watched = ARRAY_LEN(rootfiles_watched);
}

bool
root_stale(const struct root *r)
{
	struct root now = {0};

	rootfiles_watch(&now);
	return memcmp(now.watched, r->watched, sizeof(now.watched)) != 0;
}
