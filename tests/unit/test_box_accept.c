/*
 * accept.h: taking changes over, all or nothing, over overlays that the kernel made; with each
 * system call of it failing in turn, and with the child killed at each. Needs root.
 */
#include "box_layers.h"

#include <signal.h>
#include <sys/xattr.h>

#include "base/hash.h"
#include "base/json.h"
#include "box/accept.h"
#include "box/changes.h"
#include "box/manifest.h"
#include "box/selection.h"

/* ---- calls that fail, or end the process, at the Nth ---- */

static int fault_at; /* 0: never */
static int fault_count;
static enum { FAULT_FAILS, FAULT_KILLS, FAULT_KILLS_BOTH } fault_kind;
static pid_t fault_parent;

static bool
fault(void)
{
	/* Only in the child that does the work: the rest is the box's own, which a test cannot
	 * outlive. */
	if (fault_at == 0 || getpid() == fault_parent || ++fault_count != fault_at)
		return false;
	if (fault_kind != FAULT_FAILS)
		(void)kill(getpid(), SIGKILL);
	errno = EIO;
	return true;
}

#define WRAP(type, name, params, args)                                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return fault() ? -1 : __real_##name args;                                          \
	}
WRAP(int, renameat2, (int a, const char *b, int c, const char *d, unsigned int e), (a, b, c, d, e))
WRAP(int, mkdirat, (int a, const char *b, mode_t c), (a, b, c))
WRAP(ssize_t, pwrite, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, pwrite64, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
WRAP(int, fchmod, (int a, mode_t b), (a, b))
WRAP(int, symlinkat, (const char *a, int b, const char *c), (a, b, c))
WRAP(int, fdatasync, (int a), (a))
WRAP(int, fsync, (int a), (a))
WRAP(int, chmod, (const char *a, mode_t b), (a, b))
WRAP(int, unlinkat, (int a, const char *b, int c), (a, b, c))

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

/* The one that waits dies of the same. */
pid_t
__wrap_waitpid(pid_t pid, int *status, int options)
{
	pid_t r = __real_waitpid(pid, status, options);

	if (fault_at != 0 && fault_kind == FAULT_KILLS_BOTH && r == pid && WIFSIGNALED(*status))
		(void)kill(getpid(), SIGKILL);
	return r;
}

/* Under both names that the C library has for it. */
#define WRAP_OPENAT(name)                                                                          \
	int __real_##name(int dir, const char *path, int flags, ...);                              \
	int __wrap_##name(int dir, const char *path, int flags, ...);                              \
	int __wrap_##name(int dir, const char *path, int flags, ...)                               \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
		va_list ap;                                                                        \
                                                                                                   \
		if ((flags & (O_CREAT | O_TMPFILE)) != 0) {                                        \
			va_start(ap, flags);                                                       \
			mode = va_arg(ap, mode_t);                                                 \
			va_end(ap);                                                                \
		}                                                                                  \
		return fault() ? -1 : __real_##name(dir, path, flags, mode);                       \
	}
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

/* ---- what a directory looks like, whole ---- */

