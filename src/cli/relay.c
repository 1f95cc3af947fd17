/*
 * The pipe's end of ours does not block; the terminal stays as it is, since that flag would be
 * shared with the shell and everything else that has it open.
 */
#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

#define FOREGROUND_PAUSE_MS 300

void
relay_init(struct relay *r)
{
	r->from = r->to = -1;
	r->own_from = r->own_to = r->keyboard = false;
	r->at = r->len = 0;
}

static void
end_from(struct relay *r)
{
	if (r->own_from)
		fd_close(r->from);
	r->from = -1;
}

static void
end_to(struct relay *r)
{
	if (r->own_to)
		fd_close(r->to);
	r->to = -1;
}

void
relay_fini(struct relay *r)
{
	end_from(r);
	end_to(r);
}

static int
new_pipe(int *ret_read, int *ret_write, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return error_sys(err, -errno, "pipe");
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

static int
nonblocking(int fd, struct error *err)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : error_sys(err, -errno, "set O_NONBLOCK");
}

int
relay_keyboard(struct relay *r, int fd, int *ret_fd, struct error *err)
{
	int code = new_pipe(ret_fd, &r->to, err);

	if (code < 0)
		return code;
	r->own_to = true;
	r->from = fd;
	r->keyboard = true;
	return nonblocking(r->to, err);
}

int
relay_screen(struct relay *r, int fd, int *ret_fd, struct error *err)
{
	int code = new_pipe(&r->from, ret_fd, err);

	if (code < 0)
		return code;
	r->own_from = true;
	r->to = fd;
	return nonblocking(r->from, err);
}

/* A background process that reads the terminal would be stopped, and take another's input. */
static bool
in_foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

int
relay_poll(const struct relay *r, struct pollfd polls[RELAY_POLLS])
{
	bool empty = r->at == r->len;

	polls[0] = (struct pollfd){.fd = -1};
	polls[1] = (struct pollfd){.fd = -1};
	if (r->to >= 0 && (!empty || r->keyboard)) {
		/* With nothing to write this still reports that the other end has gone. */
		polls[1].fd = r->to;
		polls[1].events = empty ? 0 : POLLOUT;
	}
	if (r->from < 0 || r->to < 0 || !empty)
		return -1;
	if (r->keyboard && !in_foreground(r->from))
		return FOREGROUND_PAUSE_MS;
	polls[0].fd = r->from;
	polls[0].events = POLLIN;
	return -1;
}

static void
fill(struct relay *r)
{
	ssize_t n = read(r->from, r->data, sizeof(r->data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_from(r);
		return;
	}
	r->at = 0;
	r->len = (size_t)n;
}

static void
empty(struct relay *r)
{
	ssize_t n = write(r->to, r->data + r->at, r->len - r->at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* Nobody reads any more: what is typed from now on is not ours. */
		end_to(r);
		end_from(r);
		return;
	}
	r->at += (size_t)n;
}

void
relay_step(struct relay *r, const struct pollfd polls[RELAY_POLLS])
{
	if (r->from >= 0 && polls[0].fd == r->from && polls[0].revents != 0)
		fill(r);
	if (r->to >= 0 && r->at < r->len)
		empty(r);
	else if (r->to >= 0 && polls[1].fd == r->to && (polls[1].revents & POLLERR) != 0) {
		end_to(r);
		end_from(r);
	}
	/* The end of input is told to the command by closing the pipe. */
	if (r->from < 0 && r->to >= 0 && r->at == r->len && r->own_to)
		end_to(r);
}

void
relay_drain(struct relay *r)
{
	while (r->to >= 0) {
		if (r->at == r->len) {
			ssize_t n = r->from >= 0 ? read(r->from, r->data, sizeof(r->data)) : 0;

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return;
			r->at = 0;
			r->len = (size_t)n;
		}
		empty(r);
	}
}
