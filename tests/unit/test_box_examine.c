/* examine.h, places.h, mount_table.h: what a client may and may not hand over. Needs root. */
#include "box_layers.h"

#include <limits.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/json.h"
#include "box/examine.h"
#include "box/mount_table.h"
#include "box/own.h"
#include "box/places.h"

#define SALT "0123456789abcdef0123456789abcdef"

struct fixture {
	struct world w;
	struct examine_in in;
	struct exec_facts facts;
	enum reason reason;
	char detail[VERDICT_DETAIL_MAX];
};

static int
blob(const char *data, size_t len)
{
	struct error err = {0};
	int fd = fd_memfd_sealed("blob", data, len, &err);

	must(fd >= 0, "memfd");
	return fd;
}
#define BLOB(literal) blob(SALT literal, sizeof(SALT literal)) /* the last NUL is C's */

static struct fixture *
fixture_open(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	must(f != NULL, "calloc");
	world_open(&f->w);
	f->in = (struct examine_in){.workspace = f->w.workspace,
				    .env = -1,
				    .cwd = "",
				    .ours = {f->w.sessions},
				    .n_ours = 1};
	f->in.streams[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	f->in.streams[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	f->in.streams[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	f->in.args = BLOB("make\0-j2");
	return f;
}

static void
fixture_close(struct fixture *f)
{
	for (int i = 0; i < 3; i++)
		(void)close(f->in.streams[i]);
	(void)close(f->in.args);
	fd_close(f->in.env);
	world_close(&f->w);
	free(f);
}

static void
look(struct fixture *f)
{
	examine(&f->in, &f->facts, &f->reason, f->detail);
}

static void
expect_allowed(struct fixture *f)
{
	look(f);
	if (f->reason != R_ALLOWED)
		fail_msg("%s: %s", reason_code(f->reason), f->detail);
	assert_string_equal(f->detail, "");
}

static void
expect_refused(struct fixture *f, enum reason reason, const char *part)
{
	look(f);
	if (f->reason != reason || strstr(f->detail, part) == NULL)
		fail_msg("%s: %s (expected: %s)", reason_code(f->reason), f->detail, part);
}

static void
facts_are_those_of_the_objects(void **state)
{
	struct fixture *f = fixture_open();
	struct stat st;
	uint8_t digest[32], mac[32];
	struct error err = {0};

	(void)close(f->in.args);
	f->in.args = BLOB("./build\x1b\0a b\0");
	f->in.env = BLOB("A=1\0B_2=x=y\0EMPTY=");
	f->in.cwd = "sub//./dir/";
	f->in.cwd_len = strlen(f->in.cwd);
	expect_allowed(f);
	must(fstat(f->w.workspace, &st) == 0, "fstat");
	assert_string_equal(f->facts.workspace.path, f->w.workspace_path);
	assert_int_equal(f->facts.workspace.dev_major, major(st.st_dev));
	assert_int_equal(f->facts.workspace.dev_minor, minor(st.st_dev));
	assert_int_equal(f->facts.workspace.ino, st.st_ino);
	assert_int_equal(f->facts.workspace.uid, OWNER_UID);
	assert_int_equal(f->facts.workspace.gid, OWNER_GID);
	assert_true(f->facts.workspace.fs[0] != '\0');
	assert_string_equal(f->facts.cwd, "sub/dir");
	assert_int_equal(f->facts.args_count, 3);
	assert_int_equal(f->facts.args_bytes, 32 + 9 + 4 + 1);
	sha256_of(SALT "./build\x1b\0a b\0", 32 + 9 + 4 + 1, digest);
	assert_memory_equal(f->facts.args_sha256, digest, 32);
	assert_string_equal(f->facts.argv0, "./build\\x1b");
	assert_int_equal(f->facts.n_env, 3);
	assert_string_equal(f->facts.env[1].name, "B_2");
	assert_int_equal(f->facts.env[1].length, 3);
	hmac_sha256((const uint8_t *)SALT, 32, (const struct hash_part[]){{"B_2=x=y", 7}}, 1, mac);
	assert_memory_equal(f->facts.env[1].hmac, mac, 32);
	assert_int_equal(f->facts.env[2].length, 0);
	assert_ok(examine_workspace_is(f->w.workspace, &f->facts.workspace, &err));
	assert_fails(-ESTALE, &err, examine_workspace_is(f->w.root, &f->facts.workspace, &err));
	must(fchown(f->w.workspace, OTHER_UID, OWNER_GID) == 0, "chown");
	assert_fails(-ESTALE, &err,
		     examine_workspace_is(f->w.workspace, &f->facts.workspace, &err));
	fixture_close(f);
}

/* ---- streams ---- */

static void
streams_are_streams(void **state)
{
	static const char *const kernels[] = {"/proc/self/maps", "/sys/kernel/uevent_seqnum"};
	static const struct {
		int domain, type;
		const char *part;
	} sockets[] = {
		{AF_UNIX, SOCK_STREAM, "a socket that is not connected"},
		{AF_UNIX, SOCK_DGRAM, "no stream socket"},
		{AF_UNIX, SOCK_SEQPACKET, "no stream socket"},
		{AF_INET, SOCK_STREAM, "a socket that is not connected"},
		{AF_INET, SOCK_DGRAM, "no stream socket"},
		{AF_NETLINK, SOCK_RAW, "neither a Unix nor a TCP one"},
	};
	struct fixture *f = fixture_open();
	int pair[2], pipes[2], keep;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 &&
		     pipe2(pipes, O_CLOEXEC) == 0,
	     "pipe");
	keep = f->in.streams[0];
	f->in.streams[0] = pair[0];
	expect_allowed(f);
	f->in.streams[0] = pipes[0];
	expect_allowed(f);
	f->in.streams[0] = pipes[1];
	expect_refused(f, R_INVALID_ARGUMENT, "standard input is not open for reading");
	f->in.streams[0] = f->w.workspace;
	expect_refused(f, R_INVALID_ARGUMENT, "standard input is a directory");
	f->in.streams[0] = open("/dev/null", O_PATH | O_CLOEXEC);
	expect_refused(f, R_INVALID_ARGUMENT, "O_PATH");
	(void)close(f->in.streams[0]);
	f->in.streams[0] = 9999;
	expect_refused(f, R_INVALID_ARGUMENT, "standard input is not open");
	must(mknodat(f->w.root, "block", S_IFBLK | 0600, makedev(7, 250)) == 0, "mknod");
	f->in.streams[0] = openat(f->w.root, "block", O_RDONLY | O_CLOEXEC);
	if (f->in.streams[0] >= 0)
		expect_refused(f, R_INVALID_ARGUMENT, "block device");
	fd_close(f->in.streams[0]);
	for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
		f->in.streams[0] = open(kernels[i], O_RDONLY | O_CLOEXEC);
		must(f->in.streams[0] >= 0, kernels[i]);
		expect_refused(f, R_INVALID_ARGUMENT, "a file of the kernel's");
		(void)close(f->in.streams[0]);
	}
	f->in.streams[0] = epoll_create1(EPOLL_CLOEXEC);
	expect_refused(f, R_INVALID_ARGUMENT, "standard input is ");
	(void)close(f->in.streams[0]);
	for (size_t i = 0; i < ARRAY_LEN(sockets); i++) {
		f->in.streams[0] = socket(sockets[i].domain, sockets[i].type | SOCK_CLOEXEC, 0);
		must(f->in.streams[0] >= 0, "socket");
		expect_refused(f, R_INVALID_ARGUMENT, sockets[i].part);
		(void)close(f->in.streams[0]);
	}
	f->in.streams[0] = f->in.args; /* a memfd is a file */
	expect_allowed(f);
	f->in.streams[0] = keep;
	keep = f->in.streams[2];
	f->in.streams[2] = pipes[0];
	expect_refused(f, R_INVALID_ARGUMENT, "standard error is not open for writing");
	f->in.streams[2] = keep;
	for (int i = 0; i < 2; i++) {
		(void)close(pair[i]);
		(void)close(pipes[i]);
	}
	fixture_close(f);
}

/* ---- where a workspace may lie ---- */

static void
expect_place(struct fixture *f, const char *path, const char *part)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return; /* not on this machine */
	f->in.workspace = fd;
	if (part == NULL) {
		expect_allowed(f);
	} else {
		look(f);
		if (f->reason != R_INVALID_PATH || strstr(f->detail, part) == NULL)
			fail_msg("%s: %s: %s", path, reason_code(f->reason), f->detail);
	}
	(void)close(fd);
}