static int
picture_entry(void *arg, const struct change *c, struct error *err)
{
	struct buf *b = arg;
	char target[4096];
	ssize_t n;

	buf_fmt(b, "%s %s %04o", c->path, change_type_name(c->type), c->mode);
	if (c->type == TYPE_FILE) {
		int fd = openat(c->upper_dir, c->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		n = read(fd, target, sizeof(target) - 1);
		(void)close(fd);
		buf_fmt(b, " '%.*s' %u:%u", (int)(n > 0 ? n : 0), target, c->upper.st_uid,
			c->upper.st_gid);
	} else if (c->type == TYPE_LINK) {
		n = readlinkat(c->upper_dir, c->name, target, sizeof(target));
		buf_fmt(b, " -> %.*s", (int)n, target);
	}
	buf_char(b, '\n');
	return 0;
}

/* Everything of the workspace: paths, types, modes, contents, owners of files. */
static void
picture(const struct world *w, struct buf *b)
{
	const struct changes_in in = {.upper = w->workspace, .lower = -1};
	struct error err = {0};
	struct stat st;

	buf_init(b, 1u << 20);
	must(fstat(w->workspace, &st) == 0, "fstat");
	buf_fmt(b, ". %04o\n", st.st_mode & 07777);
	if (changes_walk(&in, picture_entry, b, &err) != 0)
		fail_msg("picture: %s", err.text);
}

static void
expect_picture(const struct world *w, const char *expected)
{
	struct buf b;

	picture(w, &b);
	assert_string_equal(b.data, expected);
	buf_fini(&b);
}

/* ---- asking for it ---- */

static json_t *
path_list(const char *const *paths)
{
	json_t *list = json_array();

	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
		must(json_array_append_new(list, json_escaped(paths[i], strlen(paths[i]))) == 0,
		     "json");
	return list;
}

static void
manifest_now(struct world *w, const char *const *paths, uint8_t ret[32])
{
	CLEANUP(json_decrefp) json_t *list = path_list(paths);
	struct selection sel = {0};
	struct error err = {0};
	int upper;

	upper = openat(w->s.dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(selection_read_json(list, &sel, &err));
	memset(ret, 0, 32);
	if (manifest_of(upper, w->workspace, &sel, -1, ret, &err) != 0 && err.code != -ENOENT)
		fail_msg("manifest: %s", err.text);
	selection_fini(&sel);
	(void)close(upper);
}

static struct accept_result
accept_with(struct world *w, const char *const *paths, const uint8_t manifest[32])
{
	CLEANUP(json_decrefp) json_t *list = path_list(paths);
	const struct accept_in in = {
		.sessions = w->sessions, .session = "s_1", .manifest = manifest, .paths = list};
	struct accept_result r;

	accept_job(&in, &r);
	return r;
}

static struct accept_result
accept_paths(struct world *w, const char *const *paths)
{
	uint8_t manifest[32];

	manifest_now(w, paths, manifest);
	return accept_with(w, paths, manifest);
}

static struct accept_result
accept_all(struct world *w)
{
	return accept_paths(w, NULL);
}

static void
expect_done(const struct accept_result *r)
{
	if (r->status != RESULT_DONE)
		fail_msg("not done: %s: %s", reason_code(r->reason), r->detail);
}

static void
expect_refused(const struct accept_result *r, enum reason reason, const char *part)
{
	if (r->status != RESULT_REFUSED || r->reason != reason || strstr(r->detail, part) == NULL)
		fail_msg("status %d, %s: %s", (int)r->status, reason_code(r->reason), r->detail);
}

static void
write_to(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	IN(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	IN(close(fd) == 0);
}

/* ---- a session with one of each ---- */

static void
fill_workspace(struct world *w)
{
	put_file(w->workspace, "edited", "old", 0640);
	put_file(w->workspace, "mode", "m", 0644);
	put_file(w->workspace, "gone", "g", 0644);
	put_file(w->workspace, "tolink", "t", 0644);
	put_file(w->workspace, "todir", "t", 0644);
	put_dir(w->workspace, "tofile", 0755);
	put_file(w->workspace, "tofile/x", "x", 0644);
	put_dir(w->workspace, "dir", 0755);
	put_file(w->workspace, "dir/out", "o", 0644);
	put_dir(w->workspace, "dirgone", 0555);
	put_dir(w->workspace, "dirgone/sub", 0755);
	put_file(w->workspace, "dirgone/sub/x", "x", 0644);
	put_dir(w->workspace, "readonly", 0555);
	put_file(w->workspace, "readonly/f", "f", 0444);
	put_dir(w->workspace, "dirmode", 0755);
	put_file(w->workspace, "kept", "k", 0600);
	world_session(w, "s_1");
}

static void
do_all_kinds(void *arg)
{
	write_to("edited", "new");
	IN(chmod("mode", 0755) == 0);
	IN(unlink("gone") == 0);
	IN(unlink("tolink") == 0 && symlink("../../etc/passwd", "tolink") == 0);
	IN(unlink("todir") == 0 && mkdir("todir", 0750) == 0);
	write_to("todir/in", "i");
	IN(unlink("tofile/x") == 0 && rmdir("tofile") == 0);
	write_to("tofile", "f");
	write_to("dir/new", "n");
	IN(unlink("dir/out") == 0);
	IN(chmod("dirgone", 0755) == 0 && unlink("dirgone/sub/x") == 0 &&
	   rmdir("dirgone/sub") == 0 && rmdir("dirgone") == 0);
	IN(chmod("readonly", 0755) == 0 && unlink("readonly/f") == 0);
	write_to("readonly/f", "changed");
	IN(chmod("readonly/f", 0444) == 0 && chmod("readonly", 0555) == 0);
	IN(chmod("dirmode", 0700) == 0);
	write_to("dirmode/in", "i");
	IN(mkdir("deep", 0755) == 0 && mkdir("deep/er", 0555 | 0200) == 0);
	write_to("deep/er/file", "d");
	IN(chmod("deep/er", 0500) == 0);
}

#define BEFORE                                                                                     \
	". 0755\n"                                                                                 \
	"dir dir 0755\n"                                                                           \
	"dir/out file 0644 'o' 43210:43211\n"                                                      \
	"dirgone dir 0555\n"                                                                       \
	"dirgone/sub dir 0755\n"                                                                   \
	"dirgone/sub/x file 0644 'x' 43210:43211\n"                                                \
	"dirmode dir 0755\n"                                                                       \
	"edited file 0640 'old' 43210:43211\n"                                                     \
	"gone file 0644 'g' 43210:43211\n"                                                         \
	"kept file 0600 'k' 43210:43211\n"                                                         \
	"mode file 0644 'm' 43210:43211\n"                                                         \
	"readonly dir 0555\n"                                                                      \
	"readonly/f file 0444 'f' 43210:43211\n"                                                   \
	"todir file 0644 't' 43210:43211\n"                                                        \
	"tofile dir 0755\n"                                                                        \
	"tofile/x file 0644 'x' 43210:43211\n"                                                     \
	"tolink file 0644 't' 43210:43211\n"

#define AFTER                                                                                      \
	". 0755\n"                                                                                 \
	"deep dir 0755\n"                                                                          \
	"deep/er dir 0500\n"                                                                       \
	"deep/er/file file 0644 'd' 43210:43211\n"                                                 \
	"dir dir 0755\n"                                                                           \
	"dir/new file 0644 'n' 43210:43211\n"                                                      \
	"dirmode dir 0700\n"                                                                       \
	"dirmode/in file 0644 'i' 43210:43211\n"                                                   \
	"edited file 0640 'new' 43210:43211\n"                                                     \
	"kept file 0600 'k' 43210:43211\n"                                                         \
	"mode file 0755 'm' 43210:43211\n"                                                         \
	"readonly dir 0555\n"                                                                      \
	"readonly/f file 0444 'changed' 43210:43211\n"                                             \
	"todir dir 0750\n"                                                                         \
	"todir/in file 0644 'i' 43210:43211\n"                                                     \
	"tofile file 0644 'f' 43210:43211\n"                                                       \
	"tolink link 0777 -> ../../etc/passwd\n"

static void
session_with_things(struct world *w)
{
	world_open(w);
	fill_workspace(w);
	in_session(w, do_all_kinds, NULL);
	assert_true(end_session(w) > 0);
	tick(); /* what a test changes now is later than the session's start */
}

static void
fast_session_with_things(struct world *w)
{
	world_open_fast(w);
	fill_workspace(w);
	in_session(w, do_all_kinds, NULL);
	assert_true(end_session(w) > 0);
}

static void
everything_is_taken_over(void **state)
{
	struct world w;
	struct accept_result r;

	session_with_things(&w);
	expect_picture(&w, BEFORE);
	r = accept_all(&w);
	expect_done(&r);
	expect_picture(&w, AFTER);
	assert_int_equal(r.files, 16);
	assert_int_equal(r.bytes, 15);
	assert_int_equal(r.stripped, 0);
	/* Nothing is left of the session. */
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	r = accept_with(&w, NULL, (uint8_t[32]){0});
	expect_refused(&r, R_SESSION_ENDED, "nothing is kept");
	world_close(&w);
}

static void
another_manifest_is_refused(void **state)
{
	static const char *const one[] = {"edited", NULL};
	struct world w;
	struct accept_result r;
	uint8_t manifest[32];

	session_with_things(&w);
	manifest_now(&w, NULL, manifest);
	manifest[31] ^= 1;
	r = accept_with(&w, NULL, manifest);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "not the ones that were decided on");
	/* That of another selection. */
	manifest[31] ^= 1;
	r = accept_with(&w, one, manifest);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "not the ones that were decided on");
	/* The layer changed after the decision. */
	put_file(w.s.upper, "kept", "planted", 0600);
	r = accept_with(&w, NULL, manifest);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "not the ones that were decided on");
	expect_picture(&w, BEFORE);
	assert_true(mode_of(w.sessions, "s_1/meta.json") != 0);
	assert_false(accept_pending(w.s.dir));
	world_close(&w);
}

