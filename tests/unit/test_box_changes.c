/* changes.h, selection.h, protect.h, manifest.h: over overlays that the kernel made. Needs root. */
#include "box_layers.h"

#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "box/changes.h"
#include "box/manifest.h"
#include "box/owner.h"
#include "box/protect.h"
#include "box/selection.h"

/* ---- seeing what a walk says ---- */

static int
note_change(void *arg, const struct change *c, struct error *err)
{
	struct buf *b = arg;

	buf_fmt(b, "%s %s ", change_kind_name(c->kind), change_type_name(c->type));
	text_escape(c->path, c->path_len, b);
	buf_fmt(b, " %04o", c->mode);
	if (c->type == TYPE_FILE || c->type == TYPE_LINK)
		buf_fmt(b, " %llu", (unsigned long long)c->size);
	buf_char(b, '\n');
	return 0;
}

static void
expect_changes(struct world *w, const char *expected)
{
	const struct changes_in in = {
		.upper = w->s.upper, .lower = w->workspace, .depth_max = CHANGES_DEPTH_MAX};
	struct error err = {0};
	struct buf b;

	buf_init(&b, 1u << 20);
	if (changes_walk(&in, note_change, &b, &err) != 0)
		fail_msg("changes_walk: %s", err.text);
	assert_string_equal(b.data, expected);
	buf_fini(&b);
}

static void
workspace_with_things(struct world *w)
{
	world_open(w);
	put_file(w->workspace, "same", "same", 0644);
	put_file(w->workspace, "touched", "t", 0644);
	put_file(w->workspace, "edited", "one\n", 0644);
	put_file(w->workspace, "resized", "one\n", 0644);
	put_file(w->workspace, "mode", "m", 0644);
	put_file(w->workspace, "gone", "g", 0640);
	put_file(w->workspace, "tolink", "l", 0644);
	put_dir(w->workspace, "dir", 0755);
	put_file(w->workspace, "dir/in", "i", 0644);
	put_file(w->workspace, "dir/out", "o", 0644);
	put_dir(w->workspace, "dirmode", 0755);
	put_dir(w->workspace, "dirgone", 0755);
	put_file(w->workspace, "dirgone/x", "x", 0644);
	put_dir(w->workspace, "replaced", 0755);
	put_dir(w->workspace, "replaced/sub", 0755);
	put_file(w->workspace, "replaced/a", "a", 0644);
	put_file(w->workspace, "replaced/b", "b", 0644);
	put_file(w->workspace, "replaced/sub/c", "c", 0644);
	put_file(w->workspace, "tofile", "", 0644);
	must(symlinkat("same", w->workspace, "link") == 0 &&
		     fchownat(w->workspace, "link", OWNER_UID, OWNER_GID, AT_SYMLINK_NOFOLLOW) == 0,
	     "ln");
	world_session(w, "s_1");
}

static void
write_to(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	IN(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	IN(close(fd) == 0);
}

static void
do_all_kinds(void *arg)
{
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

	IN(utimensat(AT_FDCWD, "touched", times, 0) == 0);
	write_to("edited", "two\n");
	write_to("resized", "three\n");
	IN(chmod("mode", 0755) == 0);
	IN(unlink("gone") == 0);
	IN(unlink("tolink") == 0 && symlink("/etc/passwd", "tolink") == 0);
	write_to("dir/new", "n");
	IN(unlink("dir/out") == 0);
	IN(chmod("dirmode", 0700) == 0);
	IN(unlink("dirgone/x") == 0 && rmdir("dirgone") == 0);
	IN(unlink("replaced/a") == 0 && unlink("replaced/b") == 0 &&
	   unlink("replaced/sub/c") == 0 && rmdir("replaced/sub") == 0 && rmdir("replaced") == 0);
	IN(mkdir("replaced", 0755) == 0 && mkdir("replaced/sub", 0755) == 0);
	write_to("replaced/b", "b");
	write_to("replaced/new", "n");
	IN(unlink("tofile") == 0 && mkdir("tofile", 0755) == 0);
	write_to("tofile/deep", "d");
	IN(unlink("link") == 0 && symlink("dangling", "link") == 0);
	IN(mkfifo("fifo", 0600) == 0);
	/* Made and gone again, and gone and made again as it was. */
	write_to("brief", "b");
	IN(unlink("brief") == 0);
	IN(unlink("same") == 0);
	write_to("same", "same");
}

static void
every_kind_of_change_is_seen(void **state)
{
	struct world w;

	workspace_with_things(&w);
	in_session(&w, do_all_kinds, NULL);
	expect_changes(&w, "added file dir/new 0644 1\n"
			   "deleted file dir/out 0644 1\n"
			   "deleted dir dirgone 0755\n"
			   "mode dir dirmode 0700\n"
			   "modified file edited 0644 4\n"
			   "added fifo fifo 0600\n"
			   "deleted file gone 0640 1\n"
			   "modified link link 0777 8\n"
			   "mode file mode 0755 1\n"
			   "deleted file replaced/a 0644 1\n"
			   "added file replaced/new 0644 1\n"
			   "deleted file replaced/sub/c 0644 1\n"
			   "modified file resized 0644 6\n"
			   "type dir tofile 0755\n"
			   "added file tofile/deep 0644 1\n"
			   "type link tolink 0777 11\n");
	assert_int_equal(end_session(&w), 16);
	world_close(&w);
}

static void
do_nothing(void *arg)
{
}

static void
nothing_done_is_nothing_changed(void **state)
{
	struct world w;

	workspace_with_things(&w);
	in_session(&w, do_nothing, NULL);
	expect_changes(&w, "");
	world_close(&w);
}

static void
do_root_mode(void *arg)
{
	IN(chmod(".", 0700) == 0);
}

static void
the_root_s_mode_is_a_change(void **state)
{
	struct world w;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_root_mode, NULL);
	assert_false(store_untouched(&w.s, w.workspace));
	expect_changes(&w, "mode dir . 0700\n");
	world_close(&w);
}

