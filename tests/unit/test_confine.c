/*
 * Each process of ours confines itself in a child of the test and then tries what it must not do.
 * The same actions are tried before it, so that a refusal is the confinement's and nothing else's.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "confine/confine.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static char dir[64];

static int
set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/loom-confine-XXXXXX");
	return mkdtemp(dir) == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	char file[96];
	snprintf(file, sizeof(file), "%s/file", dir);
	unlink(file);
	return rmdir(dir);
}

static void
confine(enum confine_process process, bool with_dir)
{
	struct error err = {0};
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct confine_dir dirs[] = {{.fd = fd, .write = true}};
	struct confine_spec spec = {.process = process,
				    .uid = (uid_t)-1,
				    .gid = (gid_t)-1,
				    .dirs = dirs,
				    .n_dirs = with_dir ? 1 : 0,
				    .open_files = 64};
	if (confine_self(&spec, &err) < 0) {
		dprintf(2, "%s\n", err.text);
		_exit(99);
	}
}

/* The status of a child that runs ACTION, confined as PROCESS when CONFINED: 0 is success. */
static int
in_child(enum confine_process process, bool confined, bool with_dir, int (*action)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (confined)
			confine(process, with_dir);
		_exit(action());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int
read_etc(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? (errno == EACCES ? 13 : 1) : 0;
}

static int
write_own(void)
{
	char file[96];
	snprintf(file, sizeof(file), "%s/file", dir);
	return open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0;
}

static int
make_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0;
}

static int
make_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid < 0;
}

static int UNUSED
map_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED;
}

static int
try_mount(void)
{
	return mount("none", "/nonexistent", "tmpfs", 0, NULL) < 0 && errno != ENOENT;
}

static int
ask_keyring(void)
{
	return syscall(SYS_add_key, NULL, NULL, NULL, 0, 0) < 0 && errno == EPERM ? 7 : 0;
}

static int
report_is_true(void)
{
	const struct confine_report *r = confine_report();
	struct rlimit core, files;
	if (!r->seccomp || !r->no_new_privs)
		return 1;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max > 1)
		return 2;
	return getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max > 64 ? 3 : 0;
}

static int
has_no_capability(void)
{
	return confine_report()->capabilities != 0;
}

static void
test_files(void **state)
{
	static const enum confine_process with_files[] = {CONFINE_AUTHORITY, CONFINE_LEDGER};
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(in_child(with_files[i], false, true, read_etc), 0);
		assert_int_equal(in_child(with_files[i], true, true, read_etc), 13);
		assert_int_equal(in_child(with_files[i], true, true, write_own), 0);
		assert_int_not_equal(in_child(with_files[i], true, false, write_own), 0);
	}
	assert_int_equal(in_child(CONFINE_LOOMD, true, true, read_etc), 13);
#ifndef SANITIZED
	assert_int_equal(in_child(CONFINE_API, true, false, read_etc), 128 + SIGSYS);
#endif
}

static void
test_calls(void **state)
{
	static const enum confine_process all[] = {CONFINE_LOOMD, CONFINE_AUTHORITY, CONFINE_LEDGER,
						   CONFINE_API};
	static int (*const actions[])(void) = {make_socket, make_process, try_mount};
	for (size_t a = 0; a < sizeof(actions) / sizeof(actions[0]); a++) {
		assert_int_equal(in_child(CONFINE_API, false, false, actions[a]), 0);
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			assert_int_equal(in_child(all[i], true, false, actions[a]), 128 + SIGSYS);
	}
#ifndef SANITIZED
	assert_int_equal(in_child(CONFINE_API, false, false, map_code), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(in_child(all[i], true, false, map_code), 128 + SIGSYS);
#endif
}

static void
test_report(void **state)
{
	static const enum confine_process all[] = {CONFINE_LOOMD, CONFINE_AUTHORITY, CONFINE_LEDGER,
						   CONFINE_API};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(in_child(all[i], true, false, report_is_true), 0);
		assert_int_equal(in_child(all[i], true, false, has_no_capability), 0);
	}
}

/* The box keeps what building sandboxes takes, and nothing on its list. */
static void
test_box(void **state)
{
	assert_int_equal(in_child(CONFINE_BOX, false, false, ask_keyring), 0);
	assert_int_equal(in_child(CONFINE_BOX, true, false, ask_keyring), 7);
	assert_int_equal(in_child(CONFINE_BOX, true, false, make_process), 0);
	assert_int_equal(in_child(CONFINE_BOX, true, false, report_is_true), 0);
	assert_int_equal(in_child(CONFINE_BOX, true, false, read_etc), 0);
	/* A Landlock domain would forbid it to mount: directories are refused. */
	assert_int_equal(in_child(CONFINE_BOX, true, true, read_etc), 99);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_box),
	};
	if (getenv("LOOM_VALGRIND") != NULL) {
		print_message("valgrind asks for system calls of its own: not run under it\n");
		return 77;
	}
	return cmocka_run_group_tests_name("confine", tests, set_up, tear_down);
}
