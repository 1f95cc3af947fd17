/*
 * Four looks, one after the other: streams, workspace, arguments, variables; the first thing that
 * stands against it ends them. A look fills its part of the facts and returns R_ALLOWED, or says
 * why not. What the client can change while it is looked at is read once, or sealed.
 */
#include "box/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "box/changes.h"
#include "box/mount_table.h"
#include "box/places.h"
#include "model/field.h"

#define ARGUMENT_MAX (128 * 1024 - 1) /* bytes; the kernel's MAX_ARG_STRLEN with its NUL */
#define DELETED " (deleted)"

#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC 0x2011BAB0UL
#endif

struct look {
	const struct examine_in *in;
	struct exec_facts *facts;
	char *detail;
};

static enum reason against(struct look *l, enum reason why, const char *fmt, ...) PRINTF(3, 4);

/* The sentence against it. What goes in is escaped already. */
static enum reason
against(struct look *l, enum reason why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(l->detail, VERDICT_DETAIL_MAX, fmt, ap);
	va_end(ap);
	return why;
}

static enum reason
failed(struct look *l, const char *what, const struct error *err)
{
	return against(l, R_INTERNAL, "%s: %.180s", what, err->text);
}

/* BYTES as facts have them: the escaped form of base/json.h. */
static int
escaped_copy(const char *bytes, size_t len, char *out, size_t cap)
{
	CLEANUP(json_decrefp) json_t *v = json_escaped(bytes, len);

	if (v == NULL)
		return -ENOMEM;
	if (json_string_length(v) >= cap)
		return -EMSGSIZE;
	memcpy(out, json_string_value(v), json_string_length(v) + 1);
	return 0;
}

/* File systems that are the kernel's or a manager's, not somebody's files. */
static const struct {
	unsigned long magic;
	const char *name;
} no_file_systems[] = {
	{PROC_SUPER_MAGIC, "procfs"},
	{SYSFS_MAGIC, "sysfs"},
	{CGROUP_SUPER_MAGIC, "cgroup"},
	{CGROUP2_SUPER_MAGIC, "cgroup2"},
	{DEVPTS_SUPER_MAGIC, "devpts"},
	{DEBUGFS_MAGIC, "debugfs"},
	{TRACEFS_MAGIC, "tracefs"},
	{SECURITYFS_MAGIC, "securityfs"},
	{SELINUX_MAGIC, "selinuxfs"},
	{BPF_FS_MAGIC, "bpf"},
	{PSTOREFS_MAGIC, "pstore"},
	{EFIVARFS_MAGIC, "efivarfs"},
	{BINFMTFS_MAGIC, "binfmt_misc"},
	{NSFS_MAGIC, "nsfs"},
	{HUGETLBFS_MAGIC, "hugetlbfs"},
	{RDTGROUP_SUPER_MAGIC, "resctrl"},
	{0x62656570UL, "configfs"},
	{0x19800202UL, "mqueue"},
	{0x65735543UL, "fusectl"},
	{0x67596969UL, "rpc_pipefs"},
	{0x0187UL, "autofs"},
	{0x6c6f6f70UL, "binderfs"},
	{0x50494446UL, "pidfs"},
	{0x6e667364UL, "nfsd"},
	{0x43415d53UL, "smackfs"},
	{0x5a3c69f0UL, "apparmorfs"},
	{0x0a647361UL, "functionfs"},
	{0xaee71ee7UL, "gadgetfs"},
	{0xabba1974UL, "xenfs"},
	{0x444d4142UL, "dma-buf"},
	{0x5345434dUL, "secretmem"},
	{ANON_INODE_FS_MAGIC, "anon_inode"},
};

/* The name of the file system when it is such a one. */
static const char *
no_file_system(unsigned long magic)
{
	for (size_t i = 0; i < ARRAY_LEN(no_file_systems); i++)
		if (no_file_systems[i].magic == magic)
			return no_file_systems[i].name;
	return NULL;
}

/* ---- streams ---- */

/*
 * A stream is read and written by processes of root's, so what looks at who reads or writes it (the
 * kernel's files, netlink, datagrams with credentials) may not be one. Allowed is what is known to
 * be harmless, and that is little.
 */
#define DEVICE_ANY UINT32_MAX

