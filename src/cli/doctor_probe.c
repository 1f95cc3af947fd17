/*
 * The probe is run as a process of its own, bounded in time and in what it may say; its answer is
 * judged like any other input.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/daemon.h"
#include "cli/doctor.h"

#define PROBE_WITHIN_MS 30000
#define PROBE_MAX_BYTES (1024 * 1024)

static void NORETURN
become_probe(const char *program, int out)
{
	char *const arguments[] = {(char *)"loom-probe", NULL};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execv(program, arguments);
	_exit(127);
}

static int
read_answer(int fd, struct buf *out, struct error *err)
{
	uint64_t until = clock_boot_ms() + PROBE_WITHIN_MS;
	char part[4096];

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_boot_ms();
		ssize_t n;

		if (now >= until)
			return error_set(err, -ETIMEDOUT, "the probe did not end within %d s",
					 PROBE_WITHIN_MS / 1000);
		if (poll(&wait, 1, (int)(until - now)) <= 0)
			continue;
		n = read(fd, part, sizeof(part));
		if (n < 0)
			return error_sys(err, -errno, "read the probe's answer");
		if (n == 0)
			return buf_check(out, err);
		buf_add(out, part, (size_t)n);
	}
}

int
doctor_probe(json_t **ret_checks, struct error *err)
{
	CLEANUP(fd_closep) int in = -1;
	CLEANUP(json_decrefp) json_t *checks = NULL;
	CLEANUP(buf_fini) struct buf answer = {0};
	char program[PATH_MAX];
	int fds[2], status = 0, r;
	pid_t pid;

	buf_init(&answer, PROBE_MAX_BYTES);
	r = sibling_find("box", "loom-probe", program, err);
	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) != 0)
		return error_sys(err, -errno, "pipe");
	in = fds[0];
	pid = fork();
	if (pid == 0)
		become_probe(program, fds[1]);
	fd_close(fds[1]);
	if (pid < 0)
		return error_sys(err, -errno, "fork");
	r = read_answer(in, &answer, err);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, -EIO, "%s ended with status %#x", program,
				 (unsigned int)status);
	r = json_read(answer.data, answer.len, &checks, err);
	if (r < 0)
		return error_prefix(err, "the probe's answer");
	if (!json_is_array(checks))
		return error_set(err, -EBADMSG, "the probe's answer is no list");
	*ret_checks = TAKE_PTR(checks);
	return 0;
}
