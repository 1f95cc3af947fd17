/* store.h: what sessions leave on disk, on real file systems. Needs root. */
#include "box_layers.h"

#include <sys/xattr.h>

#include "base/json.h"
#include "box/accept.h"
#include "box/owner.h"

#define DEEP 20000

static uint64_t
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
fresh_layers_have_the_workspace_s_owner_and_mode(void **state)
{
	struct world w;
	struct store_meta m;
	struct stat ws, st;
	struct error err = {0};

	world_open(&w);
	must(fchmod(w.workspace, 02751) == 0, "chmod");
	world_session(&w, "s_1");
	must(fstat(w.workspace, &ws) == 0 && fstat(w.s.upper, &st) == 0, "fstat");
	assert_int_equal(st.st_mode & 07777, 02751);
	assert_int_equal(st.st_uid, OWNER_UID);
	assert_int_equal(st.st_gid, OWNER_GID);
	assert_int_equal(st.st_mtim.tv_sec, ws.st_mtim.tv_sec);
	assert_int_equal(st.st_mtim.tv_nsec, ws.st_mtim.tv_nsec);
	must(fstat(w.s.work, &st) == 0, "fstat");
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_uid, OWNER_UID);
	assert_int_equal(mode_of(w.sessions, "s_1") & 07777, 0700);
	assert_int_equal(mode_of(w.sessions, "s_1/meta.json") & 07777, 0600);
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	assert_string_equal(m.path, w.workspace_path);
	assert_int_equal(m.uid, OWNER_UID);
	assert_int_equal(m.profile[2], 3);
	assert_int_equal(m.ended_ms, 0);
	assert_true(m.started_ms > now_ms() - 60000 && m.started_ms <= now_ms());
	m = world_meta(&w, "s_1");
	{
		struct store_session again;

		assert_fails(-EEXIST, &err, store_fresh(w.sessions, &m, w.workspace, &again, &err));
	}
	/* The one that was there is untouched. */
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	world_close(&w);
}

static void
do_nothing(void *arg)
{
}

static void
do_touch(void *arg)
{
	int fd = open(arg, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	IN(fd >= 0 && write(fd, "x", 1) == 1);
}

static void
an_untouched_session_goes_at_once(void **state)
{
	struct world w;
	struct store_meta m;
	struct error err = {0};

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_nothing, NULL);
	assert_true(store_untouched(&w.s, w.workspace));
	assert_int_equal(end_session(&w), 0);
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	assert_fails(-ENOENT, &err, store_read(w.sessions, "s_1", &m, &err));
	world_close(&w);
}

static void
changes_are_kept_and_continued_on(void **state)
{
	static char one[] = "one", two[] = "two";
	struct world w;
	struct store_meta m;
	struct store_session s;
	struct error err = {0};
	int other;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_touch, one);
	assert_false(store_untouched(&w.s, w.workspace));
	assert_int_equal(end_session(&w), 1);
	store_session_close(&w.s);
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	assert_int_equal(m.changes, 1);
	assert_true(m.bytes > 0);
	assert_true(m.ended_ms >= m.started_ms);
	other = openat(w.root, "merged", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_fails(-ESTALE, &err, store_continue(w.sessions, "s_1", other, &s, &err));
	(void)close(other);
	assert_fails(-ENOENT, &err, store_continue(w.sessions, "s_2", w.workspace, &s, &err));
	assert_ok(store_continue(w.sessions, "s_1", w.workspace, &w.s, &err));
	assert_int_equal(w.s.meta.ended_ms, 0);
	in_session(&w, do_touch, two);
	assert_int_equal(end_session(&w), 2);
	assert_int_equal(w.s.meta.started_ms, m.started_ms);
	world_close(&w);
}

static void
do_remove_one(void *arg)
{
	IN(unlink("one") == 0);
}

/* A layer that cannot be judged is kept, even if all it has are marks of removed files. */
static void
what_cannot_be_counted_is_kept(void **state)
{
	struct world w;

	world_open(&w);
	put_file(w.workspace, "one", "1", 0644);
	world_session(&w, "s_1");
	in_session(&w, do_remove_one, NULL);
	must(fsetxattr(w.s.upper, "user.overlay.redirect", "/x", 2, 0) == 0, "setxattr");
	assert_int_equal(end_session(&w), 1);
	assert_true(mode_of(w.sessions, "s_1/upper/one") != 0);
	world_close(&w);
}

