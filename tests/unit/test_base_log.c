#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

static int saved_stderr = -1;
static int pipe_read = -1;

static void
capture_start(void)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	saved_stderr = dup(STDERR_FILENO);
	assert_ok(saved_stderr);
	assert_ok(dup2(p[1], STDERR_FILENO));
	fd_close(p[1]);
	pipe_read = p[0];
}

static void
capture_end(struct buf *out)
{
	assert_ok(dup2(saved_stderr, STDERR_FILENO));
	fd_closep(&saved_stderr);
	assert_ok(fd_read_to_end(pipe_read, out, NULL));
	fd_closep(&pipe_read);
}

static void
levels(void **state)
{
	struct buf b;

	buf_init(&b, 1000);
	(void)unsetenv("LOOM_LOG");
	log_init("loom-test");
	capture_start();
	log_debug("d");
	log_info("i");
	log_warning("w %d", 1);
	log_error("e");
	capture_end(&b);
	assert_string_equal(b.data, "loom-test: warning: w 1\nloom-test: error: e\n");
	buf_reset(&b);
	(void)setenv("LOOM_LOG", "debug", 1);
	log_init("loom-test");
	capture_start();
	log_debug("d");
	capture_end(&b);
	assert_string_equal(b.data, "loom-test: debug: d\n");
	/* A word that is no level changes nothing. */
	(void)setenv("LOOM_LOG", "loud", 1);
	log_init("loom-test");
	(void)unsetenv("LOOM_LOG");
	buf_fini(&b);
}

static void
lines_cannot_be_forged(void **state)
{
	struct buf b;

	buf_init(&b, 1000);
	capture_start();
	log_error("%s", "x\nloom-box: error: forged\x1b[2J");
	capture_end(&b);
	assert_string_equal(b.data, "loom-test: error: x\\x0aloom-box: error: forged\\x1b[2J\n");
	buf_fini(&b);
}

static void
lines_are_bounded(void **state)
{
	char big[5000];
	struct buf b;

	for (unsigned int shift = 0; shift < 4; shift++) {
		/* Three-byte characters, so that some cut falls inside one. */
		memset(big, 'a', shift);
		for (size_t i = shift; i + 3 < sizeof(big); i += 3)
			memcpy(big + i, "\xe2\x82\xac\0", 4);
		buf_init(&b, 10000);
		capture_start();
		log_error("%s", big);
		capture_end(&b);
		assert_true(b.len <= 2048 && b.len > 2000);
		assert_int_equal(b.data[b.len - 1], '\n');
		assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
		buf_fini(&b);
	}
}

static void
fatal_exits_125(void **state)
{
	int status;
	pid_t child;
	struct buf b;

	buf_init(&b, 1000);
	capture_start();
	child = fork();
	if (child == 0)
		fatal("gone: %s", "x");
	assert_int_equal(waitpid(child, &status, 0), child);
	capture_end(&b);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 125);
	assert_string_equal(b.data, "loom-test: error: gone: x\n");
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(lines_cannot_be_forged),
		cmocka_unit_test(lines_are_bounded),
		cmocka_unit_test(fatal_exits_125),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