static const struct {
	unsigned int major;
	uint32_t minor;
} stream_devices[] = {
	{1, 3},
	{1, 5},
	{1, 7},
	{1, 8},
	{1, 9}, /* null, zero, full, random, urandom */
	{5, 0},
	{5, 1}, /* tty, console; not 5:2, ptmx */
	{3, DEVICE_ANY},
	{4, DEVICE_ANY}, /* old pseudo terminals; tty1 …, ttyS0 … */
	{136, DEVICE_ANY},
	{137, DEVICE_ANY},
	{138, DEVICE_ANY},
	{139, DEVICE_ANY}, /* pts */
	{140, DEVICE_ANY},
	{141, DEVICE_ANY},
	{142, DEVICE_ANY},
	{143, DEVICE_ANY},
	{166, DEVICE_ANY},
	{188, DEVICE_ANY}, /* ttyACM, ttyUSB */
	{204, DEVICE_ANY},
	{229, DEVICE_ANY}, /* ttyAMA …, hvc */
};

static bool
stream_device(dev_t device)
{
	for (size_t i = 0; i < ARRAY_LEN(stream_devices); i++)
		if (major(device) == stream_devices[i].major &&
		    (stream_devices[i].minor == DEVICE_ANY ||
		     minor(device) == stream_devices[i].minor))
			return true;
	return false;
}

static int
socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

/* What is wrong with a socket as a stream; NULL: nothing. */
static const char *
socket_refused(int fd)
{
	const int domain = socket_option(fd, SO_DOMAIN);
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	if (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6)
		return "a socket that is neither a Unix nor a TCP one";
	if (socket_option(fd, SO_TYPE) != SOCK_STREAM ||
	    (domain != AF_UNIX && socket_option(fd, SO_PROTOCOL) != IPPROTO_TCP))
		return "a socket, but no stream socket";
	if (socket_option(fd, SO_ACCEPTCONN) != 0)
		return "a listening socket";
	if (getpeername(fd, (struct sockaddr *)&peer, &len) != 0)
		return "a socket that is not connected";
	return NULL;
}

static const char *
stream_refused(int fd, const struct stat *st)
{
	struct statfs sfs;

	switch (st->st_mode & S_IFMT) {
	case S_IFIFO:
		return NULL;
	case S_IFREG:
		if (fstatfs(fd, &sfs) != 0)
			return "a file whose file system cannot be told";
		return no_file_system((unsigned long)sfs.f_type) != NULL
			       ? "a file of the kernel's (procfs, sysfs and their like)"
			       : NULL;
	case S_IFCHR:
		return stream_device(st->st_rdev)
			       ? NULL
			       : "a device other than a terminal, null, zero, full or random";
	case S_IFSOCK:
		return socket_refused(fd);
	case S_IFDIR:
		return "a directory";
	case S_IFBLK:
		return "a block device";
	default:
		return "no pipe, file, terminal or socket, but an object of the kernel's (epoll, "
		       "pidfd and their like)";
	}
}

static enum reason
look_stream(struct look *l, int i)
{
	static const char *const names[] = {"standard input", "standard output", "standard error"};
	int fd = l->in->streams[i], flags = fcntl(fd, F_GETFL);
	int mode = flags & O_ACCMODE;
	const char *refused;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) != 0)
		return against(l, R_INVALID_ARGUMENT, "%s is not open", names[i]);
	if ((flags & O_PATH) != 0)
		return against(l, R_INVALID_ARGUMENT, "%s is only a path (O_PATH)", names[i]);
	refused = stream_refused(fd, &st);
	if (refused != NULL)
		return against(l, R_INVALID_ARGUMENT, "%s is %s", names[i], refused);
	if (i == 0 ? mode == O_WRONLY : mode == O_RDONLY)
		return against(l, R_INVALID_ARGUMENT, "%s is not open for %s", names[i],
			       i == 0 ? "reading" : "writing");
	return R_ALLOWED;
}

/* ---- the workspace ---- */

static enum reason
look_file_system(struct look *l)
{
	const char *name;
	struct statfs sfs;

	if (fstatfs(l->in->workspace, &sfs) != 0)
		return against(l, R_INVALID_PATH, "the workspace cannot be looked at: %s",
			       strerror(errno));
	name = no_file_system((unsigned long)sfs.f_type);
	if (name != NULL)
		return against(l, R_INVALID_PATH,
			       "the workspace lies in a %s file system, which holds no files of "
			       "anyone's",
			       name);
	return R_ALLOWED;
}

