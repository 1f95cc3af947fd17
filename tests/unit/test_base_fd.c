#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static char dir_path[] = "/tmp/loom-test-fd-XXXXXX";
static int dir = -1;

static int
setup(void **state)
{
	if (mkdtemp(dir_path) == NULL)
		return -1;
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int
teardown(void **state)
{
	char command[sizeof(dir_path) + 16];

	fd_closep(&dir);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir_path);
	return system(command) == 0 ? 0 : -1;
}

static void
put_file(const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_ok(fd);
	assert_ok(fd_write_all(fd, text, strlen(text), NULL));
	fd_close(fd);
}

static void
closing(void **state)
{
	int fd = dup(dir), was = fd;

	errno = 1234;
	fd_close(-1);
	fd_close(-EBADF);
	fd_closep(&fd);
	assert_int_equal(fd, -1);
	fd_closep(&fd);
	assert_int_equal(errno, 1234);
	assert_int_equal(fcntl(was, F_GETFD), -1);
}

static void
exact_transfers(void **state)
{
	struct error err = {0};
	char got[8];
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_ok(fd_write_all(p[1], "abcdef", 6, &err));
	assert_ok(fd_read_exact(p[0], got, 4, &err));
	assert_memory_equal(got, "abcd", 4);
	fd_close(p[1]);
	assert_fails(-ENODATA, &err, fd_read_exact(p[0], got, 4, &err));
	assert_ok(fd_read_exact(p[0], got, 0, &err));
	assert_fails(-EBADF, &err, fd_write_all(p[0], "x", 1, &err));
	fd_close(p[0]);
	assert_fails(-EBADF, &err, fd_read_exact(-1, got, 1, &err));
}