static void
names_that_are_no_sessions_are_refused(void **state)
{
	static const char *const names[] = {"",	      ".",	"..",  "s_",   "s_01",
					    "s_1/..", "../s_1", "S_1", "s_1x", "/etc"};
	struct world w;
	struct error err = {0};

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct store_meta m = world_meta(&w, names[i]);
		struct store_session s;

		assert_fails(-EINVAL, &err, store_fresh(w.sessions, &m, w.workspace, &s, &err));
		assert_fails(-EINVAL, &err, store_remove(w.sessions, names[i], &err));
		assert_fails(-EINVAL, &err, store_read(w.sessions, names[i], &m, &err));
	}
	world_close(&w);
}

/* Make meta.json of s_1 say TEXT. */
static void
set_meta(struct world *w, const char *text)
{
	int fd = openat(w->sessions, "s_1/meta.json", O_WRONLY | O_TRUNC | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "meta.json");
	(void)close(fd);
}

static void
meta_is_read_strictly(void **state)
{
	static const char *const swaps[][2] = {
		{"\"v\":1", "\"v\":2"},
		{"\"uid\":43210", "\"uid\":-1"},
		{"\"uid\":43210", "\"uid\":4294967296"},
		{"\"gid\":43211,", ""},
		{"\"name\":\"\"", "\"name\":\"\",\"new\":1"},
		{"\"session\":\"s_1\"", "\"session\":\"s_2\""},
		{"{", " {"},
		{"\"path\":\"/", "\"path\":\""},
		{"\"path\":\"/", "\"path\":\"\\\\q/"},
		{"\"ended\":0", "\"ended\":\"0\""},
		{"\"ino\":\"", "\"ino\":\"x"},
		{"\"dev\":\"", "\"dev\":\":"},
	};
	struct world w;
	struct store_meta m;
	struct error err = {0};
	char good[8192];

	world_open(&w);
	world_session(&w, "s_1");
	(void)snprintf(good, sizeof(good), "%.8000s", get_file(w.sessions, "s_1/meta.json"));
	for (size_t i = 0; i < ARRAY_LEN(swaps); i++) {
		char bad[sizeof(good) + 64];
		char *at = strstr(good, swaps[i][0]);

		assert_non_null(at);
		(void)snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - good), good, swaps[i][1],
			       at + strlen(swaps[i][0]));
		set_meta(&w, bad);
		assert_fails(-EBADMSG, &err, store_read(w.sessions, "s_1", &m, &err));
	}
	set_meta(&w, "");
	assert_fails(-EBADMSG, &err, store_read(w.sessions, "s_1", &m, &err));
	set_meta(&w, good);
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	world_close(&w);
}

static void
a_path_of_any_bytes_comes_back(void **state)
{
	struct world w;
	struct store_meta m, back;
	struct store_session s;
	struct error err = {0};

	world_open(&w);
	m = world_meta(&w, "s_7");
	(void)snprintf(m.path, sizeof(m.path), "/a\n\x1b[2J\xff\\x41 \"\xc3\xa9");
	(void)snprintf(m.name, sizeof(m.name), "my-name");
	assert_ok(store_fresh(w.sessions, &m, w.workspace, &s, &err));
	assert_ok(store_read(w.sessions, "s_7", &back, &err));
	assert_string_equal(back.path, m.path);
	assert_string_equal(back.name, "my-name");
	store_session_close(&s);
	world_close(&w);
}

static void
the_list_is_oldest_first(void **state)
{
	CLEANUP(buf_fini) struct buf b = {0};
	CLEANUP(json_decrefp) json_t *v = NULL;
	struct world w;
	struct error err = {0};

	world_open(&w);
	world_session(&w, "s_10");
	store_session_close(&w.s);
	world_session(&w, "s_9");
	must(mkdirat(w.sessions, "s_8", 0700) == 0 && mkdirat(w.sessions, "stray", 0700) == 0,
	     "mkdir");
	buf_init(&b, 65536);
	assert_ok(store_list(w.sessions, &b, &err));
	assert_ok(json_read_canonical(b.data, b.len, &v, &err));
	assert_int_equal(json_array_size(v), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(v, 0), "session")),
			    "s_10");
	assert_string_equal(json_string_value(json_object_get(json_array_get(v, 1), "session")),
			    "s_9");
	assert_string_equal(json_string_value(json_object_get(json_array_get(v, 1), "path")),
			    w.workspace_path);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(v, 1), "owner")), 1000);
	world_close(&w);
}

static bool
is_s_2(const char *session, void *arg)
{
	return strcmp(session, "s_2") == 0;
}