static int
mount_id_of(int fd, uint64_t *ret)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) != 0)
		return -errno;
	if ((stx.stx_mask & STATX_MNT_ID) == 0)
		return -EOPNOTSUPP;
	*ret = stx.stx_mnt_id;
	return 0;
}

/* The path of the descriptor as this process sees it. */
static enum reason
look_path(struct look *l, char path[PATH_BYTES_MAX])
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", l->in->workspace);
	n = readlink(link, path, PATH_BYTES_MAX);
	if (n < 0)
		return against(l, R_INTERNAL, "the path of the workspace cannot be read: %s",
			       strerror(errno));
	if (n >= PATH_BYTES_MAX)
		return against(l, R_INVALID_PATH, "the path of the workspace is too long");
	path[n] = '\0';
	if (path[0] != '/')
		return against(l, R_INVALID_PATH, "the workspace has no path here");
	return R_ALLOWED;
}

/*
 * The path has to lead to the same object on the same mount: else it is deleted, hidden beneath
 * another mount, or of another mount namespace, and could not be found again.
 */
static enum reason
look_reachable(struct look *l, const char *path, const struct stat *st, uint64_t mount_id)
{
	CLEANUP(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd_closep) int again = -1;
	uint64_t id;
	struct stat now;
	size_t len = strlen(path), cut = strlen(DELETED);

	if (path[1] != '\0')
		again = fd_open_beneath(root, path + 1, O_PATH | O_DIRECTORY, 0, NULL);
	if (again >= 0 && fstat(again, &now) == 0 && now.st_dev == st->st_dev &&
	    now.st_ino == st->st_ino && mount_id_of(again, &id) == 0 && id == mount_id)
		return R_ALLOWED;
	if (st->st_nlink == 0 || (len > cut && strcmp(path + len - cut, DELETED) == 0))
		return against(l, R_INVALID_PATH, "the workspace was deleted");
	return against(
		l, R_INVALID_PATH,
		"the workspace cannot be reached by its path (hidden by a mount, or in another "
		"mount namespace)");
}

static enum reason
look_mounts(struct look *l, const char *path, uint64_t mount_id)
{
	struct mount_facts f;
	struct error err = {0};
	char shown[CHANGE_SHOWN_MAX];

	if (mount_table_look(mount_id, path, &f, &err) < 0)
		return failed(l, "mounts", &err);
	if (!f.found)
		return against(l, R_INVALID_PATH, "the workspace is in another mount namespace");
	if (f.beneath) {
		change_show(f.beneath_at, shown);
		return against(l, R_INVALID_PATH, "the workspace contains a mount at %s", shown);
	}
	memcpy(l->facts->workspace.fs, f.fs, sizeof(l->facts->workspace.fs));
	return R_ALLOWED;
}

static enum reason
look_place(struct look *l)
{
	const char *why;
	struct error err = {0};

	if (places_judge(l->in->workspace, l->in->ours, l->in->n_ours, &why, &err) < 0)
		return failed(l, "where the workspace lies", &err);
	if (why != NULL)
		return against(l, R_INVALID_PATH,
			       "the workspace %.160s; use a directory of its own", why);
	return R_ALLOWED;
}

static enum reason
look_workspace_objects(struct look *l, const struct stat *st)
{
	char path[PATH_BYTES_MAX];
	uint64_t mount_id;
	enum reason r = look_path(l, path);

	if (r == R_ALLOWED && mount_id_of(l->in->workspace, &mount_id) < 0)
		r = against(l, R_INTERNAL, "this kernel does not tell the mount of a directory");
	if (r == R_ALLOWED)
		r = look_file_system(l);
	if (r == R_ALLOWED)
		r = look_place(l);
	if (r == R_ALLOWED)
		r = look_reachable(l, path, st, mount_id);
	if (r == R_ALLOWED)
		r = look_mounts(l, path, mount_id);
	if (r == R_ALLOWED && escaped_copy(path, strlen(path), l->facts->workspace.path,
					   sizeof(l->facts->workspace.path)) < 0)
		r = against(l, R_INVALID_PATH, "the path of the workspace is too long");
	return r;
}