/* A layer whose whiteouts are attributes, as newer tools make them. */
static void
whiteouts_as_attributes_count(void **state)
{
	struct world w;
	int fd;

	world_open(&w);
	put_file(w.workspace, "gone", "g", 0644);
	put_file(w.workspace, "emptied", "e", 0644);
	world_session(&w, "s_1");
	put_file(w.s.upper, "gone", "", 0644);
	put_file(w.s.upper, "emptied", "", 0644);
	fd = openat(w.s.upper, "gone", O_WRONLY | O_CLOEXEC);
	must(fsetxattr(fd, "user.overlay.whiteout", "y", 1, 0) == 0, "setxattr");
	(void)close(fd);
	/* Without the mark on the directory the kernel does not look for them either. */
	expect_changes(&w, "modified file emptied 0644 0\nmodified file gone 0644 0\n");
	must(fsetxattr(w.s.upper, "user.overlay.opaque", "x", 1, 0) == 0, "setxattr");
	expect_changes(&w, "modified file emptied 0644 0\ndeleted file gone 0644 1\n");
	world_close(&w);
}

static void
layers_that_no_session_makes_are_refused(void **state)
{
	static const char *const bad[] = {"user.overlay.redirect", "user.overlay.metacopy"};
	struct world w;
	struct error err = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct changes_in in = {0};
		struct changes_in use = in;
		struct buf b;
		int fd;

		world_open(&w);
		put_file(w.workspace, "f", "g", 0644);
		world_session(&w, "s_1");
		put_file(w.s.upper, "f", "h", 0644);
		put_dir(w.s.upper, "d", 0755);
		fd = openat(w.s.upper, i == 0 ? "d" : "f", O_RDONLY | O_CLOEXEC);
		must(fsetxattr(fd, bad[i], "/etc", 4, 0) == 0, "setxattr");
		(void)close(fd);
		use.upper = w.s.upper;
		use.lower = w.workspace;
		buf_init(&b, 65536);
		assert_fails(-EUCLEAN, &err, changes_walk(&use, note_change, &b, &err));
		buf_fini(&b);
		world_close(&w);
	}
}

/* ---- awkward content ---- */