static void
what_is_too_old_goes_unless_it_is_in_use(void **state)
{
	static char one[] = "one";
	struct world w;
	struct error err = {0};
	uint32_t removed = 77;
	uint64_t later = now_ms() + STORE_KEEP_MS;

	world_open(&w);
	for (int i = 1; i <= 3; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "s_%d", i);
		world_session(&w, name);
		if (i < 3) {
			in_session(&w, do_touch, one);
			assert_int_equal(end_session(&w), 1);
		}
		store_session_close(&w.s);
	}
	assert_ok(store_expire(w.sessions, later - 60000, NULL, NULL, &removed, &err));
	assert_int_equal(removed, 0);
	/* s_2 is in use, s_3 has not ended. */
	assert_ok(store_expire(w.sessions, later + 60000, is_s_2, NULL, &removed, &err));
	assert_int_equal(removed, 1);
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	assert_true(mode_of(w.sessions, "s_2") != 0 && mode_of(w.sessions, "s_3") != 0);
	world_close(&w);
}

static void
a_start_clears_what_a_crash_left(void **state)
{
	static char one[] = "one";
	struct store_recovered got;
	struct world w;
	struct store_meta m;
	struct error err = {0};

	world_open(&w);
	world_session(&w, "s_1"); /* ran, unchanged */
	store_session_close(&w.s);
	world_session(&w, "s_2"); /* ran, changed */
	in_session(&w, do_touch, one);
	store_session_close(&w.s);
	must(mkdirat(w.sessions, "s_3", 0700) == 0 && mkdirat(w.sessions, "s_3/upper", 0700) == 0,
	     "mkdir");		  /* cut off while it was made */
	world_session(&w, "s_4"); /* unreadable */
	store_session_close(&w.s);
	put_file(w.sessions, "s_4/meta.json", "", 0600);
	must(mkdirat(w.sessions, ".probe-0011", 0700) == 0 &&
		     mkdirat(w.sessions, ".probe-0011/x", 0700) == 0 &&
		     mkdirat(w.sessions, "stray", 0700) == 0,
	     "mkdir");
	assert_ok(store_recover(w.sessions, now_ms(), &got, &err));
	assert_int_equal(got.removed, 2);
	assert_int_equal(got.kept, 1);
	assert_int_equal(got.unreadable, 1);
	assert_int_equal(got.rolled_back + got.finished, 0);
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	assert_int_equal(mode_of(w.sessions, "s_3"), 0);
	assert_int_equal(mode_of(w.sessions, ".probe-0011"), 0);
	assert_true(mode_of(w.sessions, "s_4") != 0 && mode_of(w.sessions, "stray") != 0);
	assert_ok(store_read(w.sessions, "s_2", &m, &err));
	assert_int_equal(m.changes, 1);
	assert_true(m.ended_ms != 0);
	world_close(&w);
}

static void
changes_outlive_their_workspace(void **state)
{
	static char one[] = "one";
	struct store_recovered got;
	struct world w;
	struct store_meta m;
	struct error err = {0};

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_touch, one);
	must(renameat(w.root, "ws", w.root, "moved") == 0, "rename");
	assert_ok(store_recover(w.sessions, now_ms(), &got, &err));
	assert_int_equal(got.kept, 1);
	assert_ok(store_read(w.sessions, "s_1", &m, &err));
	assert_true(m.ended_ms != 0);
	assert_true(mode_of(w.sessions, "s_1/upper/one") != 0);
	world_close(&w);
}

static void
a_kept_workspace_is_found_without_links(void **state)
{
	static char one[] = "one";
	struct world w;
	struct store_session s;
	struct error err = {0};
	int ws = -1;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_touch, one);
	assert_int_equal(end_session(&w), 1);
	assert_ok(store_open_kept(w.sessions, "s_1", &s, &ws, &err));
	store_session_close(&s);
	(void)close(ws);
	/* The same object, by a link: not followed. */
	must(renameat(w.root, "ws", w.root, "moved") == 0 && symlinkat("moved", w.root, "ws") == 0,
	     "ln");
	assert_fails(-ESTALE, &err, store_open_kept(w.sessions, "s_1", &s, &ws, &err));
	must(unlinkat(w.root, "ws", 0) == 0 && mkdirat(w.root, "ws", 0755) == 0, "mkdir");
	/* Another object of that name. */
	assert_fails(-ESTALE, &err, store_open_kept(w.sessions, "s_1", &s, &ws, &err));
	must(unlinkat(w.root, "ws", AT_REMOVEDIR) == 0, "rmdir");
	assert_fails(-ESTALE, &err, store_open_kept(w.sessions, "s_1", &s, &ws, &err));
	/* The same object, of another owner. */
	must(renameat(w.root, "moved", w.root, "ws") == 0 && fchown(w.workspace, OTHER_UID, 0) == 0,
	     "chown");
	assert_fails(-ESTALE, &err, store_open_kept(w.sessions, "s_1", &s, &ws, &err));
	world_close(&w);
}