static void
parts_are_taken_over_by_path(void **state)
{
	static const char *const first[] = {"deep/er/file", "dir", NULL}, *const wrong[] = {"kept",
											    NULL};
	struct world w;
	struct store_meta m;
	struct accept_result r;
	struct error err = {0};
	uint64_t before;

	session_with_things(&w);
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	before = m.changes;
	r = accept_paths(&w, first);
	expect_done(&r);
	assert_int_equal(r.files, 5); /* deep and deep/er come along */
	assert_string_equal(get_file(w.workspace, "dir/new"), "n");
	assert_int_equal(mode_of(w.workspace, "dir/out"), 0);
	assert_string_equal(get_file(w.workspace, "edited"), "old");
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	assert_int_equal(m.changes, before - 5);
	r = accept_paths(&w, wrong);
	assert_int_equal(r.status, RESULT_REFUSED);
	r = accept_all(&w);
	expect_done(&r);
	expect_picture(&w, AFTER);
	world_close(&w);
}

/* ---- conflicts ---- */

static void
expect_conflict(struct world *w, const char *path)
{
	struct buf before;
	struct accept_result r;

	picture(w, &before);
	r = accept_all(w);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, path);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "changed in the workspace");
	expect_picture(w, before.data);
	buf_fini(&before);
}