static enum reason
look_workspace(struct look *l)
{
	struct workspace_facts *w = &l->facts->workspace;
	struct stat st;

	if (fstat(l->in->workspace, &st) != 0)
		return against(l, R_INVALID_PATH, "the workspace is not open");
	if (!S_ISDIR(st.st_mode))
		return against(l, R_INVALID_PATH, "the workspace is not a directory");
	w->dev_major = major(st.st_dev);
	w->dev_minor = minor(st.st_dev);
	w->ino = st.st_ino;
	w->uid = st.st_uid;
	w->gid = st.st_gid;
	return look_workspace_objects(l, &st);
}

static enum reason
look_cwd(struct look *l)
{
	struct error err = {0};

	if (path_relative(l->in->cwd, l->in->cwd_len, true, l->facts->cwd, &err) < 0)
		return against(l, R_INVALID_PATH, "the working directory: %.160s", err.text);
	return R_ALLOWED;
}

/* ---- arguments and variables ---- */

static enum reason
read_blob(struct look *l, int fd, size_t max, const char *what, struct buf *out)
{
	struct error err = {0};
	int r;

	buf_init(out, max);
	r = fd_memfd_read(fd, out, &err);
	if (r == -EMSGSIZE)
		return against(l, R_LIMIT_EXCEEDED, "%s are more than %zu bytes", what, max);
	if (r == -EPERM || r == -EBADF)
		return against(l, R_INVALID_REQUEST, "%s: %.160s", what, err.text);
	if (r < 0)
		return failed(l, what, &err);
	if (out->len < ARGS_SALT_LEN)
		return against(l, R_INVALID_REQUEST, "%s have no salt", what);
	if (out->len > ARGS_SALT_LEN && out->data[out->len - 1] != '\0')
		return against(l, R_INVALID_REQUEST, "the last of %s does not end", what);
	return R_ALLOWED;
}

/*
 * Does PATH, taken from the directory CWD of the workspace, come to lie beneath /proc by its text?
 * Links inside are the walls' to deal with; this only refuses what asks for it by name.
 */
static bool
names_proc(const char *path, const char *cwd)
{
	char joined[2 * PATH_BYTES_MAX + 16];
	const char *parts[PATH_BYTES_MAX];
	size_t n = 0;
	char *save = NULL;

	if (strchr(path, '/') == NULL)
		return false;
	(void)snprintf(joined, sizeof(joined), "%s%s/%s", path[0] == '/' ? "" : "/workspace/",
		       path[0] == '/' ? "" : cwd, path);
	for (char *part = strtok_r(joined, "/", &save); part != NULL;
	     part = strtok_r(NULL, "/", &save)) {
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0)
			n -= n > 0;
		else if (n < ARRAY_LEN(parts))
			parts[n++] = part;
	}
	return n > 0 && (strcmp(parts[0], "proc") == 0 ||
			 (n > 1 && strcmp(parts[0], "dev") == 0 && strcmp(parts[1], "fd") == 0));
}

static enum reason
look_argv0(struct look *l, const char *argv0)
{
	size_t len = strlen(argv0);

	if (len == 0)
		return against(l, R_INVALID_ARGUMENT, "the command is empty");
	if (len >= PATH_BYTES_MAX)
		return against(l, R_INVALID_ARGUMENT, "the name of the command is too long");
	if (names_proc(argv0, l->facts->cwd))
		return against(l, R_INVALID_ARGUMENT, "a command is not run out of /proc");
	if (escaped_copy(argv0, len, l->facts->argv0, sizeof(l->facts->argv0)) < 0)
		return against(l, R_INTERNAL, "out of memory");
	return R_ALLOWED;
}

static enum reason
look_args(struct look *l)
{
	CLEANUP(buf_fini) struct buf b = {0};
	enum reason r = read_blob(l, l->in->args, ARGS_BLOB_MAX, "the arguments", &b);
	uint32_t n = 0;

	if (r != R_ALLOWED)
		return r;
	for (size_t at = ARGS_SALT_LEN; at < b.len; at += strlen(b.data + at) + 1) {
		if (strlen(b.data + at) > ARGUMENT_MAX)
			return against(l, R_LIMIT_EXCEEDED, "argument %u is longer than %d bytes",
				       n, ARGUMENT_MAX);
		if (++n > ARGS_COUNT_MAX)
			return against(l, R_LIMIT_EXCEEDED, "more than %d arguments",
				       ARGS_COUNT_MAX);
	}
	if (n == 0)
		return against(l, R_INVALID_ARGUMENT, "there is no command");
	l->facts->args_count = n;
	l->facts->args_bytes = b.len;
	sha256_of(b.data, b.len, l->facts->args_sha256);
	return look_argv0(l, b.data + ARGS_SALT_LEN);
}