static void
do_awkward(void *arg)
{
	char longest[256];
	struct sockaddr_un sun = {.sun_family = AF_UNIX, .sun_path = "sock"};
	int fd, s;

	memset(longest, 'a', 255);
	longest[255] = '\0';
	write_to(longest, "l");
	write_to("new\nline", "n");
	write_to("\x1b[2J", "e");
	write_to("\xff\xfe", "u");
	write_to("-rf", "r");
	IN(mkfifo("fifo", 0644) == 0);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	IN(s >= 0 && bind(s, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	fd = open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	IN(fd >= 0 && ftruncate(fd, 1 << 26) == 0 && close(fd) == 0);
	write_to("hard1", "h");
	IN(link("hard1", "hard2") == 0);
	IN(symlink("/nowhere/at/all", "dangling") == 0);
	write_to("secret", "s");
	IN(chmod("secret", 0) == 0);
	IN(mkdir("closed", 0755) == 0);
	write_to("closed/in", "i");
	IN(chmod("closed", 0) == 0);
}

#define AWKWARD                                                                                    \
	"added file \\x1b[2J 0644 1\n"                                                             \
	"added file -rf 0644 1\n"                                                                  \
	"added file %s 0644 1\n"                                                                   \
	"added dir closed 0000\n"                                                                  \
	"added file closed/in 0644 1\n"                                                            \
	"added link dangling 0777 15\n"                                                            \
	"added fifo fifo 0644\n"                                                                   \
	"added file hard1 0644 1\n"                                                                \
	"added file hard2 0644 1\n"                                                                \
	"added file new\\x0aline 0644 1\n"                                                         \
	"added file secret 0000 1\n"                                                               \
	"added socket sock 0755\n"                                                                 \
	"added file sparse 0644 67108864\n"                                                        \
	"added file \\xff\\xfe 0644 1\n"

static void
awkward_things_are_told(void **state)
{
	struct world w;
	char longest[256], expected[sizeof(AWKWARD) + 256];

	memset(longest, 'a', 255);
	longest[255] = '\0';
	(void)snprintf(expected, sizeof(expected), AWKWARD, longest);
	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_awkward, NULL);
	expect_changes(&w, expected);
	world_close(&w);
}

/* In a child that has become the owner: FN's exit status 0. */
static void
as_owner(struct world *w, void (*fn)(struct world *w))
{
	int status;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0) {
		struct error err = {0};

		IN(owner_become(w->uid, w->gid, &err) == 0);
		fn(w);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_int_equal(status, 0);
}

static void
manifest_as_owner(struct world *w)
{
	struct selection sel = {0};
	struct error err = {0};
	uint8_t digest[32];
	struct stat st;

	/* The rights that are gone. */
	IN(geteuid() == OWNER_UID && getegid() == OWNER_GID && getgroups(0, NULL) == 0);
	IN(setresuid(0, 0, 0) != 0);
	IN(openat(w->workspace, "foreign", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	IN(openat(w->s.upper, "secret", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	/* The reserve reads the owner's own, and nobody else's. */
	IN(owner_open_file(w->s.upper, "secret") >= 0);
	IN(owner_open_file(w->workspace, "foreign") < 0 && errno == EACCES);
	IN(owner_open_dir(w->s.upper, "closed") >= 0);
	IN(owner_open_dir(w->workspace, "foreigndir") < 0 && errno == EACCES);
	IN(owner_open_file(w->s.upper, "fifo") < 0 && errno == EINVAL);
	IN(owner_open_file(w->s.upper, "dangling") < 0 && errno == EINVAL);
	IN(owner_stat(w->s.upper, "closed/in", &st) == 0 || errno == EACCES);
	IN(selection_read(NULL, 0, &sel, &err) == 0);
	if (manifest_of(w->s.upper, w->workspace, &sel, -1, digest, &err) != 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
	selection_fini(&sel);
}

static void
the_owner_can_read_all_of_its_layer(void **state)
{
	struct world w;

	world_open(&w);
	put_file(w.workspace, "foreign", "f", 0600);
	must(fchownat(w.workspace, "foreign", OTHER_UID, 0, 0) == 0, "chown");
	put_dir(w.workspace, "foreigndir", 0700);
	must(fchownat(w.workspace, "foreigndir", OTHER_UID, 0, 0) == 0, "chown");
	world_session(&w, "s_1");
	in_session(&w, do_awkward, NULL);
	as_owner(&w, manifest_as_owner);
	world_close(&w);
}

static void
do_in_big(void *arg)
{
	write_to("big/new", "n");
	write_to("big/f7", "changed");
}

static void
walk_as_owner(struct world *w)
{
	const struct changes_in in = {.upper = w->s.upper, .lower = w->workspace};
	struct error err = {0};
	struct buf b;

	IN(openat(w->workspace, "big", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0);
	buf_init(&b, 65536);
	if (changes_walk(&in, note_change, &b, &err) == 0)
		_exit(1); /* the walk opens it: it is not listed, but may not be opened either */
	IN(err.code == -EACCES);
	buf_fini(&b);
}

/*
 * Time depends on the changes, not on the size of the workspace: directories of the workspace are
 * not listed. Seen by their access times, which listing moves.
 */
static void
the_workspace_is_not_listed(void **state)
{
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	struct world w;
	struct stat st;
	char c;
	int fd;

	world_open(&w);
	put_dir(w.workspace, "big", 0755);
	for (int i = 0; i < 100; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "big/f%d", i);
		put_file(w.workspace, name, "x", 0644);
	}
	world_session(&w, "s_1");
	in_session(&w, do_in_big, NULL);
	must(utimensat(w.workspace, "big", times, 0) == 0, "utimensat");
	expect_changes(&w, "modified file big/f7 0644 7\nadded file big/new 0644 1\n");
	must(fstatat(w.workspace, "big", &st, 0) == 0, "stat");
	assert_int_equal(st.st_atim.tv_sec, 1000);
	/* And listing does move them here. */
	fd = openat(w.workspace, "big", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(syscall(SYS_getdents64, fd, (char[4096]){0}, 4096) > 0, "getdents");
	(void)close(fd);
	must(fstatat(w.workspace, "big", &st, 0) == 0, "stat");
	if (st.st_atim.tv_sec == 1000)
		unit_skip("this mount keeps no access times");
	(void)c;
	world_close(&w);
}

static void
a_workspace_closed_to_its_owner_is_an_error(void **state)
{
	struct world w;

	world_open(&w);
	put_dir(w.workspace, "big", 0755);
	put_file(w.workspace, "big/f7", "x", 0644);
	world_session(&w, "s_1");
	in_session(&w, do_in_big, NULL);
	must(fchownat(w.workspace, "big", OTHER_UID, 0, 0) == 0 &&
		     fchmodat(w.workspace, "big", 0700, 0) == 0,
	     "chown");
	as_owner(&w, walk_as_owner);
	world_close(&w);
}

/* ---- depth ---- */

static void
do_deep(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		IN(mkdir("d", 0755) == 0 && chdir("d") == 0);
	write_to("bottom", "b");
}

static void
depth_is_bounded_for_paths_and_not_for_counting(void **state)
{
	static int depth = 20000;
	struct world w;
	struct error err = {0};
	struct selection sel = {0};
	const struct changes_in in = {0};
	struct changes_in use = in;
	uint8_t digest[32];
	struct buf b;

	unit_skip_under_valgrind(); /* for time only */
	world_open_fast(&w);
	world_session(&w, "s_1");
	in_session(&w, do_deep, &depth);
	buf_init(&b, 64u << 20);
	use.upper = w.s.upper;
	use.lower = w.workspace;
	use.depth_max = CHANGES_DEPTH_MAX;
	assert_fails(-E2BIG, &err, changes_walk(&use, note_change, &b, &err));
	assert_ok(selection_read(NULL, 0, &sel, &err));
	assert_fails(-E2BIG, &err, manifest_of(w.s.upper, w.workspace, &sel, -1, digest, &err));
	assert_int_equal(end_session(&w), (uint64_t)depth + 1);
	assert_ok(store_remove(w.sessions, "s_1", &err));
	buf_fini(&b);
	selection_fini(&sel);
	world_close(&w);
}

static void
do_4096_deep(void *arg)
{
	static int depth = CHANGES_DEPTH_MAX - 1;

	do_deep(&depth);
}

static void
the_deepest_that_is_told_is_told(void **state)
{
	struct world w;
	struct error err = {0};
	struct selection sel = {0};
	uint8_t digest[32];

	unit_skip_under_valgrind(); /* for time only */
	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_4096_deep, NULL);
	assert_ok(selection_read(NULL, 0, &sel, &err));
	assert_ok(manifest_of(w.s.upper, w.workspace, &sel, -1, digest, &err));
	selection_fini(&sel);
	world_close(&w);
}

/* ---- selections ---- */

static struct selection
select_paths(const char *bytes, size_t len)
{
	struct selection sel = {0};
	struct error err = {0};

	if (selection_read(bytes, len, &sel, &err) != 0)
		fail_msg("selection: %s", err.text);
	return sel;
}
#define SELECT(literal) select_paths(literal, sizeof(literal)) /* the last NUL is C's */

static enum selected
judge(struct selection *s, const char *path, enum change_kind kind, enum change_type type)
{
	struct change c = {.path = path, .path_len = strlen(path), .kind = kind, .type = type};

	return selection_judge(s, &c, NULL);
}

static void
a_selection_is_by_component(void **state)
{
	struct selection s = SELECT("src\0./doc//a/\0src/sub\0a-b/c");

	assert_int_equal(s.n, 4);
	assert_true(selection_covers(&s, "src"));
	assert_true(selection_covers(&s, "src/x/y"));
	assert_true(selection_covers(&s, "doc/a"));
	assert_false(selection_covers(&s, "src2"));
	assert_false(selection_covers(&s, "doc"));
	assert_false(selection_covers(&s, "a-b"));
	assert_false(selection_covers(&s, "."));
	assert_true(selection_names(&s, "src/sub"));
	assert_false(selection_names(&s, "src/x"));
	/* The directory that something selected lies in has to be there; a sibling in order does
	 * not. */
	assert_int_equal(judge(&s, "a-b", CHANGE_ADDED, TYPE_DIR), SELECTED_IMPLIED);
	assert_int_equal(judge(&s, "doc", CHANGE_TYPE, TYPE_DIR), SELECTED_IMPLIED);
	assert_int_equal(judge(&s, "doc", CHANGE_MODE, TYPE_DIR), SELECTED_NO);
	assert_int_equal(judge(&s, "a", CHANGE_ADDED, TYPE_DIR), SELECTED_NO);
	selection_fini(&s);
	s = SELECT(".");
	assert_true(selection_covers(&s, "."));
	assert_true(selection_covers(&s, "any/thing"));
	assert_int_equal(judge(&s, ".", CHANGE_MODE, TYPE_DIR), SELECTED_YES);
	selection_fini(&s);
	s = select_paths("", 0);
	assert_true(selection_covers(&s, "any"));
	selection_fini(&s);
}

static void
paths_that_lead_out_are_no_selection(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {{"/etc\0", 5}, {"..\0", 3}, {"a/../b\0", 7}, {"a\nb\0", 4},
		   {"a", 1},	  {"a\0b", 3}, {"~\0/x\0", 5}};
	struct error err = {0};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct selection s = {0};

		assert_fails(-EINVAL, &err, selection_read(bad[i].bytes, bad[i].len, &s, &err));
		assert_null(s.paths);
	}
}

static void
a_recorded_selection_reads_the_same(void **state)
{
	CLEANUP(json_decrefp) json_t *paths = json_array();
	CLEANUP(json_decrefp) json_t *bad = json_pack("[s]", "a\\x0"), *none = json_pack("[i]", 1);
	struct selection s = {0};
	struct error err = {0};

	assert_int_equal(json_array_append_new(paths, json_escaped("b\xff\\", 3)), 0);
	assert_int_equal(json_array_append_new(paths, json_escaped("a", 1)), 0);
	assert_ok(selection_read_json(paths, &s, &err));
	assert_int_equal(s.n, 2);
	assert_string_equal(s.paths[0], "a");
	assert_string_equal(s.paths[1], "b\xff\\");
	selection_fini(&s);
	assert_ok(selection_read_json(NULL, &s, &err));
	assert_int_equal(s.n, 0);
	selection_fini(&s);
	assert_fails(-EINVAL, &err, selection_read_json(bad, &s, &err));
	assert_fails(-EINVAL, &err, selection_read_json(none, &s, &err));
	json_decrefp(&none);
}

static void
escaped_text_reads_back_all_bytes(void **state)
{
	static const char *const bad[] = {"\\",	   "\\q",   "\\x",   "\\x4",
					  "\\xG0", "\\x00", "\\X41", "\\xAB"};
	char all[256], *back;
	struct error err = {0};

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	{
		CLEANUP(json_decrefp) json_t *v = json_escaped(all, 255);

		assert_ok(escaped_read(json_string_value(v), &back, &err));
		assert_string_equal(back, all);
		free(back);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_fails(-EINVAL, &err, escaped_read(bad[i], &back, &err));
}

static void
protection_is_by_component_and_case(void **state)
{
	static const struct {
		const char *path;
		enum protection expected;
	} cases[] = {
		{".git", PROTECT_NEVER},
		{".git/config", PROTECT_NEVER},
		{"sub/.git/hooks/x", PROTECT_NEVER},
		{".GIT/config", PROTECT_NEVER},
		{".git./x", PROTECT_NEVER},
		{".git /x", PROTECT_NEVER},
		{"git~1", PROTECT_NEVER},
		{".g\xe2\x80\x8cit", PROTECT_NEVER},
		{".git::$INDEX_ALLOCATION/x", PROTECT_NEVER},
		{".gitignore", PROTECT_NONE},
		{"x.git/config", PROTECT_NONE},
		{".gitx", PROTECT_NONE},
		{"a.git", PROTECT_NONE},
		{".gitmodules", PROTECT_NAMED},
		{"vendor/x/.gitattributes", PROTECT_NAMED},
		{".github/workflows/ci.yml", PROTECT_NAMED},
		{".github", PROTECT_NAMED},
		{".vscode/tasks.json", PROTECT_NAMED},
		{".VSCode/tasks.json", PROTECT_NAMED},
		{"AGENTS.md", PROTECT_NAMED},
		{"agents.MD", PROTECT_NAMED},
		{"docs/AGENTS.md.txt", PROTECT_NONE},
		{"jenkinsfile", PROTECT_NAMED},
		{".cargo/config.toml", PROTECT_NAMED},
		{".cargo/registry", PROTECT_NONE},
		{".loom/policy.json", PROTECT_NAMED},
		{"src/main.c", PROTECT_NONE},
		{"", PROTECT_NONE},
		{"x/.vscode", PROTECT_NAMED},
		{".vscode-old/x", PROTECT_NONE},
		{".mcp.json", PROTECT_NAMED},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (protect_path(cases[i].path, NULL) != cases[i].expected)
			fail_msg("%s", cases[i].path);
}

static void
protected_paths_are_named_one_by_one(void **state)
{
	struct selection s = select_paths("", 0);

	assert_int_equal(judge(&s, "a", CHANGE_ADDED, TYPE_FILE), SELECTED_YES);
	assert_int_equal(judge(&s, ".envrc", CHANGE_ADDED, TYPE_FILE), SELECTED_PROTECTED);
	assert_int_equal(judge(&s, ".git/x", CHANGE_ADDED, TYPE_FILE), SELECTED_NEVER);
	selection_fini(&s);
	s = SELECT(".\0.vscode/tasks.json\0.github\0.git/config");
	assert_int_equal(judge(&s, "a", CHANGE_ADDED, TYPE_FILE), SELECTED_YES);
	assert_int_equal(judge(&s, ".envrc", CHANGE_ADDED, TYPE_FILE), SELECTED_NO);
	assert_int_equal(judge(&s, ".vscode", CHANGE_ADDED, TYPE_DIR), SELECTED_IMPLIED);
	assert_int_equal(judge(&s, ".vscode/tasks.json", CHANGE_ADDED, TYPE_FILE), SELECTED_YES);
	assert_int_equal(judge(&s, ".vscode/other.json", CHANGE_ADDED, TYPE_FILE), SELECTED_NO);
	assert_int_equal(judge(&s, ".github", CHANGE_ADDED, TYPE_DIR), SELECTED_YES);
	assert_int_equal(judge(&s, ".github/w.yml", CHANGE_ADDED, TYPE_FILE), SELECTED_PROTECTED);
	assert_int_equal(judge(&s, ".git/index", CHANGE_ADDED, TYPE_FILE), SELECTED_NO);
	assert_int_equal(judge(&s, ".git/config", CHANGE_ADDED, TYPE_FILE), SELECTED_NEVER);
	selection_fini(&s);
}

/* ---- documents ---- */

/* Run the job as the box does, in a child. Returns its result; the document is OUT. */
static int
run_diff(struct world *w, enum diff_form form, const char *paths, size_t len, struct buf *out,
	 enum reason *ret_reason)
{
	int pipes[2], status;
	struct error err = {0};
	pid_t pid;

	must(pipe2(pipes, O_CLOEXEC) == 0, "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		const struct diff_in in = {.sessions = w->sessions,
					   .session = "s_1",
					   .form = form,
					   .paths = paths,
					   .paths_len = len,
					   .out_fd = pipes[1]};
		enum reason reason;
		int r = diff_job(&in, &reason, &err);

		IN(r != 0 || geteuid() == OWNER_UID);
		_exit(r == 0 ? 0 : 100 + (int)reason);
	}
	(void)close(pipes[1]);
	buf_init(out, 256u << 20);
	assert_ok(fd_read_to_end(pipes[0], out, &err));
	(void)close(pipes[0]);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 0)
		return 0;
	assert_true(WEXITSTATUS(status) >= 100);
	*ret_reason = (enum reason)(WEXITSTATUS(status) - 100);
	return -1;
}

static void
the_list_says_what_is_protected(void **state)
{
	struct world w;
	struct buf out;
	struct error err = {0};
	enum reason reason;
	json_t *v, *list;

	workspace_with_things(&w);
	in_session(&w, do_all_kinds, NULL);
	assert_int_equal(end_session(&w), 16);
	assert_int_equal(run_diff(&w, DIFF_LIST, "mode\0.envrc", 12, &out, &reason), 0);
	assert_string_equal(out.data,
			    "{\"changes\":[{\"kind\":\"mode\",\"mode\":\"0755\",\"path\":\"mode\","
			    "\"protected\":false,\"size\":1,\"type\":\"file\"}],\"truncated\":"
			    "false}");
	buf_fini(&out);
	assert_int_equal(run_diff(&w, DIFF_LIST, NULL, 0, &out, &reason), 0);
	assert_ok(json_read_canonical(out.data, out.len, &v, &err));
	list = json_object_get(v, "changes");
	assert_int_equal(json_array_size(list), 16);
	json_decref(v);
	buf_fini(&out);
	assert_int_equal(run_diff(&w, DIFF_LIST, "../x", 5, &out, &reason), -1);
	assert_int_equal(reason, R_INVALID_PATH);
	buf_fini(&out);
	world_close(&w);
}

static void
the_manifest_is_canonical_and_names_the_content(void **state)
{
	struct world w;
	struct buf out, again;
	struct error err = {0};
	struct selection sel = {0};
	enum reason reason;
	uint8_t digest[32], expected[32];
	json_t *v;

	workspace_with_things(&w);
	in_session(&w, do_all_kinds, NULL);
	assert_int_equal(end_session(&w), 16);
	assert_int_equal(
		run_diff(&w, DIFF_MANIFEST, "edited\0link\0gone\0tolink", 24, &out, &reason), 0);
	assert_string_equal(
		out.data,
		"[{\"kind\":\"modified\",\"mode\":\"0644\",\"path\":\"edited\",\"sha256\":"
		"\"27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a\",\"size\":4,"
		"\"type\":"
		"\"file\"},{\"kind\":\"deleted\",\"path\":\"gone\",\"type\":\"file\"},{\"kind\":"
		"\"modified\","
		"\"mode\":\"0777\",\"path\":\"link\",\"target\":\"dangling\",\"type\":\"link\"},{"
		"\"kind\":"
		"\"type\",\"mode\":\"0777\",\"path\":\"tolink\",\"target\":\"/etc/"
		"passwd\",\"type\":\"link\"}]");
	buf_fini(&out);
	assert_int_equal(run_diff(&w, DIFF_MANIFEST, NULL, 0, &out, &reason), 0);
	assert_ok(json_read_canonical(out.data, out.len, &v, &err));
	json_decref(v);
	assert_int_equal(run_diff(&w, DIFF_MANIFEST, NULL, 0, &again, &reason), 0);
	assert_string_equal(out.data, again.data);
	sha256_of(out.data, out.len, expected);
	assert_ok(selection_read(NULL, 0, &sel, &err));
	assert_ok(manifest_of(w.s.upper, w.workspace, &sel, -1, digest, &err));
	assert_memory_equal(digest, expected, 32);
	selection_fini(&sel);
	buf_fini(&out);
	buf_fini(&again);
	/* A path at which nothing changed is a mistake, not an empty manifest. */
	assert_int_equal(run_diff(&w, DIFF_MANIFEST, "edited\0dir/in", 14, &out, &reason), -1);
	assert_int_equal(reason, R_INVALID_PATH);
	buf_fini(&out);
	must(store_remove(w.sessions, "s_1", &err) == 0, "remove");
	assert_int_equal(run_diff(&w, DIFF_LIST, NULL, 0, &out, &reason), -1);
	assert_int_equal(reason, R_SESSION_ENDED);
	buf_fini(&out);
	world_close(&w);
}

static void
do_texts(void *arg)
{
	write_to("edited", "one\nmore\n");
	write_to("with space", "s\n");
	write_to("binary", "\x01");
	IN(truncate("binary", 10) == 0);
	IN(chmod("mode", 0755) == 0);
	IN(unlink("gone") == 0);
	IN(symlink("dangling\x1b", "sym") == 0);
	IN(mkdir("newdir", 0755) == 0);
	write_to("newdir/empty", "");
	write_to("newdir/full", "f");
	write_to("q\"\n", "q\n");
	IN(mkfifo("fifo", 0600) == 0);
	write_to("large", "l");
	IN(truncate("large", (off_t)CHANGES_DIFF_FILE_MAX + 1) == 0);
}

/* What git and patch understand of it is applied by patch(1), and gives what the session has. */
static void
the_text_is_what_patch_applies(void **state)
{
	struct world w;
	struct buf out;
	enum reason reason;
	int fd, status;
	pid_t pid;

	unit_skip_under_valgrind();
	workspace_with_things(&w);
	in_session(&w, do_texts, NULL);
	assert_true(end_session(&w) > 0);
	assert_int_equal(run_diff(&w, DIFF_UNIFIED, NULL, 0, &out, &reason), 0);
	assert_non_null(strstr(out.data,
			       "diff --git a/edited b/edited\n--- a/edited\n+++ b/edited\n@@ -1 "
			       "+1,2 @@\n one\n+more\n"));
	assert_non_null(strstr(out.data, "old mode 100644\nnew mode 100755\n"));
	assert_non_null(strstr(out.data, "# binary: binary files differ\n"));
	assert_non_null(strstr(out.data, "# newdir: directory added\n"));
	assert_non_null(strstr(out.data, "# fifo: fifo added\n"));
	assert_non_null(strstr(out.data, "# large: too large to show\n"));
	assert_non_null(strstr(out.data, "+++ \"b/q\\\"\\n\"\n"));
	assert_non_null(strstr(out.data, "deleted file mode 100644\n--- a/gone\n+++ /dev/null\n"));
	assert_non_null(strstr(out.data, "new file mode 120000\n--- /dev/null\n+++ b/sym\n"));
	fd = openat(w.root, "diff", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	must(fd >= 0 && write(fd, out.data, out.len) == (ssize_t)out.len, "write");
	(void)close(fd);
	buf_fini(&out);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		IN(fchdir(w.workspace) == 0);
		(void)execlp("patch", "patch", "-s", "-f", "-p1", "--no-backup-if-mismatch", "-i",
			     "../diff", (char *)NULL);
		_exit(127);
	}
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		unit_skip("patch(1) is not here");
	assert_int_equal(status, 0);
	assert_string_equal(get_file(w.workspace, "edited"), "one\nmore\n");
	assert_string_equal(get_file(w.workspace, "with space"), "s\n");
	assert_string_equal(get_file(w.workspace, "newdir/full"), "f");
	assert_string_equal(get_file(w.workspace, "newdir/empty"), "");
	assert_int_equal(mode_of(w.workspace, "gone"), 0);
	assert_int_equal(mode_of(w.workspace, "mode") & 0777, 0755);
	assert_true(S_ISLNK(mode_of(w.workspace, "sym")));
	world_close(&w);
}

static void
do_many(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		char name[256];

		(void)snprintf(name, sizeof(name), "%0200d", i);
		write_to(name, "");
	}
}

static void
a_wide_directory_is_told_in_order(void **state)
{
	struct world w;
	struct buf out;
	enum reason reason;
	char *first, *second;

	world_open(&w);
	world_session(&w, "s_1");
	in_session(&w, do_many, NULL);
	assert_int_equal(end_session(&w), 3000);
	assert_int_equal(run_diff(&w, DIFF_LIST, NULL, 0, &out, &reason), 0);
	first = strstr(out.data, "0007\"");
	second = strstr(out.data, "2999\"");
	assert_true(first != NULL && second != NULL && first < second);
	buf_fini(&out);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_change_is_seen),
		cmocka_unit_test(nothing_done_is_nothing_changed),
		cmocka_unit_test(the_root_s_mode_is_a_change),
		cmocka_unit_test(whiteouts_as_attributes_count),
		cmocka_unit_test(layers_that_no_session_makes_are_refused),
		cmocka_unit_test(awkward_things_are_told),
		cmocka_unit_test(the_owner_can_read_all_of_its_layer),
		cmocka_unit_test(the_workspace_is_not_listed),
		cmocka_unit_test(a_workspace_closed_to_its_owner_is_an_error),
		cmocka_unit_test(depth_is_bounded_for_paths_and_not_for_counting),
		cmocka_unit_test(the_deepest_that_is_told_is_told),
		cmocka_unit_test(a_selection_is_by_component),
		cmocka_unit_test(paths_that_lead_out_are_no_selection),
		cmocka_unit_test(a_recorded_selection_reads_the_same),
		cmocka_unit_test(escaped_text_reads_back_all_bytes),
		cmocka_unit_test(protection_is_by_component_and_case),
		cmocka_unit_test(protected_paths_are_named_one_by_one),
		cmocka_unit_test(the_list_says_what_is_protected),
		cmocka_unit_test(the_manifest_is_canonical_and_names_the_content),
		cmocka_unit_test(the_text_is_what_patch_applies),
		cmocka_unit_test(a_wide_directory_is_told_in_order),
	};

	return needs_root() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