static void
what_somebody_else_changed_is_a_conflict(void **state)
{
	struct world w;

	session_with_things(&w);
	put_file(w.workspace, "edited", "mine", 0640);
	expect_conflict(&w, "edited");
	world_close(&w);

	/* The content put back with its old time: the change time tells. */
	session_with_things(&w);
	{
		struct stat st;
		struct timespec times[2];

		must(fstatat(w.workspace, "gone", &st, 0) == 0, "stat");
		put_file(w.workspace, "gone", "h", 0644);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		must(utimensat(w.workspace, "gone", times, 0) == 0, "utimensat");
	}
	expect_conflict(&w, "gone");
	world_close(&w);

	/* A file put into a directory that goes. */
	session_with_things(&w);
	put_file(w.workspace, "dirgone/sub/mine", "m", 0644);
	expect_conflict(&w, "dirgone/sub/mine");
	world_close(&w);

	/* Another type. */
	session_with_things(&w);
	must(unlinkat(w.workspace, "mode", 0) == 0 && mkdirat(w.workspace, "mode", 0755) == 0,
	     "mkdir");
	expect_conflict(&w, "mode");
	world_close(&w);

	/* Something where the session made something new. */
	session_with_things(&w);
	put_dir(w.workspace, "deep", 0755);
	put_file(w.workspace, "deep/er", "mine", 0644);
	expect_conflict(&w, "deep/er");
	world_close(&w);
}

static void
do_edit_again(void *arg)
{
	write_to("edited", "newer");
}

static void
what_an_accept_changed_is_no_conflict(void **state)
{
	static const char *const one[] = {"edited", NULL};
	struct world w;
	struct accept_result r;
	struct error err = {0};

	session_with_things(&w);
	r = accept_paths(&w, one);
	expect_done(&r);
	store_session_close(&w.s);
	assert_ok(store_continue(w.sessions, "s_1", w.workspace, &w.s, &err));
	in_session(&w, do_edit_again, NULL);
	assert_true(end_session(&w) > 0);
	r = accept_paths(&w, one);
	expect_done(&r);
	assert_string_equal(get_file(w.workspace, "edited"), "newer");
	/* But what somebody else did after it is. */
	tick();
	put_file(w.workspace, "mode", "mine", 0644);
	r = accept_all(&w);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "mode");
	world_close(&w);
}

static void
a_running_session_is_busy(void **state)
{
	struct world w;
	struct accept_result r;
	struct error err = {0};

	session_with_things(&w);
	store_session_close(&w.s);
	assert_ok(store_continue(w.sessions, "s_1", w.workspace, &w.s, &err));
	r = accept_all(&w);
	expect_refused(&r, R_BUSY, "still at work");
	expect_picture(&w, BEFORE);
	world_close(&w);
}

static void
another_workspace_than_recorded_is_refused(void **state)
{
	struct world w;
	struct accept_result r;
	uint8_t manifest[32];
	struct workspace_facts facts = {0};
	struct accept_in in = {.session = "s_1", .manifest = manifest, .workspace = &facts};

	session_with_things(&w);
	manifest_now(&w, NULL, manifest);
	in.sessions = w.sessions;
	facts.dev_major = w.s.meta.dev_major;
	facts.dev_minor = w.s.meta.dev_minor;
	facts.ino = w.s.meta.ino + 1;
	facts.uid = OWNER_UID;
	facts.gid = OWNER_GID;
	accept_job(&in, &r);
	expect_refused(&r, R_CONFLICTING_CONSTRAINTS, "another workspace");
	facts.ino--;
	accept_job(&in, &r);
	expect_done(&r);
	world_close(&w);
}

