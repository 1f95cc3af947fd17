/* unified.h: judged by patch(1), which no one here wrote, and by hand on the edges. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/unified.h"

static struct unified_text
text(const char *s)
{
	return (struct unified_text){s, strlen(s)};
}

static void
expect(const char *a, const char *b, const char *hunks)
{
	struct error err = {0};
	struct buf out;

	buf_init(&out, 65536);
	assert_ok(unified_hunks(text(a), text(b), &out, &err));
	assert_string_equal(out.data, hunks);
	buf_fini(&out);
}

static void
small_texts(void **state)
{
	expect("a\n", "a\n", "");
	expect("", "", "");
	expect("", "a\n", "@@ -0,0 +1 @@\n+a\n");
	expect("a\n", "", "@@ -1 +0,0 @@\n-a\n");
	expect("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n");
	expect("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n");
	expect("a\nc\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n+b\n c\n");
	expect("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
	expect("a\nb", "x\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n");
	expect("", "a", "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
	expect("\n\n", "\n", "@@ -1,2 +1 @@\n \n-\n");
}

static void
contexts_join_when_they_touch(void **state)
{
	/* Six lines between two changes: one hunk. Seven: two. */
	expect("x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
	       "@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n");
	expect("x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
	       "@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n");
}

static void
binary_is_told_from_text(void **state)
{
	static char late[9000];

	assert_true(unified_is_binary((struct unified_text){"a\0b", 3}));
	assert_false(unified_is_binary(text("a\xff\xfe\n")));
	memset(late, 'a', sizeof(late));
	late[8500] = '\0';
	assert_false(unified_is_binary((struct unified_text){late, sizeof(late)}));
}

static void
paths_are_quoted_as_git_does(void **state)
{
	static const struct {
		const char *path, *shown;
	} cases[] = {
		{"a/b c", "b/a/b c"},
		{"a\"b", "\"b/a\\\"b\""},
		{"a\\b", "\"b/a\\\\b\""},
		{"a\nb\tc\x1b", "\"b/a\\nb\\tc\\033\""},
		{"\xc3\xa9\xff", "\"b/\\303\\251\\377\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out;

		buf_init(&out, 1000);
		unified_path(&out, "b/", cases[i].path);
		assert_string_equal(out.data, cases[i].shown);
		buf_fini(&out);
	}
}

/* ---- against patch(1) ---- */

static void
write_file(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	(void)close(fd);
}

static bool
same_as_file(const char *path, const char *data, size_t len)
{
	char *got = malloc(len + 2);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	bool same;

	assert_true(fd >= 0 && got != NULL);
	n = read(fd, got, len + 1);
	same = n == (ssize_t)len && memcmp(got, data, len) == 0;
	(void)close(fd);
	free(got);
	return same;
}

static void
apply_by_patch(const char *dir, const struct buf *a, const struct buf *b)
{
	struct error err = {0};
	struct buf out;
	char file[128], diff[128];
	int status;
	pid_t pid;

	(void)snprintf(file, sizeof(file), "%s/file", dir);
	(void)snprintf(diff, sizeof(diff), "%s/diff", dir);
	buf_init(&out, 64u << 20);
	buf_str(&out, "--- a/file\n+++ b/file\n");
	assert_ok(unified_hunks((struct unified_text){a->data, a->len},
				(struct unified_text){b->data, b->len}, &out, &err));
	write_file(file, a->data, a->len);
	write_file(diff, out.data, out.len);
	buf_fini(&out);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)execlp("patch", "patch", "-s", "-f", "-p1", "--no-backup-if-mismatch", "-d",
			     dir, "-i", diff, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		unit_skip("patch(1) is not here");
	assert_int_equal(status, 0);
	assert_true(same_as_file(file, b->data, b->len));
}

static uint32_t seed;

static uint32_t
rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* LINES lines out of an alphabet of WORDS, so that many are equal; the last may not end. */
static void
random_text(struct buf *b, uint32_t lines, uint32_t words)
{
	buf_init(b, 64u << 20);
	for (uint32_t i = 0; i < lines; i++)
		buf_fmt(b, "w%u%s", rnd(words), i + 1 < lines || rnd(3) > 0 ? "\n" : "");
}

/* As A, with lines dropped, changed and added. */
static void
edited_text(const struct buf *a, struct buf *b, uint32_t one_in)
{
	const char *p = a->data, *end = a->data + a->len;

	buf_init(b, 64u << 20);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl != NULL ? (size_t)(nl - p) + 1 : (size_t)(end - p);
		uint32_t what = rnd(one_in * 3);

		if (what == 1)
			buf_fmt(b, "new%u\n", rnd(1000));
		if (what != 2)
			buf_add(b, p, len);
		p += len;
	}
}

