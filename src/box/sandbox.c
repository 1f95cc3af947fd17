/* One packet is one struct; descriptors ride along. A cut packet or cut ancillary data is an error.
 */
#include "box/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

int
sandbox_send(int fd, const void *data, size_t len, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int) * SANDBOX_FDS_MAX)];
	} control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (n_fds > SANDBOX_FDS_MAX)
		return -EINVAL;
	if (n_fds > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

static void
take_control(struct msghdr *msg, int *ret_fds, size_t max_fds, size_t *n_fds, pid_t *ret_pid)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			int fds[SANDBOX_FDS_MAX];

			memcpy(fds, CMSG_DATA(c), sizeof(int) * n);
			for (size_t i = 0; i < n; i++)
				if (*n_fds < max_fds)
					ret_fds[(*n_fds)++] = fds[i];
				else
					fd_close(fds[i]);
		} else if (c->cmsg_type == SCM_CREDENTIALS && ret_pid != NULL) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			*ret_pid = cred.pid;
		}
	}
}

ssize_t
sandbox_recv(int fd, void *data, size_t cap, int *ret_fds, size_t max_fds, pid_t *ret_pid)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int) * SANDBOX_FDS_MAX) +
			   CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = cap};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	size_t n_fds = 0;
	ssize_t n;

	for (size_t i = 0; i < max_fds; i++)
		ret_fds[i] = -1;
	if (ret_pid != NULL)
		*ret_pid = 0;
	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_control(&msg, ret_fds, max_fds, &n_fds, ret_pid);
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		for (size_t i = 0; i < n_fds; i++)
			fd_closep(&ret_fds[i]);
		return -EMSGSIZE;
	}
	return n;
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void
sandbox_keep_only(int *fds, size_t n)
{
	int from = 3;

	qsort(fds, n, sizeof(*fds), by_number);
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < from)
			continue;
		if (fds[i] > from)
			(void)close_range((unsigned)from, (unsigned)fds[i] - 1, 0);
		from = fds[i] + 1;
	}
	(void)close_range((unsigned)from, ~0u, 0);
}