/* ---- what is never, or not in silence, taken over ---- */

static void
do_protected(void *arg)
{
	IN(mkdir(".vscode", 0755) == 0 && mkdir(".git", 0755) == 0 &&
	   mkdir(".git/hooks", 0755) == 0);
	write_to(".vscode/tasks.json", "{}");
	write_to(".vscode/other.json", "{}");
	write_to(".envrc", "e");
	write_to("plain", "p");
	write_to(".git/hooks/post-checkout", "#!/bin/sh\n");
}

static void
protected_paths_need_their_name(void **state)
{
	static const char *const rest[] = {".", NULL},
				 *const git[] = {".git/hooks/post-checkout", NULL},
				 *const dir[] = {".vscode", NULL},
				 *const named[] = {".", ".vscode/tasks.json", NULL};
	struct world w;
	struct accept_result r;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_protected, NULL);
	assert_int_equal(end_session(&w), 8);
	r = accept_all(&w);
	expect_refused(&r, R_RULE_DENIED, ".git");
	expect_refused(&r, R_RULE_DENIED, "--path");
	r = accept_paths(&w, git);
	expect_refused(&r, R_RULE_DENIED, ".git/hooks/post-checkout");
	r = accept_paths(&w, dir);
	expect_refused(&r, R_RULE_DENIED, ".vscode/other.json, .vscode/tasks.json");
	expect_picture(&w, ". 0755\n");
	r = accept_paths(&w, named);
	expect_done(&r);
	expect_picture(&w, ". 0755\n"
			   ".vscode dir 0755\n"
			   ".vscode/tasks.json file 0644 '{}' 43210:43211\n"
			   "plain file 0644 'p' 43210:43211\n");
	r = accept_paths(&w, rest);
	expect_refused(&r, R_INVALID_PATH, "nothing to take over");
	world_close(&w);
}

static void
do_remove_vendor(void *arg)
{
	IN(unlink("vendor/.envrc") == 0 && rmdir("vendor") == 0);
	write_to("other", "o");
}

static void
protected_things_do_not_go_down_with_their_directory(void **state)
{
	static const char *const dot[] = {".", NULL}, *const named[] = {".", "vendor", NULL};
	struct world w;
	struct accept_result r;

	world_open(&w);
	put_dir(w.workspace, "vendor", 0755);
	put_file(w.workspace, "vendor/.envrc", "e", 0644);
	world_session(&w, "s_1");
	in_session(&w, do_remove_vendor, NULL);
	assert_int_equal(end_session(&w), 2);
	r = accept_paths(&w, dot);
	expect_refused(&r, R_RULE_DENIED, "vendor/.envrc");
	r = accept_paths(&w, named);
	expect_done(&r);
	expect_picture(&w, ". 0755\nother file 0644 'o' 43210:43211\n");
	world_close(&w);
}

static void
do_special(void *arg)
{
	IN(mkfifo("fifo", 0644) == 0);
	write_to("plain", "p");
}

static void
special_files_are_refused(void **state)
{
	static const char *const plain[] = {"plain", NULL};
	struct world w;
	struct accept_result r;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_special, NULL);
	assert_int_equal(end_session(&w), 2);
	r = accept_all(&w);
	expect_refused(&r, R_RULE_DENIED, "no device, fifo or socket is taken over: fifo");
	r = accept_paths(&w, plain);
	expect_done(&r);
	expect_picture(&w, ". 0755\nplain file 0644 'p' 43210:43211\n");
	world_close(&w);
}

/* A session cannot make one; a layer that has them all the same leaves without. */
static void
set_id_bits_are_stripped(void **state)
{
	struct world w;
	struct accept_result r;

	world_open(&w);
	put_file(w.workspace, "had", "h", 06755);
	put_file(w.workspace, "edited", "old", 04755);
	put_dir(w.workspace, "sgid", 02755);
	world_session(&w, "s_1");
	put_file(w.s.upper, "new", "n", 06755);
	put_dir(w.s.upper, "newdir", 02755);
	put_file(w.s.upper, "had", "h", 06755);
	put_file(w.s.upper, "edited", "new", 06711);
	put_dir(w.s.upper, "sgid", 02700);
	assert_int_equal(end_session(&w), 4);
	r = accept_all(&w);
	expect_done(&r);
	assert_int_equal(r.stripped, 3);
	assert_int_equal(mode_of(w.workspace, "new") & 07777, 0755);
	assert_int_equal(mode_of(w.workspace, "newdir") & 07777, 0755);
	assert_int_equal(mode_of(w.workspace, "edited") & 07777, 0711);
	/* What was there and did not change is the host's own business. */
	assert_int_equal(mode_of(w.workspace, "had") & 07777, 06755);
	assert_int_equal(mode_of(w.workspace, "sgid") & 07777, 02700);
	world_close(&w);
}