static enum reason
look_variable(struct look *l, const uint8_t *salt, const char *entry)
{
	struct exec_facts *f = l->facts;
	const char *equals = strchr(entry, '=');
	size_t name_len = equals != NULL ? (size_t)(equals - entry) : strlen(entry);
	size_t value_len = equals != NULL ? strlen(equals + 1) : 0;
	struct env_fact *e;

	if (equals == NULL || !variable_name_valid(entry, name_len) || name_len > ENV_NAME_MAX)
		return against(
			l, R_INVALID_ARGUMENT,
			"variable %u has no proper name (a letter or _, then letters, digits and "
			"_, at most %d)",
			f->n_env + 1, ENV_NAME_MAX);
	if (name_len + value_len + 1 > ARGUMENT_MAX)
		return against(l, R_LIMIT_EXCEEDED, "variable %.*s is longer than %d bytes",
			       (int)name_len, entry, ARGUMENT_MAX);
	for (uint32_t i = 0; i < f->n_env; i++)
		if (strlen(f->env[i].name) == name_len &&
		    memcmp(f->env[i].name, entry, name_len) == 0)
			return against(l, R_INVALID_ARGUMENT, "variable %s is given twice",
				       f->env[i].name);
	if (f->n_env == ENV_COUNT_MAX)
		return against(l, R_LIMIT_EXCEEDED, "more than %d variables", ENV_COUNT_MAX);
	e = &f->env[f->n_env++];
	memcpy(e->name, entry, name_len);
	e->name[name_len] = '\0';
	e->length = (uint32_t)value_len;
	hmac_sha256(
		salt, ARGS_SALT_LEN,
		(const struct hash_part[]){{entry, name_len}, {"=", 1}, {equals + 1, value_len}}, 3,
		e->hmac);
	return R_ALLOWED;
}

static enum reason
look_env(struct look *l)
{
	CLEANUP(buf_fini) struct buf b = {0};
	enum reason r;

	l->facts->n_env = 0;
	if (l->in->env < 0)
		return R_ALLOWED;
	r = read_blob(l, l->in->env, ENV_BLOB_MAX, "the variables", &b);
	for (size_t at = ARGS_SALT_LEN; r == R_ALLOWED && at < b.len; at += strlen(b.data + at) + 1)
		r = look_variable(l, (const uint8_t *)b.data, b.data + at);
	/* Values are somebody's secrets. */
	if (b.data != NULL)
		explicit_bzero(b.data, b.cap);
	return r;
}

void
examine(const struct examine_in *in, struct exec_facts *ret_facts, enum reason *ret_reason,
	char detail[VERDICT_DETAIL_MAX])
{
	struct look l = {.in = in, .facts = ret_facts, .detail = detail};
	enum reason r = R_ALLOWED;

	memset(ret_facts, 0, sizeof(*ret_facts));
	detail[0] = '\0';
	for (int i = 0; i < 3 && r == R_ALLOWED; i++)
		r = look_stream(&l, i);
	if (r == R_ALLOWED)
		r = look_workspace(&l);
	if (r == R_ALLOWED)
		r = look_cwd(&l);
	if (r == R_ALLOWED)
		r = look_args(&l);
	if (r == R_ALLOWED)
		r = look_env(&l);
	*ret_reason = r;
}

int
examine_workspace_is(int fd, const struct workspace_facts *w, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "fstat the workspace");
	if (!S_ISDIR(st.st_mode) || st.st_dev != makedev(w->dev_major, w->dev_minor) ||
	    st.st_ino != w->ino)
		return error_set(err, -ESTALE,
				 "the workspace is another directory than was recorded");
	if (st.st_uid != w->uid || st.st_gid != w->gid)
		return error_set(err, -ESTALE, "the workspace has another owner than was recorded");
	return 0;
}