static void
system_places_are_refused(void **state)
{
	static const struct {
		const char *path, *part;
	} cases[] = {
		{"/", "is /"},
		{"/etc", "is /etc"},
		{"/etc/ssl", "lies beneath /etc"},
		{"/proc", "procfs"},
		{"/proc/self", "procfs"},
		{"/proc/self/fd", "procfs"},
		{"/sys", "sysfs"},
		{"/sys/kernel", "sysfs"},
		{"/sys/fs/cgroup/memory", "cgroup"},
		{"/dev", "/dev"},
		{"/dev/pts", "devpts"},
		{"/dev/shm", "lies beneath /dev"},
		{"/run", "is /run"},
		{"/usr", "is /usr"},
		{"/usr/bin", "/bin"},
		{"/bin", "/"},
		{"/lib", "/"},
		{"/usr/share/doc", "lies beneath /usr"},
		{"/boot", "is /boot"},
		{"/var", "is /var"},
		{"/var/tmp", "is /var/tmp"},
		{"/tmp", "is /tmp"},
		{"/var/lib", "is /var/lib"},
		{"/var/lib/dpkg", "lies beneath /var/lib"},
		{"/var/log", "is /var/log"},
		{"/home", "is /home"},
		{"/root", "is the home of root"},
	};
	struct fixture *f = fixture_open();
	int keep = f->in.workspace;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_place(f, cases[i].path, cases[i].part);
	f->in.workspace = keep;
	expect_allowed(f); /* the control: /var/tmp/X/ws */
	fixture_close(f);
}