static void
do_awkward(void *arg)
{
	char longest[256];
	int fd;

	memset(longest, 'a', 255);
	longest[255] = '\0';
	write_to(longest, "l");
	write_to("new\nline", "n");
	write_to("\x1b[2J", "e");
	write_to("\xff\xfe", "u");
	write_to("hard1", "h");
	IN(link("hard1", "hard2") == 0);
	IN(symlink("/nowhere/at/all", "dangling") == 0);
	fd = open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	IN(fd >= 0 && pwrite(fd, "end", 3, 1 << 26) == 3 && close(fd) == 0);
	write_to("closed", "c");
	IN(chmod("closed", 0) == 0);
}

static void
awkward_things_are_taken_over(void **state)
{
	struct world w;
	struct accept_result r;
	struct stat st;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_awkward, NULL);
	assert_int_equal(end_session(&w), 9);
	r = accept_all(&w);
	expect_done(&r);
	assert_string_equal(get_file(w.workspace, "\xff\xfe"), "u");
	assert_string_equal(get_file(w.workspace, "new\nline"), "n");
	assert_true(S_ISLNK(mode_of(w.workspace, "dangling")));
	assert_int_equal(mode_of(w.workspace, "closed") & 07777, 0);
	must(fstatat(w.workspace, "sparse", &st, 0) == 0, "stat");
	assert_int_equal(st.st_size, (1 << 26) + 3);
	assert_true(st.st_blocks * 512 < 1 << 20);
	world_close(&w);
}

static void
do_nested(void *arg)
{
	IN(mkdir("a", 0755) == 0);
	for (int i = 0; i < 40; i++) {
		char name[300], longest[200];

		memset(longest, 'n', sizeof(longest) - 1);
		longest[sizeof(longest) - 1] = '\0';
		(void)snprintf(name, sizeof(name), "%s", longest);
		IN(mkdir(name, 0755) == 0 && chdir(name) == 0);
	}
	write_to("bottom", "b");
}

/* Longer than the kernel takes in one piece. */
static void
long_paths_are_taken_over(void **state)
{
	struct world w;
	struct accept_result r;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_nested, NULL);
	assert_int_equal(end_session(&w), 42);
	r = accept_all(&w);
	expect_done(&r);
	assert_int_equal(r.files, 42);
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	world_close(&w);
}

/* ---- links and races ---- */

static void
do_in_dir(void *arg)
{
	write_to("d/file", "from the session");
}

/* While the accept runs, the directory is exchanged with a link to one outside, over and over. */
static void
a_link_in_the_way_is_never_followed(void **state)
{
	int done = 0, refused = 0;

	unit_skip_under_valgrind(); /* a race needs speed */
	for (int i = 0; i < 60; i++) {
		struct world w;
		struct accept_result r;
		uint8_t manifest[32];
		pid_t pid;

		world_open(&w);
		put_dir(w.workspace, "d", 0755);
		must(mkdirat(w.root, "outside", 0777) == 0 &&
			     fchmodat(w.root, "outside", 0777, 0) == 0,
		     "mkdir");
		world_session(&w, "s_1");
		in_session(&w, do_in_dir, NULL);
		assert_int_equal(end_session(&w), 1);
		manifest_now(&w, NULL, manifest);
		must(symlinkat("../outside", w.workspace, "s") == 0, "ln");
		pid = fork();
		must(pid >= 0, "fork");
		if (pid == 0)
			for (;;)
				(void)__real_renameat2(w.workspace, "d", w.workspace, "s",
						       RENAME_EXCHANGE);
		r = accept_with(&w, NULL, manifest);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		assert_int_equal(mode_of(w.root, "outside/file"), 0);
		done += r.status == RESULT_DONE;
		refused += r.status != RESULT_DONE;
		world_close(&w);
	}
	/* Each ended one way or the other; the race was real if both were seen, or all were
	 * refused. */
	assert_int_equal(done + refused, 60);
	assert_true(refused > 0);
}