/* ---- removing ---- */

static void
a_very_deep_tree_is_removed(void **state)
{
	struct world w;
	struct error err = {0};
	int depth = getenv("LOOM_VALGRIND") != NULL ? 600 : DEEP, cur, before, after;

	/* On the disk, making this takes ten times as long as removing it. */
	world_open_in(&w, "/dev/shm", OWNER_UID, OWNER_GID);
	must(mkdirat(w.root, "deep", 0755) == 0, "mkdir");
	cur = openat(w.root, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth; i++) {
		int next;

		must(mkdirat(cur, "d", i % 7 == 3 ? 0 : 0700) == 0, "mkdir");
		next = openat(cur, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(next >= 0, "open");
		(void)close(cur);
		cur = next;
	}
	(void)close(cur);
	before = dup(0);
	assert_ok(store_remove_tree(w.root, "deep", &err));
	after = dup(0);
	assert_int_equal(before + 1, after); /* no descriptor is left open */
	(void)close(before);
	(void)close(after);
	assert_int_equal(mode_of(w.root, "deep"), 0);
	world_close(&w);
}

static void
awkward_trees_are_removed_as_their_owner(void **state)
{
	struct world w;
	char longest[256];
	int status;
	pid_t pid;

	memset(longest, 'a', 255);
	longest[255] = '\0';
	world_open(&w);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		const char *const names[] = {"\n", "-rf", "\xff\xfe", longest, "* ?", "\x1b[2J"};
		struct error err = {0};

		IN(setresgid(OWNER_GID, OWNER_GID, OWNER_GID) == 0);
		IN(setresuid(OWNER_UID, OWNER_UID, OWNER_UID) == 0);
		IN(mkdirat(w.workspace, "t", 0755) == 0);
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			char path[600];

			(void)snprintf(path, sizeof(path), "t/%s", names[i]);
			IN(mkdirat(w.workspace, path, 01777) == 0);
			(void)snprintf(path, sizeof(path), "t/%s/%s", names[i], names[i]);
			IN(symlinkat("/etc", w.workspace, path) == 0);
			(void)snprintf(path, sizeof(path), "t/%s/p", names[i]);
			IN(mkfifoat(w.workspace, path, 0) == 0);
			(void)snprintf(path, sizeof(path), "t/%s/e", names[i]);
			IN(mkdirat(w.workspace, path, 0) == 0);
			(void)snprintf(path, sizeof(path), "t/%s", names[i]);
			IN(fchmodat(w.workspace, path, i % 2 ? 0 : 0555, 0) == 0);
		}
		IN(fchmodat(w.workspace, "t", 0555, 0) == 0);
		if (store_remove_tree(w.workspace, "t", &err) != 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			_exit(1);
		}
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
	assert_int_equal(mode_of(w.workspace, "t"), 0);
	world_close(&w);
}

static void
links_are_removed_and_not_followed(void **state)
{
	struct world w;
	struct error err = {0};

	world_open(&w);
	must(mkdirat(w.root, "keep", 0755) == 0 && mkdirat(w.root, "t", 0755) == 0, "mkdir");
	put_file(w.root, "keep/canary", "x", 0644);
	must(symlinkat("../keep", w.root, "t/link") == 0 && symlinkat("t", w.root, "top") == 0,
	     "ln");
	assert_ok(store_remove_tree(w.root, "top", &err));
	assert_true(mode_of(w.root, "t") != 0);
	assert_ok(store_remove_tree(w.root, "t", &err));
	assert_int_equal(mode_of(w.root, "t"), 0);
	assert_true(mode_of(w.root, "keep/canary") != 0);
	assert_ok(store_remove_tree(w.root, "never-there", &err));
	put_file(w.root, "file", "x", 0644);
	assert_ok(store_remove_tree(w.root, "file", &err));
	assert_int_equal(mode_of(w.root, "file"), 0);
	world_close(&w);
}

