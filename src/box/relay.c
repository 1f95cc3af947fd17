/*
 * A buffer for each stream, allocated when its first byte comes: most commands say little. A stream
 * is read only when its buffer is empty, so a client that does not read holds its command up, as a
 * pipe would, until the delivery limit is reached; from there on output is only counted.
 */
#include "box/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define END_OF_TRANSMISSION 4 /* what a terminal takes for an end of input */

static void
end_close(struct relay_end *e)
{
	fd_closep(&e->own);
	fd_closep(&e->fd);
}

/* How can this descriptor be used without blocking, and without changing what others see of it? */
static void
end_look(struct relay_end *e, int flags)
{
	char path[32];
	struct stat st;

	if (e->kind != RELAY_UNKNOWN || e->fd < 0)
		return;
	e->kind = RELAY_SMALL;
	if (fstat(e->fd, &st) != 0)
		return;
	if (S_ISREG(st.st_mode)) {
		e->kind = RELAY_PLAIN;
	} else if (S_ISSOCK(st.st_mode)) {
		e->kind = RELAY_SOCKET;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", e->fd);
		e->own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (e->own >= 0)
			e->kind = RELAY_NONBLOCK;
	}
}

static int
end_poll_fd(const struct relay_end *e)
{
	return e->own >= 0 ? e->own : e->fd;
}

static ssize_t
end_read(struct relay_end *e, void *buf, size_t len)
{
	end_look(e, O_RDONLY);
	if (e->kind == RELAY_SOCKET)
		return recv(e->fd, buf, len, MSG_DONTWAIT);
	return read(end_poll_fd(e), buf, len);
}

static ssize_t
end_write(struct relay_end *e, const void *buf, size_t len)
{
	end_look(e, O_WRONLY);
	if (e->kind == RELAY_SOCKET)
		return send(e->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* After a poll said so, this much fits into a pipe without blocking. */
	if (e->kind == RELAY_SMALL && len > PIPE_BUF)
		len = PIPE_BUF;
	return write(end_poll_fd(e), buf, len);
}

static int
out_init(struct relay_out *o, int from, int to, struct error *err)
{
	*o = (struct relay_out){.from = from, .to = {.fd = to, .own = -1}};
	o->hash = sha256_new();
	return o->hash != NULL ? 0 : error_set(err, -ENOMEM, "no memory to hash output");
}

int
relay_init(struct relay *r, const int client[3], int to, int out_from, int err_from, uint64_t max,
	   struct error *err)
{
	int code;

	*r = (struct relay){.in = {.fd = client[0], .own = -1}, .to = to, .max = max};
	r->terminal = err_from < 0;
	code = out_init(&r->out, out_from, client[1], err);
	if (code == 0)
		code = out_init(&r->err, err_from, client[2], err);
	return code;
}

static void
out_fini(struct relay_out *o)
{
	fd_closep(&o->from);
	end_close(&o->to);
	sha256_free(o->hash);
	free(o->buffer);
	*o = (struct relay_out){.from = -1, .to = {.fd = -1, .own = -1}};
}

void
relay_fini(struct relay *r)
{
	end_close(&r->in);
	fd_closep(&r->to);
	free(r->buffer);
	r->buffer = NULL;
	out_fini(&r->out);
	out_fini(&r->err);
}

unsigned
relay_polls(const struct relay *r, struct pollfd polls[RELAY_POLLS])
{
	const struct relay_out *outs[] = {&r->out, &r->err};
	unsigned n = 0;

	if (r->to >= 0 && r->held > 0)
		polls[n++] = (struct pollfd){.fd = r->to, .events = POLLOUT};
	else if (r->to >= 0 && r->in.fd >= 0)
		polls[n++] = (struct pollfd){.fd = end_poll_fd(&r->in), .events = POLLIN};
	for (int i = 0; i < 2; i++) {
		if (outs[i]->held > 0)
			polls[n++] =
				(struct pollfd){.fd = end_poll_fd(&outs[i]->to), .events = POLLOUT};
		else if (outs[i]->from >= 0)
			polls[n++] = (struct pollfd){.fd = outs[i]->from, .events = POLLIN};
	}
	return n;
}

static bool
ready(int fd, const struct pollfd *polls, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (polls[i].fd == fd && polls[i].revents != 0)
			return true;
	return false;
}

static void
close_command_input(struct relay *r)
{
	static const char eot = END_OF_TRANSMISSION;

	r->held = 0;
	end_close(&r->in);
	if (r->terminal)
		(void)!write(r->to, &eot, 1);
	else
		fd_closep(&r->to);
}

static void
step_in(struct relay *r, const struct pollfd *polls, unsigned n)
{
	ssize_t got;

	if (r->to < 0)
		return;
	if (r->held == 0) {
		if (r->in.fd < 0 || !ready(end_poll_fd(&r->in), polls, n))
			return;
		if (r->buffer == NULL && (r->buffer = malloc(RELAY_BUFFER)) == NULL)
			return;
		got = end_read(&r->in, r->buffer, RELAY_BUFFER);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			close_command_input(r);
			return;
		}
		r->held = (uint32_t)got;
		r->at = 0;
	} else if (!ready(r->to, polls, n)) {
		return;
	}
	got = write(r->to, r->buffer + r->at, r->held);
	if (got < 0 && errno != EAGAIN && errno != EINTR) {
		/* The command closed its input: what the client still says goes nowhere. */
		r->held = 0;
		end_close(&r->in);
		if (!r->terminal)
			fd_closep(&r->to);
	} else if (got > 0) {
		r->at += (uint32_t)got;
		r->held -= (uint32_t)got;
	}
}