static void
a_link_for_a_directory_is_refused(void **state)
{
	struct world w;
	struct accept_result r;

	world_open(&w);
	put_dir(w.workspace, "d", 0755);
	must(mkdirat(w.root, "outside", 0777) == 0 && fchmodat(w.root, "outside", 0777, 0) == 0,
	     "mkdir");
	world_session(&w, "s_1");
	in_session(&w, do_in_dir, NULL);
	assert_int_equal(end_session(&w), 1);
	must(unlinkat(w.workspace, "d", AT_REMOVEDIR) == 0 &&
		     symlinkat("../outside", w.workspace, "d") == 0,
	     "ln");
	r = accept_all(&w);
	assert_int_equal(r.status, RESULT_REFUSED);
	assert_int_equal(mode_of(w.root, "outside/file"), 0);
	assert_true(S_ISLNK(mode_of(w.workspace, "d")));
	world_close(&w);
}

/* The child has the owner's rights and no more: what the owner may not do is not done. */
static void
the_owner_s_rights_are_the_limit(void **state)
{
	struct world w;
	struct accept_result r;
	struct buf before;

	world_open(&w);
	put_dir(w.workspace, "theirs", 0755);
	must(fchownat(w.workspace, "theirs", OTHER_UID, OTHER_UID, 0) == 0, "chown");
	world_session(&w, "s_1");
	put_dir(w.s.upper, "theirs", 0755);
	put_file(w.s.upper, "theirs/planted", "p", 0644);
	put_file(w.s.upper, "mine", "m", 0644);
	assert_int_equal(end_session(&w), 2);
	picture(&w, &before);
	r = accept_all(&w);
	expect_refused(&r, R_INVALID_PATH, "the owner of the workspace may not do it");
	expect_picture(&w, before.data);
	assert_false(accept_pending(w.s.dir));
	buf_fini(&before);
	world_close(&w);
}

static void
do_as_root(void *arg)
{
	write_to("mine", "m");
	IN(mkdir("d", 0500) == 0);
}

static void
a_workspace_of_root_s_is_one_as_well(void **state)
{
	struct world w;
	struct accept_result r;

	world_open_in(&w, "/var/tmp", 0, 0);
	world_session(&w, "s_1");
	in_session(&w, do_as_root, NULL);
	assert_int_equal(end_session(&w), 2);
	r = accept_all(&w);
	expect_done(&r);
	expect_picture(&w, ". 0755\nd dir 0500\nmine file 0644 'm' 0:0\n");
	world_close(&w);
}