static void
a_mount_is_not_crossed(void **state)
{
	struct world w;
	int status;
	pid_t pid;

	world_open(&w);
	must(mkdirat(w.root, "t", 0755) == 0 && mkdirat(w.root, "t/m", 0755) == 0, "mkdir");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		struct error err = {0};
		char path[128];
		int fd, r;

		(void)snprintf(path, sizeof(path), "%s/t/m", w.path);
		IN(unshare(CLONE_NEWNS) == 0);
		IN(mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
		IN(mount("none", path, "tmpfs", 0, "") == 0);
		fd = openat(w.root, "t/m/canary", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		IN(fd >= 0);
		r = store_remove_tree(w.root, "t", &err);
		IN(r == -EXDEV || r == -EBUSY);
		IN(faccessat(w.root, "t/m/canary", F_OK, 0) == 0);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
	world_close(&w);
}

static void
many_entries_are_removed(void **state)
{
	struct world w;
	struct error err = {0};
	int n = getenv("LOOM_VALGRIND") != NULL ? 3000 : 100000;

	world_open_in(&w, "/dev/shm", OWNER_UID, OWNER_GID);
	must(mkdirat(w.root, "t", 0755) == 0, "mkdir");
	for (int i = 0; i < n; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "t/%d", i);
		if (i % 50 ==
		    0) { /* directories with something in them, so that they are remembered */
			must(mkdirat(w.root, name, 0700) == 0, "mkdir");
			(void)snprintf(name, sizeof(name), "t/%d/x", i);
		}
		must(mknodat(w.root, name, S_IFREG | 0600, 0) == 0, "mknod");
	}
	assert_ok(store_remove_tree(w.root, "t", &err));
	assert_int_equal(mode_of(w.root, "t"), 0);
	world_close(&w);
}

static void
an_accept_under_way_stops_removal(void **state)
{
	static char one[] = "one";
	struct world w;
	struct error err = {0};

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_touch, one);
	assert_int_equal(end_session(&w), 1);
	put_file(w.s.dir, "accept.plan", "", 0600);
	assert_true(accept_pending(w.s.dir));
	assert_fails(-EBUSY, &err, store_remove(w.sessions, "s_1", &err));
	assert_true(mode_of(w.sessions, "s_1/upper/one") != 0);
	must(unlinkat(w.s.dir, "accept.plan", 0) == 0, "unlink");
	assert_ok(store_remove(w.sessions, "s_1", &err));
	assert_int_equal(mode_of(w.sessions, "s_1"), 0);
	assert_fails(-ENOENT, &err, store_remove(w.sessions, "s_1", &err));
	world_close(&w);
}

static int
count_names(void *arg, const char *name, unsigned char type, struct error *err)
{
	++*(int *)arg;
	return 0;
}

static void
what_an_overlay_needs_is_tried(void **state)
{
	struct world w;
	struct error err = {0};
	int status, n = 0, fd;
	pid_t pid;

	world_open(&w);
	assert_ok(store_capable(w.sessions, &err));
	fd = openat(w.sessions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(owner_list(fd, count_names, &n, &err));
	(void)close(fd);
	assert_int_equal(n, 0); /* nothing is left behind */
	/* ramfs has no attributes of users. */
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		char path[128];
		int r;

		(void)snprintf(path, sizeof(path), "%s/merged", w.path);
		IN(unshare(CLONE_NEWNS) == 0);
		IN(mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0);
		IN(mount("none", path, "ramfs", 0, "") == 0);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = store_capable(fd, &err);
		IN(r == -EOPNOTSUPP);
		IN(strstr(err.text, "attributes") != NULL);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_layers_have_the_workspace_s_owner_and_mode),
		cmocka_unit_test(an_untouched_session_goes_at_once),
		cmocka_unit_test(changes_are_kept_and_continued_on),
		cmocka_unit_test(what_cannot_be_counted_is_kept),
		cmocka_unit_test(names_that_are_no_sessions_are_refused),
		cmocka_unit_test(meta_is_read_strictly),
		cmocka_unit_test(a_path_of_any_bytes_comes_back),
		cmocka_unit_test(the_list_is_oldest_first),
		cmocka_unit_test(what_is_too_old_goes_unless_it_is_in_use),
		cmocka_unit_test(a_start_clears_what_a_crash_left),
		cmocka_unit_test(changes_outlive_their_workspace),
		cmocka_unit_test(a_kept_workspace_is_found_without_links),
		cmocka_unit_test(a_very_deep_tree_is_removed),
		cmocka_unit_test(awkward_trees_are_removed_as_their_owner),
		cmocka_unit_test(links_are_removed_and_not_followed),
		cmocka_unit_test(a_mount_is_not_crossed),
		cmocka_unit_test(many_entries_are_removed),
		cmocka_unit_test(an_accept_under_way_stops_removal),
		cmocka_unit_test(what_an_overlay_needs_is_tried),
	};

	return needs_root() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
