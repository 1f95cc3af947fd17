#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/secret.h"

static void
random_secrets_differ(void **state)
{
	struct secret a = {0}, b = {0};

	assert_ok(secret_random(&a, 32, NULL));
	assert_ok(secret_random(&b, 32, NULL));
	assert_int_equal(a.len, 32);
	assert_memory_not_equal(a.data, b.data, 32);
	secret_wipe(&a);
	assert_null(a.data);
	secret_wipe(&a);
	secret_wipe(&b);
}

static void
sizes(void **state)
{
	struct error err = {0};
	struct secret s = {0};

	assert_fails(-EINVAL, &err, secret_alloc(&s, 0, &err));
	assert_fails(-EINVAL, &err, secret_alloc(&s, SIZE_MAX, &err));
	assert_ok(secret_alloc(&s, 5000, &err));
	memset(s.data, 'x', 5000);
	assert_true(s.mapped >= 5000);
	secret_wipe(&s);
}

static int
pipe_with(const char *text)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_ok(fd_write_all(p[1], text, strlen(text), NULL));
	fd_close(p[1]);
	return p[0];
}

static void
read_exactly_then_the_end(void **state)
{
	struct error err = {0};
	struct secret s = {0};
	int fd = pipe_with("12345678");

	assert_ok(secret_read_fd(&s, fd, 8, &err));
	assert_memory_equal(s.data, "12345678", 8);
	secret_wipe(&s);
	fd_close(fd);
	fd = pipe_with("1234567");
	assert_fails(-ENODATA, &err, secret_read_fd(&s, fd, 8, &err));
	fd_close(fd);
	fd = pipe_with("123456789");
	assert_fails(-EBADMSG, &err, secret_read_fd(&s, fd, 8, &err));
	fd_close(fd);
	assert_null(s.data);
}

static void
what_cannot_be_locked_is_refused(void **state)
{
	struct rlimit old, none = {0};
	struct error err = {0};
	struct secret s = {0};

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	none.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (secret_alloc(&s, 32, &err) == 0) {
		/* CAP_IPC_LOCK ignores the limit. */
		secret_wipe(&s);
		assert_int_equal(geteuid(), 0);
	} else {
		assert_null(s.data);
		assert_non_null(strstr(err.text, "RLIMIT_MEMLOCK"));
	}
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_secrets_differ),
		cmocka_unit_test(sizes),
		cmocka_unit_test(read_exactly_then_the_end),
		cmocka_unit_test(what_cannot_be_locked_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