static void
do_fill(void *arg)
{
	char chunk[65536];
	int fd = open("large", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	memset(chunk, 'x', sizeof(chunk));
	for (int i = 0; i < 64; i++)
		IN(fd >= 0 && write(fd, chunk, sizeof(chunk)) == (ssize_t)sizeof(chunk));
}

/* A workspace without room: on a small tmpfs, in a mount namespace of its own. */
static void
no_room_changes_nothing(void **state)
{
	struct world w;
	int status;
	pid_t pid;

	world_open(&w);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		struct accept_result r;
		struct buf before;
		struct stat st;

		IN(unshare(CLONE_NEWNS) == 0 &&
		   mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
		IN(mount("none", w.workspace_path, "tmpfs", 0, "size=1m") == 0);
		IN(chown(w.workspace_path, OWNER_UID, OWNER_GID) == 0);
		w.workspace = open(w.workspace_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		world_session(&w, "s_1");
		in_session(&w, do_fill, NULL);
		IN(end_session(&w) == 1);
		picture(&w, &before);
		r = accept_all(&w);
		expect_refused(&r, R_LIMIT_EXCEEDED, "no room in the workspace");
		expect_picture(&w, before.data);
		IN(fstat(w.workspace, &st) == 0);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
	world_close(&w);
}

/* ---- every step fails once ---- */

static bool
same_as(const struct world *w, const char *expected)
{
	struct buf b;
	bool same;

	picture(w, &b);
	same = strcmp(b.data, expected) == 0;
	buf_fini(&b);
	return same;
}

static void
show_and_fail(struct world *w, const char *what, int at)
{
	struct buf b;

	picture(w, &b);
	fail_msg("call %d: %s:\n%s", at, what, b.data);
}

/* The workspace is as before; the plan is gone; and it can be asked for again. */
static void
expect_undone(struct world *w, const uint8_t manifest[32], int at)
{
	struct accept_result r;

	if (accept_pending(w->s.dir) || !same_as(w, BEFORE))
		show_and_fail(w, "not undone", at);
	/* What was undone is no conflict of somebody else's. */
	r = accept_with(w, NULL, manifest);
	if (r.status != RESULT_DONE || !same_as(w, AFTER))
		show_and_fail(w, r.detail, at);
}

/* One accept with a fault at call AT. True: the fault was met before the end. */
static bool
fault_round(int at)
{
	struct world w;
	struct accept_result r;
	uint8_t manifest[32];
	bool met;

	fast_session_with_things(&w);
	manifest_now(&w, NULL, manifest);
	fault_parent = getpid();
	fault_count = 0;
	fault_at = at;
	r = accept_with(&w, NULL, manifest);
	fault_at = 0;
	met = r.status != RESULT_DONE;
	/* The child that was to undo it met the same fault: the next start does it. */
	if (accept_pending(w.s.dir))
		assert_true(accept_recover(w.sessions, "s_1", NULL) > 0);
	if (met)
		expect_undone(&w, manifest, at);
	else if (!same_as(&w, AFTER) || mode_of(w.sessions, "s_1") != 0)
		show_and_fail(&w, "not all done", at);
	world_close(&w);
	return met;
}

/* At every call, until so many in a row were not met that only clearing away is left. */
static int
fault_rounds(bool (*round)(int at))
{
	int met = 0, quiet = 0, step = getenv("LOOM_VALGRIND") != NULL ? 23 : 1;

	for (int at = 1; quiet < 20; at += step) {
		bool now = round(at);

		met += now;
		quiet = now ? 0 : quiet + step;
	}
	return met * step;
}

static void
each_call_that_fails_is_undone(void **state)
{
	fault_kind = FAULT_FAILS;
	assert_true(fault_rounds(fault_round) > 60);
}

static void
each_moment_of_a_crash_is_undone(void **state)
{
	fault_kind = FAULT_KILLS;
	assert_true(fault_rounds(fault_round) > 60);
}

static int undone, finished;

/* Both die, the child and the one that waits for it: the next start of the box undoes or finishes.
 */
static bool
crash_round(int at)
{
	struct store_recovered got;
	struct world w;
	struct error err = {0};
	uint8_t manifest[32];
	int status;
	pid_t pid;

	fast_session_with_things(&w);
	manifest_now(&w, NULL, manifest);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		fault_parent = getpid();
		fault_count = 0;
		fault_at = at;
		(void)accept_with(&w, NULL, manifest);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	if (WIFSIGNALED(status))
		assert_ok(store_recover(w.sessions, w.s.meta.ended_ms, &got, &err));
	else
		got = (struct store_recovered){0};
	undone += (int)got.rolled_back;
	finished += (int)got.finished;
	if (got.rolled_back > 0)
		expect_undone(&w, manifest, at);
	else if (!same_as(&w, AFTER) && (WIFSIGNALED(status) || !same_as(&w, BEFORE)))
		show_and_fail(&w, "neither before nor after", at);
	world_close(&w);
	return WIFSIGNALED(status);
}

static void
a_crash_of_all_is_mended_at_the_next_start(void **state)
{
	fault_kind = FAULT_KILLS_BOTH;
	assert_true(fault_rounds(crash_round) > 60);
	assert_true(undone > 0 && finished > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_taken_over),
		cmocka_unit_test(another_manifest_is_refused),
		cmocka_unit_test(parts_are_taken_over_by_path),
		cmocka_unit_test(what_somebody_else_changed_is_a_conflict),
		cmocka_unit_test(what_an_accept_changed_is_no_conflict),
		cmocka_unit_test(a_running_session_is_busy),
		cmocka_unit_test(another_workspace_than_recorded_is_refused),
		cmocka_unit_test(protected_paths_need_their_name),
		cmocka_unit_test(protected_things_do_not_go_down_with_their_directory),
		cmocka_unit_test(special_files_are_refused),
		cmocka_unit_test(set_id_bits_are_stripped),
		cmocka_unit_test(awkward_things_are_taken_over),
		cmocka_unit_test(long_paths_are_taken_over),
		cmocka_unit_test(a_link_in_the_way_is_never_followed),
		cmocka_unit_test(a_link_for_a_directory_is_refused),
		cmocka_unit_test(the_owner_s_rights_are_the_limit),
		cmocka_unit_test(a_workspace_of_root_s_is_one_as_well),
		cmocka_unit_test(no_room_changes_nothing),
		cmocka_unit_test(each_call_that_fails_is_undone),
		cmocka_unit_test(each_moment_of_a_crash_is_undone),
		cmocka_unit_test(a_crash_of_all_is_mended_at_the_next_start),
	};

	return needs_root() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