/* A pipe takes 64 KiB at once: both sides see short transfers. */
static void
long_transfers(void **state)
{
	static uint8_t big[1 << 20], back[1 << 20];
	struct error err = {0};
	int p[2], status;
	pid_t child;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	child = fork();
	assert_ok(child);
	if (child == 0)
		_exit(fd_write_all(p[1], big, sizeof(big), NULL) == 0 ? 0 : 1);
	fd_close(p[1]);
	assert_ok(fd_read_exact(p[0], back, sizeof(back), &err));
	assert_memory_equal(big, back, sizeof(big));
	fd_close(p[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void
positioned_transfers(void **state)
{
	CLEANUP(fd_closep) int fd = openat(dir, "at", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct error err = {0};
	char got[8];

	assert_ok(fd);
	assert_ok(fd_pwrite_all(fd, "abcdef", 6, 10, &err));
	assert_ok(fd_pread_exact(fd, got, 3, 12, &err));
	assert_memory_equal(got, "cde", 3);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_fails(-ENODATA, &err, fd_pread_exact(fd, got, 3, 14, &err));
	assert_fails(-EOVERFLOW, &err, fd_pread_exact(fd, got, 1, UINT64_MAX, &err));
	assert_fails(-EOVERFLOW, &err, fd_pwrite_all(fd, got, 2, INT64_MAX - 1, &err));
}

static void
whole_files(void **state)
{
	struct error err = {0};
	struct buf b;

	put_file("ten", "0123456789");
	buf_init(&b, 10);
	assert_ok(fd_read_file_at(dir, "ten", &b, &err));
	assert_string_equal(b.data, "0123456789");
	buf_fini(&b);
	buf_init(&b, 9);
	assert_fails(-EMSGSIZE, &err, fd_read_file_at(dir, "ten", &b, &err));
	buf_reset(&b);
	assert_fails(-ENOENT, &err, fd_read_file_at(dir, "none", &b, &err));
	assert_fails(-EISDIR, &err, fd_read_file_at(dir, ".", &b, &err));
	assert_int_equal(symlinkat("ten", dir, "link"), 0);
	assert_fails(-ELOOP, &err, fd_read_file_at(dir, "link", &b, &err));
	/* Endless input ends at the maximum. */
	assert_fails(-EMSGSIZE, &err, fd_read_file_at(dir, "/dev/zero", &b, &err));
	buf_reset(&b);
	/* A FIFO nobody writes to does not hold us up. */
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_ok(fd_read_file_at(dir, "fifo", &b, &err));
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static unsigned int
count_names(const char *prefix)
{
	char command[128], line[32] = "";
	FILE *f;

	(void)snprintf(command, sizeof(command), "ls -A %s | grep -c '^%s'", dir_path, prefix);
	f = popen(command, "re");
	assert_non_null(f);
	(void)!fgets(line, sizeof(line), f);
	(void)pclose(f);
	return (unsigned int)strtoul(line, NULL, 10);
}

static void
replacing_files(void **state)
{
	struct error err = {0};
	struct stat st;
	struct buf b;
	mode_t mask = umask(077);

	buf_init(&b, 100);
	assert_ok(fd_replace_file_at(dir, "r", "one", 3, 0644, &err));
	assert_ok(fd_replace_file_at(dir, "r", "second", 6, 0640, &err));
	(void)umask(mask);
	assert_ok(fd_read_file_at(dir, "r", &b, &err));
	assert_string_equal(b.data, "second");
	assert_int_equal(fstatat(dir, "r", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(mkdirat(dir, "sub", 0700), 0);
	assert_ok(fd_replace_file_at(dir, "sub/r", "x", 1, 0600, &err));
	assert_int_equal(fstatat(dir, "sub/r", &st, 0), 0);
	/* A directory is not replaced, and no temporary file is left behind. */
	assert_fails(-EISDIR, &err, fd_replace_file_at(dir, "sub", "x", 1, 0600, &err));
	assert_fails(-EINVAL, &err, fd_replace_file_at(dir, "sub/", "x", 1, 0600, &err));
	assert_fails(-EINVAL, &err, fd_replace_file_at(dir, "", "x", 1, 0600, &err));
	assert_fails(-ENOENT, &err, fd_replace_file_at(dir, "no/r", "x", 1, 0600, &err));
	assert_int_equal(count_names("sub"), 1);
	assert_int_equal(count_names("r"), 1);
	/* A link in its place is replaced, not followed. */
	assert_int_equal(symlinkat("r", dir, "l"), 0);
	assert_ok(fd_replace_file_at(dir, "l", "new", 3, 0600, &err));
	assert_int_equal(fstatat(dir, "l", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	buf_reset(&b);
	assert_ok(fd_read_file_at(dir, "r", &b, &err));
	assert_string_equal(b.data, "second");
	buf_fini(&b);
}

static void
sealed_memfds(void **state)
{
	CLEANUP(fd_closep) int fd = fd_memfd_sealed("t", "payload", 7, NULL);
	struct error err = {0};
	struct buf b;

	assert_ok(fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	buf_init(&b, 7);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_ok(fd_memfd_read(fd, &b, &err));
	assert_string_equal(b.data, "payload");
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	buf_fini(&b);
	buf_init(&b, 6);
	assert_fails(-EMSGSIZE, &err, fd_memfd_read(fd, &b, &err));
	buf_fini(&b);
}

static void
empty_and_large_memfds(void **state)
{
	static char big[100000];
	struct error err = {0};
	struct buf b;
	int fd = fd_memfd_sealed("t", NULL, 0, NULL);

	assert_ok(fd);
	buf_init(&b, sizeof(big));
	assert_ok(fd_memfd_read(fd, &b, &err));
	assert_int_equal(b.len, 0);
	fd_close(fd);
	memset(big, 'z', sizeof(big));
	fd = fd_memfd_sealed("t", big, sizeof(big), NULL);
	assert_ok(fd);
	assert_ok(fd_memfd_read(fd, &b, &err));
	assert_memory_equal(b.data, big, sizeof(big));
	fd_close(fd);
	buf_fini(&b);
}

static void
missing_seals(void **state)
{
	static const int seals[] = {
		0,
		F_SEAL_WRITE,
		F_SEAL_WRITE | F_SEAL_GROW,
		F_SEAL_WRITE | F_SEAL_SHRINK,
		F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
		F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK,
	};
	struct error err = {0};
	struct buf b;
	int fd;

	buf_init(&b, 100);
	for (size_t i = 0; i < ARRAY_LEN(seals); i++) {
		fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_ok(fd);
		assert_ok(fd_write_all(fd, "x", 1, NULL));
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
		assert_fails(-EPERM, &err, fd_memfd_read(fd, &b, &err));
		fd_close(fd);
	}
	/* What is no memfd at all. */
	put_file("plain", "x");
	fd = openat(dir, "plain", O_RDONLY | O_CLOEXEC);
	assert_fails(-EPERM, &err, fd_memfd_read(fd, &b, &err));
	fd_close(fd);
	assert_fails(-EPERM, &err, fd_memfd_read(dir, &b, &err));
	assert_fails(-EBADF, &err, fd_memfd_read(-1, &b, &err));
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

static void
private_directories(void **state)
{
	struct error err = {0};
	struct stat st;
	int fd = fd_open_private_dir(dir, "priv", &err);

	assert_ok(fd);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd_close(fd);
	fd = fd_open_private_dir(dir, "priv", &err);
	assert_ok(fd);
	fd_close(fd);
	static const mode_t open_modes[] = {0750, 0701, 0740, 0720, 0704, 0777};
	for (size_t i = 0; i < ARRAY_LEN(open_modes); i++) {
		assert_int_equal(fchmodat(dir, "priv", open_modes[i], 0), 0);
		assert_int_equal(fd_open_private_dir(dir, "priv", &err), -EPERM);
		assert_non_null(strstr(err.text, "chmod go= priv"));
		err = (struct error){0};
	}
	assert_int_equal(fchmodat(dir, "priv", 0700, 0), 0);
	assert_int_equal(symlinkat("priv", dir, "privlink"), 0);
	assert_fails(-EPERM, &err, fd_open_private_dir(dir, "privlink", &err));
	put_file("privfile", "");
	assert_fails(-EPERM, &err, fd_open_private_dir(dir, "privfile", &err));
	assert_fails(-ENOENT, &err, fd_open_private_dir(dir, "no/parent", &err));
	if (geteuid() == 0) {
		assert_int_equal(fchownat(dir, "priv", 12345, 0, 0), 0);
		assert_fails(-EPERM, &err, fd_open_private_dir(dir, "priv", &err));
	}
}

static void
opening_beneath(void **state)
{
	CLEANUP(fd_closep) int in = -1;
	struct error err = {0};
	int fd;

	/* valgrind 3.19 does not know openat2. */
	unit_skip_under_valgrind();
	assert_int_equal(mkdirat(dir, "in", 0700), 0);
	assert_int_equal(mkdirat(dir, "in/d", 0700), 0);
	put_file("outside", "x");
	put_file("in/d/f", "x");
	assert_int_equal(symlinkat("d", dir, "in/l"), 0);
	assert_int_equal(symlinkat("../outside", dir, "in/out"), 0);
	in = openat(dir, "in", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_ok(in);
	fd = fd_open_beneath(in, "d/f", O_RDONLY, 0, &err);
	assert_ok(fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd_close(fd);
	fd = fd_open_beneath(in, "d/new", O_WRONLY | O_CREAT | O_EXCL, 0600, &err);
	assert_ok(fd);
	fd_close(fd);
	assert_fails(-EXDEV, &err, fd_open_beneath(in, "../outside", O_RDONLY, 0, &err));
	assert_fails(-EXDEV, &err, fd_open_beneath(in, "/etc/passwd", O_RDONLY, 0, &err));
	assert_fails(-ELOOP, &err, fd_open_beneath(in, "l/f", O_RDONLY, 0, &err));
	assert_fails(-ELOOP, &err, fd_open_beneath(in, "out", O_RDONLY, 0, &err));
	assert_fails(-ENOENT, &err, fd_open_beneath(in, "none", O_RDONLY, 0, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing),	   cmocka_unit_test(exact_transfers),
		cmocka_unit_test(long_transfers),  cmocka_unit_test(positioned_transfers),
		cmocka_unit_test(whole_files),	   cmocka_unit_test(replacing_files),
		cmocka_unit_test(sealed_memfds),   cmocka_unit_test(empty_and_large_memfds),
		cmocka_unit_test(missing_seals),   cmocka_unit_test(private_directories),
		cmocka_unit_test(opening_beneath),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