/* The client does not listen any more: nor does it make sense for the command to speak. */
static void
out_unheard(struct relay_out *o, bool terminal)
{
	end_close(&o->to);
	o->held = 0;
	if (!terminal)
		fd_closep(&o->from);
}

static void
out_deliver(struct relay_out *o, bool terminal)
{
	while (o->held > 0) {
		ssize_t n = end_write(&o->to, o->buffer + o->at, o->held);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			o->error = n < 0 && errno != EPIPE ? errno : 0;
			out_unheard(o, terminal);
			return;
		}
		o->at += (uint32_t)n;
		o->held -= (uint32_t)n;
		o->delivered += (uint64_t)n;
		if (o->to.kind == RELAY_SMALL)
			return;
	}
}

static void
out_take(struct relay *r, struct relay_out *o)
{
	uint64_t room = r->max - o->delivered;
	ssize_t n;

	if (o->buffer == NULL && (o->buffer = malloc(RELAY_BUFFER)) == NULL)
		return;
	n = read(o->from, o->buffer, RELAY_BUFFER);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* A terminal says EIO when its last other side was closed. */
		if (r->terminal)
			fd_closep(&r->to);
		fd_closep(&o->from);
		return;
	}
	sha256_add(o->hash, o->buffer, (size_t)n);
	o->bytes += (uint64_t)n;
	o->at = 0;
	o->held = (uint64_t)n > room ? (uint32_t)room : (uint32_t)n;
	if ((uint64_t)n > room)
		o->truncated = true;
	/* Only an abandoned stream is read when it leads nowhere. */
	if (o->to.fd < 0) {
		o->truncated = true;
		o->held = 0;
	}
}

static void
step_out(struct relay *r, struct relay_out *o, const struct pollfd *polls, unsigned n)
{
	if (o->held == 0) {
		if (o->from < 0 || !ready(o->from, polls, n))
			return;
		out_take(r, o);
	} else if (!ready(end_poll_fd(&o->to), polls, n)) {
		return;
	}
	out_deliver(o, r->terminal);
}

void
relay_step(struct relay *r, const struct pollfd *polls, unsigned n)
{
	step_in(r, polls, n);
	step_out(r, &r->out, polls, n);
	step_out(r, &r->err, polls, n);
}

static void
out_abandon(struct relay_out *o)
{
	o->truncated = o->truncated || o->held > 0;
	o->held = 0;
	end_close(&o->to);
}

void
relay_abandon(struct relay *r)
{
	out_abandon(&r->out);
	out_abandon(&r->err);
}

bool
relay_finished(const struct relay *r)
{
	return r->out.from < 0 && r->err.from < 0 && r->out.held == 0 && r->err.held == 0;
}

void
relay_stream(struct relay_out *o, struct sandbox_stream *ret)
{
	*ret = (struct sandbox_stream){
		.bytes = o->bytes, .truncated = o->truncated, .error = o->error};
	sha256_end(o->hash, ret->sha256);
}