static void
with_dir(void (*fn)(const char *dir))
{
	char dir[] = "/tmp/loom-unified-XXXXXX", path[64];

	assert_non_null(mkdtemp(dir));
	fn(dir);
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/diff", dir);
	(void)unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void
random_pairs(const char *dir)
{
	for (uint32_t i = 0; i < 60; i++) {
		struct buf a, b;

		seed = i;
		random_text(&a, rnd(200), 2 + rnd(60));
		if (i % 3 == 0)
			random_text(&b, rnd(200), 2 + rnd(60));
		else
			edited_text(&a, &b, 1 + rnd(20));
		if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
			apply_by_patch(dir, &a, &b);
		buf_fini(&a);
		buf_fini(&b);
	}
}

static void
patch_makes_b_of_a(void **state)
{
	unit_skip_under_valgrind();
	with_dir(random_pairs);
}

/* So different that the search gives up on the middle, and so large that it runs out of work. */
static void
hard_pairs(const char *dir)
{
	static const uint32_t sizes[] = {5000, 60000};

	for (size_t i = 0; i < 2; i++) {
		struct buf a, b;

		seed = 99;
		random_text(&a, sizes[i], 30);
		random_text(&b, sizes[i], 30);
		apply_by_patch(dir, &a, &b);
		buf_fini(&a);
		buf_fini(&b);
	}
}

static void
hard_pairs_are_correct_too(void **state)
{
	unit_skip_under_valgrind();
	with_dir(hard_pairs);
}

/* Few edits in a long text: the diff is as small as the edits, not the whole text. */
static void
far_edits_stay_small(void **state)
{
	struct error err = {0};
	struct buf a, b, out;
	size_t lines = 0;

	buf_init(&a, 64u << 20);
	buf_init(&b, 64u << 20);
	buf_init(&out, 64u << 20);
	for (uint32_t i = 0; i < 50000; i++) {
		buf_fmt(&a, "line %u\n", i);
		if (i % 5000 != 7)
			buf_fmt(&b, "line %u\n", i);
		else
			buf_fmt(&b, "edit %u\n", i);
	}
	assert_ok(unified_hunks((struct unified_text){a.data, a.len},
				(struct unified_text){b.data, b.len}, &out, &err));
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	assert_int_equal(lines, 10 * 9); /* ten hunks of a header, a pair and six of context */
	buf_fini(&a);
	buf_fini(&b);
	buf_fini(&out);
}

static void
room_that_ends_is_an_error(void **state)
{
	struct error err = {0};
	struct buf out;

	buf_init(&out, 8);
	assert_fails(-EMSGSIZE, &err, unified_hunks(text("a\n"), text("b\n"), &out, &err));
	buf_fini(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_texts),
		cmocka_unit_test(contexts_join_when_they_touch),
		cmocka_unit_test(binary_is_told_from_text),
		cmocka_unit_test(paths_are_quoted_as_git_does),
		cmocka_unit_test(patch_makes_b_of_a),
		cmocka_unit_test(hard_pairs_are_correct_too),
		cmocka_unit_test(far_edits_stay_small),
		cmocka_unit_test(room_that_ends_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