/* Homes come from /etc/passwd: this runs with one of its own, in a mount namespace. */
static void
homes_in_child(struct fixture *f)
{
	static const char *const secrets[] = {
		".ssh",	 ".aws/x",  ".config/gcloud", ".mozilla",
		".kube", ".docker", ".gnupg",	      ".local/state/loom"};
	char path[256], passwd[128];
	int fd;

	IN(unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
	IN(mkdirat(f->w.root, "people", 0755) == 0 && mkdirat(f->w.root, "people/ada", 0755) == 0);
	fd = openat(f->w.root, "passwd", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	(void)snprintf(passwd, sizeof(passwd),
		       "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::%s/people/ada:\n", f->w.path);
	IN(write(fd, passwd, strlen(passwd)) == (ssize_t)strlen(passwd) && close(fd) == 0);
	(void)snprintf(path, sizeof(path), "%s/passwd", f->w.path);
	IN(mount(path, "/etc/passwd", "none", MS_BIND, "") == 0);
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		(void)snprintf(path, sizeof(path), "people/ada/%s", secrets[i]);
		for (char *slash = strchr(path + 11, '/'); slash != NULL;
		     slash = strchr(slash + 1, '/')) {
			*slash = '\0';
			(void)mkdirat(f->w.root, path, 0755);
			*slash = '/';
		}
		IN(mkdirat(f->w.root, path, 0755) == 0);
		(void)snprintf(path, sizeof(path), "%s/people/ada/%s", f->w.path, secrets[i]);
		expect_place(f, path, "in the home of ada");
	}
	(void)snprintf(path, sizeof(path), "%s/people/ada", f->w.path);
	expect_place(f, path, "is the home of ada");
	(void)snprintf(path, sizeof(path), "%s/people", f->w.path);
	expect_place(f, path, "contains the home of ada");
	(void)snprintf(path, sizeof(path), "%s/people/ada/.local", f->w.path);
	expect_place(f, path, "contains .local/");
	IN(mkdirat(f->w.root, "people/ada/src", 0755) == 0 &&
	   mkdirat(f->w.root, "people/ada/src/app", 0755) == 0 &&
	   mkdirat(f->w.root, "people/ada/.sshx", 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/people/ada/src/app", f->w.path);
	expect_place(f, path, NULL);
	(void)snprintf(path, sizeof(path), "%s/people/ada/.sshx", f->w.path);
	expect_place(f, path, NULL);
	/* The same object by another mount. */
	IN(mkdirat(f->w.root, "other", 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/people/ada/.ssh", f->w.path);
	{
		char other[256];

		(void)snprintf(other, sizeof(other), "%s/other", f->w.path);
		IN(mount(path, other, "none", MS_BIND, "") == 0);
		/* The table of places has grown a minute old: it knows what was made since. */
		places_forget();
		expect_place(f, other, "is .ssh in the home of ada");
	}
}

static void
in_child(struct fixture *f, void (*fn)(struct fixture *f))
{
	/* So that the child, which ends in the middle of things, has not lost it. */
	static struct fixture *held UNUSED;
	int status;

	held = f;

	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0) {
		fn(f);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
}

static void
homes_and_what_is_in_them_are_refused(void **state)
{
	struct fixture *f = fixture_open();

	in_child(f, homes_in_child);
	fixture_close(f);
}

static void
our_own_directories_are_refused(void **state)
{
	struct fixture *f = fixture_open();
	char path[128];
	int keep = f->in.workspace;

	f->in.workspace = f->w.sessions;
	expect_refused(f, R_INVALID_PATH, "is a directory of Loom's own");
	must(mkdirat(f->w.sessions, "s_1", 0755) == 0, "mkdir");
	(void)snprintf(path, sizeof(path), "%s/state/sessions/s_1", f->w.path);
	expect_place(f, path, "lies beneath a directory of Loom's own");
	(void)snprintf(path, sizeof(path), "%s/state", f->w.path);
	expect_place(f, path, "a directory of Loom's own");
	must(mkdirat(f->w.root, "state/ledger", 0755) == 0, "mkdir");
	(void)snprintf(path, sizeof(path), "%s/state/ledger", f->w.path);
	expect_place(f, path, "lies beneath a directory of Loom's own");
	expect_place(f, f->w.path, "contains a directory of Loom's own");
	f->in.workspace = keep;
	fixture_close(f);
}

/* By path: also what is not there yet, and the way to it through a link. */
static void
what_will_be_ours_is_refused(void **state)
{
	static char config[160], linked[160];
	struct fixture *f = fixture_open();
	char path[160];
	struct error err = {0};
	int keep = f->in.workspace;

	must(mkdirat(f->w.root, "etc", 0755) == 0 && mkdirat(f->w.root, "links", 0755) == 0 &&
		     mkdirat(f->w.root, "far", 0755) == 0 &&
		     symlinkat("../far", f->w.root, "links/to") == 0,
	     "mkdir");
	(void)snprintf(config, sizeof(config), "%s/etc/a/loom", f->w.path);
	(void)snprintf(path, sizeof(path), "%s/etc", f->w.path);
	expect_place(f, path, NULL);
	assert_ok(own_add_path(config, &err));
	expect_place(f, path, "contains a directory of Loom's own");
	must(mkdirat(f->w.root, "etc/a", 0755) == 0 && mkdirat(f->w.root, "etc/b", 0755) == 0,
	     "mkdir");
	expect_place(f, path, "contains a directory of Loom's own");
	(void)snprintf(path, sizeof(path), "%s/etc/a", f->w.path);
	expect_place(f, path, "contains a directory of Loom's own");
	(void)snprintf(path, sizeof(path), "%s/etc/b", f->w.path);
	expect_place(f, path, NULL);
	must(mkdirat(f->w.root, "etc/a/loom", 0755) == 0 &&
		     mkdirat(f->w.root, "etc/a/loom/profiles", 0755) == 0,
	     "mkdir");
	(void)snprintf(path, sizeof(path), "%s/etc/a/loom/profiles", f->w.path);
	expect_place(f, path, "lies beneath a directory of Loom's own");
	(void)snprintf(linked, sizeof(linked), "%s/links/to/loom", f->w.path);
	(void)snprintf(path, sizeof(path), "%s/links", f->w.path);
	expect_place(f, path, NULL);
	assert_ok(own_add_path(linked, &err));
	expect_place(f, path, "contains a directory of Loom's own");
	(void)snprintf(path, sizeof(path), "%s/far", f->w.path);
	expect_place(f, path, "contains a directory of Loom's own");
	f->in.workspace = keep;
	expect_allowed(f);
	own_forget();
	expect_place(f, path, NULL);
	f->in.workspace = keep;
	fixture_close(f);
}

/* FROM bound to TO, both beneath the world's directory, or FROM absolute. */
static bool
bound(struct fixture *f, const char *from, const char *to)
{
	char source[256], target[256];

	(void)snprintf(source, sizeof(source), "%s%s%s", from[0] == '/' ? "" : f->w.path,
		       from[0] == '/' ? "" : "/", from);
	(void)snprintf(target, sizeof(target), "%s/%s", f->w.path, to);
	return (mkdirat(f->w.root, to, 0755) == 0 || errno == EEXIST) &&
	       mount(source, target, "none", MS_BIND, "") == 0;
}

static void
parts_in_child(struct fixture *f)
{
	char path[160];

	IN(unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
	IN(bound(f, "/usr/share", "part") && bound(f, "/usr/src", "fine") &&
	   bound(f, "/root", "home"));
	(void)snprintf(path, sizeof(path), "%s/part", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, "lies beneath /usr");
	(void)snprintf(path, sizeof(path), "%s/home", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, "is the home of root");
	(void)snprintf(path, sizeof(path), "%s/fine/loom-test-%d", f->w.path, getpid());
	IN(mkdir(path, 0755) == 0);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, NULL);
	IN(rmdir(path) == 0);
	/* Of Loom's own: a part of it, and what contains it elsewhere. */
	IN(mkdirat(f->w.sessions, "s_2", 0755) == 0 && bound(f, "state/sessions/s_2", "session"));
	/* As a box has it: of the namespace it is in. */
	(void)snprintf(path, sizeof(path), "%s/state/sessions", f->w.path);
	f->in.ours[0] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	IN(f->in.ours[0] >= 0);
	(void)snprintf(path, sizeof(path), "%s/session", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, "lies beneath a directory of Loom's own");
	/* A file system that is mounted in a place only, and one that people have elsewhere. */
	(void)snprintf(path, sizeof(path), "%s/tree", f->w.path);
	IN(mkdir(path, 0755) == 0 && mount("none", path, "tmpfs", 0, "") == 0);
	(void)snprintf(path, sizeof(path), "%s/tree/in", f->w.path);
	IN(mkdir(path, 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/tree/in/deep", f->w.path);
	IN(mkdir(path, 0755) == 0);
	IN(mount("none", "/var/lib", "tmpfs", 0, "") == 0 && mkdir("/var/lib/a", 0755) == 0 &&
	   mkdir("/var/lib/view", 0755) == 0 && mount("none", "/var/lib/a", "tmpfs", 0, "") == 0 &&
	   mkdir("/var/lib/a/x", 0755) == 0);
	IN(bound(f, "/var/lib/a/x", "bound-out") && bound(f, "tree/in", "other"));
	(void)snprintf(path, sizeof(path), "%s/bound-out", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, "lies beneath /var/lib/a");
	(void)snprintf(path, sizeof(path), "%s/tree/in", f->w.path);
	IN(mount(path, "/var/lib/view", "none", MS_BIND, "") == 0);
	(void)snprintf(path, sizeof(path), "%s/tree/in/deep", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, NULL);
	(void)snprintf(path, sizeof(path), "%s/other/deep", f->w.path);
	IN(access(path, F_OK) == 0);
	expect_place(f, path, NULL);
	IN(access("/var/lib/view/deep", F_OK) == 0);
	expect_place(f, "/var/lib/view/deep", "lies beneath /var/lib");
}

static void
parts_of_places_are_refused(void **state)
{
	struct fixture *f = fixture_open();

	in_child(f, parts_in_child);
	fixture_close(f);
}

static void
mounts_in_child(struct fixture *f)
{
	char path[160];

	IN(unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
	IN(mkdirat(f->w.workspace, "a b", 0755) == 0 && mkdirat(f->w.root, "ws2", 0755) == 0);
	f->in.workspace = open(f->w.workspace_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	expect_allowed(f);
	/* A neighbour that shares the prefix is not beneath. */
	(void)snprintf(path, sizeof(path), "%s2", f->w.workspace_path);
	IN(mount("none", path, "tmpfs", 0, "") == 0);
	expect_allowed(f);
	(void)snprintf(path, sizeof(path), "%s/a b", f->w.workspace_path);
	IN(mount("none", path, "tmpfs", 0, "") == 0);
	expect_refused(f, R_INVALID_PATH, "contains a mount at");
	expect_refused(f, R_INVALID_PATH, "/ws/a b");
	IN(umount(path) == 0);
	expect_allowed(f);
	/* Hidden: something is mounted over it, and its path leads there. */
	IN(mount("none", f->w.workspace_path, "tmpfs", 0, "") == 0);
	expect_refused(f, R_INVALID_PATH, "cannot be reached by its path");
	IN(umount(f->w.workspace_path) == 0);
	/* It is a mount itself: that is fine. */
	IN(mount("none", f->w.workspace_path, "tmpfs", 0, "") == 0);
	f->in.workspace = open(f->w.workspace_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	expect_allowed(f);
	IN(strcmp(f->facts.workspace.fs, "tmpfs") == 0);
}

static void
a_workspace_with_mounts_is_refused(void **state)
{
	struct fixture *f = fixture_open();

	in_child(f, mounts_in_child);
	fixture_close(f);
}

static void
foreign_namespace_in_child(struct fixture *f)
{
	int before = f->in.workspace;

	IN(unshare(CLONE_NEWNS) == 0);
	f->in.workspace = before; /* of the namespace that was left */
	look(f);
	IN(f->reason == R_INVALID_PATH);
}

static void
another_mount_namespace_is_refused(void **state)
{
	struct fixture *f = fixture_open();

	in_child(f, foreign_namespace_in_child);
	fixture_close(f);
}

static void
a_workspace_that_is_none_is_refused(void **state)
{
	struct fixture *f = fixture_open();
	int keep = f->in.workspace, fd;

	put_file(f->w.root, "file", "x", 0644);
	must(symlinkat("ws", f->w.root, "link") == 0, "ln");
	f->in.workspace = openat(f->w.root, "file", O_PATH | O_CLOEXEC);
	expect_refused(f, R_INVALID_PATH, "not a directory");
	(void)close(f->in.workspace);
	f->in.workspace = openat(f->w.root, "link", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	expect_refused(f, R_INVALID_PATH, "not a directory");
	(void)close(f->in.workspace);
	f->in.workspace = 9999;
	expect_refused(f, R_INVALID_PATH, "not open");
	must(mkdirat(f->w.root, "doomed", 0755) == 0, "mkdir");
	fd = openat(f->w.root, "doomed", O_PATH | O_DIRECTORY | O_CLOEXEC);
	f->in.workspace = fd;
	expect_allowed(f);
	must(unlinkat(f->w.root, "doomed", AT_REMOVEDIR) == 0, "rmdir");
	look(f);
	assert_int_not_equal(f->reason, R_ALLOWED);
	(void)close(fd);
	/* A directory whose name only looks deleted is none. */
	must(mkdirat(f->w.root, "x (deleted)", 0755) == 0, "mkdir");
	f->in.workspace = openat(f->w.root, "x (deleted)", O_PATH | O_DIRECTORY | O_CLOEXEC);
	expect_allowed(f);
	(void)close(f->in.workspace);
	f->in.workspace = keep;
	fixture_close(f);
}

static void
cwd_is_beneath_the_workspace(void **state)
{
	static const char *const bad[] = {"/etc", "..", "a/../..", "/proc/self/fd/9", "a\nb"};
	struct fixture *f = fixture_open();

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		f->in.cwd = bad[i];
		f->in.cwd_len = strlen(bad[i]);
		expect_refused(f, R_INVALID_PATH, "the working directory");
	}
	f->in.cwd = "a\0b";
	f->in.cwd_len = 3;
	expect_refused(f, R_INVALID_PATH, "the working directory");
	f->in.cwd = ".";
	f->in.cwd_len = 1;
	expect_allowed(f);
	assert_string_equal(f->facts.cwd, "");
	fixture_close(f);
}

/* ---- arguments and variables ---- */

static void
with_args(struct fixture *f, int fd, enum reason reason, const char *part)
{
	int keep = f->in.args;

	f->in.args = fd;
	if (reason == R_ALLOWED)
		expect_allowed(f);
	else
		expect_refused(f, reason, part);
	(void)close(fd);
	f->in.args = keep;
}

static void
arguments_are_judged(void **state)
{
	struct fixture *f = fixture_open();
	size_t size = ARGS_BLOB_MAX + 1;
	char *big = malloc(size);
	int fd;

	must(big != NULL, "malloc");
	with_args(f, blob("short", 5), R_INVALID_REQUEST, "no salt");
	with_args(f, blob(SALT, 32), R_INVALID_ARGUMENT, "no command");
	with_args(f, blob(SALT "a", 33), R_INVALID_REQUEST, "does not end");
	with_args(f, BLOB(""), R_INVALID_ARGUMENT, "empty");
	with_args(f, BLOB("\0x"), R_INVALID_ARGUMENT, "empty");
	with_args(f, BLOB("-"), R_ALLOWED, NULL);
	with_args(f, BLOB("--bind\0/\0/host"), R_ALLOWED, NULL);
	with_args(f, BLOB("/proc/self/exe"), R_INVALID_ARGUMENT, "/proc");
	with_args(f, BLOB("//proc/./1/../self/exe"), R_INVALID_ARGUMENT, "/proc");
	with_args(f, BLOB("../../proc/self/exe"), R_INVALID_ARGUMENT, "/proc");
	with_args(f, BLOB("/usr/../proc/self/exe"), R_INVALID_ARGUMENT, "/proc");
	with_args(f, BLOB("/dev/fd/3"), R_INVALID_ARGUMENT, "/proc");
	with_args(f, BLOB("./proc/x"), R_ALLOWED, NULL);
	with_args(f, BLOB("/process"), R_ALLOWED, NULL);
	with_args(f, BLOB("proc"), R_ALLOWED, NULL);
	with_args(f, BLOB("cat\0/proc/self/status"), R_ALLOWED, NULL);
	/* Not sealed: it could change after it was judged. */
	fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(write(fd, SALT "a", 34) == 34, "write");
	with_args(f, fd, R_INVALID_REQUEST, "not sealed");
	with_args(f, open("/dev/null", O_RDONLY | O_CLOEXEC), R_INVALID_REQUEST, "memfd");
	memset(big, 'a', size);
	big[size - 1] = '\0';
	with_args(f, blob(big, size), R_LIMIT_EXCEEDED, "more than");
	big[32] = 'b';
	big[33] = '\0';
	big[34 + 128 * 1024] = '\0';
	big[40 + 128 * 1024] = '\0';
	with_args(f, blob(big, 34 + 128 * 1024), R_INVALID_REQUEST, "does not end");
	with_args(f, blob(big, 35 + 128 * 1024), R_LIMIT_EXCEEDED, "argument 1 is longer");
	big[33 + 128 * 1024] = '\0';
	with_args(f, blob(big, 34 + 128 * 1024), R_ALLOWED, NULL);
	memset(big, 0, size);
	big[32] = 'b';
	with_args(f, blob(big, 33 + ARGS_COUNT_MAX), R_ALLOWED, NULL);
	assert_int_equal(f->facts.args_count, ARGS_COUNT_MAX);
	with_args(f, blob(big, 34 + ARGS_COUNT_MAX), R_LIMIT_EXCEEDED, "more than");
	free(big);
	fixture_close(f);
}

static void
with_env(struct fixture *f, int fd, enum reason reason, const char *part)
{
	f->in.env = fd;
	if (reason == R_ALLOWED)
		expect_allowed(f);
	else
		expect_refused(f, reason, part);
	(void)close(fd);
	f->in.env = -1;
}

static void
variables_are_judged(void **state)
{
	struct fixture *f = fixture_open();
	char many[32 + 257 * 8];
	size_t len = 32;

	with_env(f, BLOB("A"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("=x"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("1A=x"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("A-B=x"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("A\x1b=x"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("BASH_FUNC_x%%=() { :; }"), R_INVALID_ARGUMENT, "no proper name");
	with_env(f, BLOB("A=1\0B=2\0A=1"), R_INVALID_ARGUMENT, "variable A is given twice");
	with_env(f, BLOB("a=1\0A=2"), R_ALLOWED, NULL);
	with_env(f, blob(SALT "A=1", 35), R_INVALID_REQUEST, "does not end");
	with_env(f, blob(SALT, 32), R_ALLOWED, NULL);
	assert_int_equal(f->facts.n_env, 0);
	memcpy(many, SALT, 32);
	for (int i = 0; i < 257; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "V%03d=x", i) + 1;
	with_env(f, blob(many, len), R_LIMIT_EXCEEDED, "more than 256");
	with_env(f, blob(many, len - 7), R_ALLOWED, NULL);
	assert_int_equal(f->facts.n_env, 256);
	fixture_close(f);
}

/* ---- the table of mounts ---- */

static void
the_table_of_mounts_is_read_strictly(void **state)
{
	static const char table[] =
		"20 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
		"21 20 0:20 / /ws\\040x rw master:2 propagate_from:1 - tmpfs none rw\n"
		"22 21 0:21 / /ws\\040x/a\\134b\\012 rw - overlay none rw\n"
		"23 20 0:22 / /ws\\040xy rw - xfs none rw\n";
	static const char *const bad[] = {
		"20 1 254:0 / /\n",
		"x 1 254:0 / / rw - ext4 d rw\n",
		"20 1 254:0 / / rw shared:1\n",
		"20 1 254:0 / / rw -\n",
		"\x01\n",
		"20 1 254:0 / / rw - ext4 d rw\n\n1\n",
	};
	struct mount_facts m;
	struct error err = {0};

	assert_ok(mount_table_look_in(table, 21, "/ws x", &m, &err));
	assert_true(m.found && m.beneath);
	assert_string_equal(m.fs, "tmpfs");
	assert_string_equal(m.beneath_at, "/ws x/a\\b\n");
	assert_ok(mount_table_look_in(table, 23, "/ws xy", &m, &err));
	assert_true(m.found && !m.beneath);
	assert_ok(mount_table_look_in(table, 99, "/elsewhere", &m, &err));
	assert_false(m.found || m.beneath);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_fails(-EBADMSG, &err, mount_table_look_in(bad[i], 20, "/ws", &m, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_those_of_the_objects),
		cmocka_unit_test(streams_are_streams),
		cmocka_unit_test(system_places_are_refused),
		cmocka_unit_test(homes_and_what_is_in_them_are_refused),
		cmocka_unit_test(our_own_directories_are_refused),
		cmocka_unit_test(what_will_be_ours_is_refused),
		cmocka_unit_test(parts_of_places_are_refused),
		cmocka_unit_test(a_workspace_with_mounts_is_refused),
		cmocka_unit_test(another_mount_namespace_is_refused),
		cmocka_unit_test(a_workspace_that_is_none_is_refused),
		cmocka_unit_test(cwd_is_beneath_the_workspace),
		cmocka_unit_test(arguments_are_judged),
		cmocka_unit_test(variables_are_judged),
		cmocka_unit_test(the_table_of_mounts_is_read_strictly),
	};

	return needs_root() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
