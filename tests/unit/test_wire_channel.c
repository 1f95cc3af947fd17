#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/channel.h"

#define MAGIC 0x4c4f4f4dU

/* A pair of channels, authority and box, and a packet; the descriptors open before all of it. */
struct pair {
	struct channel authority;
	struct channel box;
	struct packet packet;
	unsigned int open_before;
};

static unsigned int
count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	(void)closedir(d);
	return n;
}

static int
setup(void **state)
{
	static struct pair p;
	int fds[2];

	p.open_before = count_open();
	if (channel_pair(fds, NULL) < 0 || packet_init(&p.packet, NULL) < 0)
		return -1;
	channel_init(&p.authority, fds[0], P_AUTHORITY, P_BOX, S_OPEN);
	channel_init(&p.box, fds[1], P_BOX, P_AUTHORITY, S_OPEN);
	*state = &p;
	return 0;
}

static int
teardown(void **state)
{
	struct pair *p = *state;

	packet_fini(&p->packet);
	channel_close(&p->authority);
	channel_close(&p->box);
	/* Whatever a test did, nothing stayed open. */
	return count_open() == p->open_before ? 0 : -1;
}

static void
put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/* A hostile sender: any bytes, N_FDS duplicates of stdin, perhaps its credentials. */
static void
send_raw(int fd, const void *bytes, size_t len, unsigned int n_fds, bool credentials)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 64) + CMSG_SPACE(sizeof(struct ucred))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	struct ucred cred = {.pid = getpid(), .uid = getuid(), .gid = getgid()};
	char *at = control.bytes;

	if (n_fds > 0) {
		struct cmsghdr m = {.cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS,
				    .cmsg_len = CMSG_LEN(sizeof(int) * n_fds)};
		const int zero = STDIN_FILENO;

		memcpy(at, &m, sizeof(m));
		for (unsigned int i = 0; i < n_fds; i++)
			memcpy(at + CMSG_LEN(0) + i * sizeof(int), &zero, sizeof(int));
		at += CMSG_SPACE(sizeof(int) * n_fds);
	}
	if (credentials) {
		struct cmsghdr m = {.cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_CREDENTIALS,
				    .cmsg_len = CMSG_LEN(sizeof(cred))};

		memcpy(at, &m, sizeof(m));
		memcpy(at + CMSG_LEN(0), &cred, sizeof(cred));
		at += CMSG_SPACE(sizeof(cred));
	}
	msg.msg_controllen = (size_t)(at - control.bytes);
	if (msg.msg_controllen == 0)
		msg.msg_control = NULL;
	assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), len);
}

static void
send_header(int fd, uint32_t magic, uint32_t type, uint32_t said, size_t body, unsigned int n_fds)
{
	static uint8_t bytes[12 + WIRE_BODY_MAX + 4096];

	memset(bytes, 0, sizeof(bytes));
	put32(bytes, magic);
	put32(bytes + 4, type);
	put32(bytes + 8, said);
	send_raw(fd, bytes, 12 + body, n_fds, false);
}

/* The receiver refuses, keeps no descriptor, and shows nothing of the packet. */
static void
assert_violation(struct channel *c, struct packet *packet, const char *because)
{
	unsigned int open = count_open();
	struct error err = {0};

	assert_int_equal(channel_recv(c, packet, &err), -EPROTO);
	if (strstr(err.text, because) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, because);
	assert_int_equal(count_open(), open);
	assert_int_equal(packet->n_fds, 0);
	assert_null(packet->body);
	assert_int_equal(packet->len, 0);
}

static void
message_and_descriptor(void **state)
{
	struct pair *p = *state;
	CLEANUP(fd_closep) int memfd = fd_memfd_sealed("p", "profile", 7, NULL);
	CLEANUP(fd_closep) int taken = -1;
	struct error err = {0};
	struct msg_grant m;
	struct buf b;

	assert_ok(CHANNEL_SEND_FDS(&p->authority, grant, &err, &memfd, 1, .ticket = 7,
				   .entry = wire_bytes_of("entry", 5),
				   .receipt = wire_bytes_of("", 0)));
	assert_int_equal(channel_recv(&p->box, &p->packet, &err), 1);
	assert_int_equal(p->packet.type, MSG_grant);
	assert_ok(msg_grant_decode(p->packet.body, p->packet.len, &m, &err));
	assert_true(m.ticket == 7);
	assert_int_equal(m.entry.len, 5);
	assert_memory_equal(m.entry.data, "entry", 5);
	assert_int_equal(p->packet.n_fds, 1);
	assert_int_equal(fcntl(p->packet.fds[0], F_GETFD), FD_CLOEXEC);
	taken = TAKE_FD(p->packet.fds[0]);
	packet_clear(&p->packet);
	buf_init(&b, 7);
	assert_ok(fd_memfd_read(taken, &b, &err));
	assert_string_equal(b.data, "profile");
	buf_fini(&b);
}

static void
largest_message(void **state)
{
	struct pair *p = *state;
	const struct message_rule *rule = message_rule(MSG_grant);
	struct error err = {0};
	struct buf b;
	int fd = STDIN_FILENO;

	assert_int_equal(rule->max_body, WIRE_BODY_MAX);
	buf_init(&b, WIRE_BODY_MAX + 1);
	while (b.len < WIRE_BODY_MAX)
		buf_char(&b, 'x');
	/* More than one in flight. */
	for (int i = 0; i < 3; i++)
		assert_ok(channel_send(&p->authority, MSG_grant, &b, &fd, 1, &err));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(channel_recv(&p->box, &p->packet, &err), 1);
		assert_int_equal(p->packet.len, WIRE_BODY_MAX);
		assert_memory_equal(p->packet.body, b.data, b.len);
	}
	buf_char(&b, 'x');
	assert_fails(-EPROTO, &err, channel_send(&p->authority, MSG_grant, &b, &fd, 1, &err));
	buf_fini(&b);
}

static void
sender_keeps_the_table_too(void **state)
{
	struct pair *p = *state;
	const int fds[WIRE_FDS_MAX] = {0};
	struct error err = {0};
	struct buf b;

	buf_init(&b, 100);
	assert_fails(-EPROTO, &err, CHANNEL_SEND(&p->box, grant, &err, .ticket = 1));
	assert_fails(-EPROTO, &err, CHANNEL_SEND(&p->authority, grant, &err, .ticket = 1));
	assert_fails(-EPROTO, &err,
		     CHANNEL_SEND_FDS(&p->authority, forget, &err, fds, 1, .ticket = 1));
	assert_fails(-EPROTO, &err, CHANNEL_SEND(&p->authority, append, &err, .tag = 1));
	assert_fails(-EPROTO, &err,
		     channel_send(&p->authority, (enum message_type)0xff, &b, NULL, 0, &err));
	/* Nothing went out. */
	assert_int_equal(recv(p->box.fd, b.data, 1, MSG_DONTWAIT), -1);
	assert_int_equal(recv(p->authority.fd, b.data, 1, MSG_DONTWAIT), -1);
	buf_fini(&b);
}

static void
bad_headers(void **state)
{
	struct pair *p = *state;
	const int fd = p->authority.fd;

	send_header(fd, MAGIC + 1, MSG_forget, 8, 8, 2);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_header(fd, MAGIC, MSG_forget, 9, 8, 2);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_header(fd, MAGIC, MSG_forget, 7, 8, 2);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_header(fd, MAGIC, MSG_forget, UINT32_MAX, 8, 2);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_raw(fd, "LOOM\0\0\0\x32\0\0\0", 11, 2, false);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_raw(fd, "L", 1, 0, false);
	assert_violation(&p->box, &p->packet, "no valid header");
	send_header(fd, MAGIC, 0x7f, 8, 8, 2);
	assert_violation(&p->box, &p->packet, "no message");
	send_header(fd, MAGIC, 0, 0, 0, 1);
	assert_violation(&p->box, &p->packet, "no message");
	/* The same with nothing wrong is received. */
	send_header(fd, MAGIC, MSG_forget, 8, 8, 0);
	assert_int_equal(channel_recv(&p->box, &p->packet, NULL), 1);
}

static void
wrong_sender_and_receiver(void **state)
{
	struct pair *p = *state;

	/* What only the box sends, to the box. */
	send_header(p->authority.fd, MAGIC, MSG_started, 8, 8, 1);
	assert_violation(&p->box, &p->packet, "may not send");
	/* What the authority sends, but to the ledger. */
	send_header(p->authority.fd, MAGIC, MSG_append, 24, 24, 1);
	assert_violation(&p->box, &p->packet, "may not send");
	/* A client speaks as a sibling. */
	p->authority.peer = P_CLIENT;
	send_header(p->box.fd, MAGIC, MSG_started, 8, 8, 0);
	assert_violation(&p->authority, &p->packet, "may not send");
	/* CHILD is any child, and no client. */
	p->authority.self = P_LOOMD;
	p->authority.state = S_INIT;
	send_header(p->box.fd, MAGIC, MSG_ready, 4, 4, 0);
	assert_violation(&p->authority, &p->packet, "may not send");
	p->authority.peer = P_BOX;
	send_header(p->box.fd, MAGIC, MSG_ready, 4, 4, 0);
	assert_int_equal(channel_recv(&p->authority, &p->packet, NULL), 1);
}

static void
wrong_state(void **state)
{
	struct pair *p = *state;

	p->box.state = S_INIT;
	send_header(p->authority.fd, MAGIC, MSG_forget, 8, 8, 1);
	assert_violation(&p->box, &p->packet, "not in state");
	p->box.state = S_OPEN;
	send_header(p->authority.fd, MAGIC, MSG_forget, 8, 8, 0);
	assert_int_equal(channel_recv(&p->box, &p->packet, NULL), 1);
	/* A second run while one runs. */
	channel_init(&p->box, p->box.fd, P_AUTHORITY, P_CLIENT, S_RUNNING);
	send_header(p->authority.fd, MAGIC, MSG_run, 64, 64, 5);
	assert_violation(&p->box, &p->packet, "not in state");
}

static void
oversize(void **state)
{
	struct pair *p = *state;
	const int fd = p->authority.fd;

	send_header(fd, MAGIC, MSG_forget, 65, 65, 0);
	assert_violation(&p->box, &p->packet, "at most 64");
	send_header(fd, MAGIC, MSG_grant, WIRE_BODY_MAX + 1, WIRE_BODY_MAX + 1, 1);
	assert_violation(&p->box, &p->packet, "truncated");
	send_header(fd, MAGIC, MSG_grant, WIRE_BODY_MAX, WIRE_BODY_MAX + 4096, 3);
	assert_violation(&p->box, &p->packet, "truncated");
}

static void
stray_descriptors(void **state)
{
	struct pair *p = *state;
	const int fd = p->authority.fd;

	send_header(fd, MAGIC, MSG_forget, 8, 8, 1);
	assert_violation(&p->box, &p->packet, "descriptors");
	send_header(fd, MAGIC, MSG_grant, 16, 16, 2);
	assert_violation(&p->box, &p->packet, "descriptors");
	send_header(fd, MAGIC, MSG_grant, 16, 16, 0);
	assert_violation(&p->box, &p->packet, "descriptors");
	send_header(fd, MAGIC, MSG_examine, 16, 16, 4);
	assert_violation(&p->box, &p->packet, "descriptors");
	send_header(fd, MAGIC, MSG_examine, 16, 16, 7);
	assert_violation(&p->box, &p->packet, "descriptors");
	/* As many as the control buffer has room for, and more. */
	for (unsigned int n = WIRE_FDS_MAX; n < 64; n++) {
		send_header(fd, MAGIC, MSG_examine, 16, 16, n);
		assert_violation(&p->box, &p->packet, "");
	}
	send_header(fd, MAGIC, MSG_examine, 16, 16, 6);
	assert_int_equal(channel_recv(&p->box, &p->packet, NULL), 1);
	assert_int_equal(p->packet.n_fds, 6);
}

static void
stray_credentials(void **state)
{
	struct pair *p = *state;
	const int on = 1;
	uint8_t bytes[20] = {0};

	put32(bytes, MAGIC);
	put32(bytes + 4, MSG_forget);
	put32(bytes + 8, 8);
	/* Not asked for, they do not arrive; asked for, nobody told the channel what they mean. */
	send_raw(p->authority.fd, bytes, sizeof(bytes), 0, true);
	assert_int_equal(channel_recv(&p->box, &p->packet, NULL), 1);
	assert_int_equal(setsockopt(p->box.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	send_raw(p->authority.fd, bytes, sizeof(bytes), 0, true);
	assert_violation(&p->box, &p->packet, "control message");
	send_raw(p->authority.fd, bytes, sizeof(bytes), WIRE_FDS_MAX, true);
	assert_violation(&p->box, &p->packet, "control message");
}

static void
ends(void **state)
{
	struct pair *p = *state;
	struct error err = {0};

	send_raw(p->authority.fd, "", 0, 2, false);
	assert_violation(&p->box, &p->packet, "");
	assert_int_equal(fcntl(p->box.fd, F_SETFL, O_NONBLOCK), 0);
	assert_fails(-EAGAIN, &err, channel_recv(&p->box, &p->packet, &err));
	send_header(p->authority.fd, MAGIC, MSG_forget, 8, 8, 0);
	channel_close(&p->authority);
	assert_int_equal(p->authority.fd, -1);
	/* What was sent before the end is still received. */
	assert_int_equal(channel_recv(&p->box, &p->packet, &err), 1);
	assert_int_equal(channel_recv(&p->box, &p->packet, &err), 0);
	assert_null(p->packet.body);
	/* No signal: the test would not come back. */
	assert_fails(-EPIPE, &err, CHANNEL_SEND(&p->box, started, &err, .ticket = 1));
}

/* The peer went away while our bytes waited for it. */
static void
reset_is_an_end(void **state)
{
	struct pair *p = *state;
	struct error err = {0};

	send_header(p->box.fd, MAGIC, MSG_started, 8, 8, 0);
	channel_close(&p->authority);
	assert_int_equal(channel_recv(&p->box, &p->packet, &err), 0);
}

static void
peer_that_does_not_read(void **state)
{
	struct pair *p = *state;
	struct error err = {0};
	int r = 0;

	assert_int_equal(fcntl(p->box.fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = CHANNEL_SEND(&p->box, started, &err, .ticket = 1);
	assert_int_equal(r, -EAGAIN);
}

static void
reused_packet_closes_the_old_descriptors(void **state)
{
	struct pair *p = *state;
	unsigned int open = count_open();

	for (int i = 0; i < 5; i++) {
		send_header(p->authority.fd, MAGIC, MSG_examine, 16, 16, 5);
		assert_int_equal(channel_recv(&p->box, &p->packet, NULL), 1);
		assert_int_equal(count_open(), open + 5);
	}
	packet_clear(&p->packet);
	assert_int_equal(count_open(), open);
}

static void
a_zeroed_packet_owns_nothing(void **state)
{
	struct packet zero = {0};

	packet_clear(&zero);
	packet_fini(&zero);
	assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

static void
connecting(void **state)
{
	char dir[] = "/tmp/loom-test-ch-XXXXXX", path[64], big[200];
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct error err = {0};
	int listener, fd = -1;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	assert_fails(-ENOENT, &err, channel_connect(path, &fd, &err));
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_ok(listener);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_fails(-ECONNREFUSED, &err, channel_connect(path, &fd, &err));
	assert_int_equal(listen(listener, 1), 0);
	assert_ok(channel_connect(path, &fd, &err));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd_close(fd);
	fd_close(listener);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_fails(-ENAMETOOLONG, &err, channel_connect(big, &fd, &err));
	/* The empty path would be the abstract name space. */
	assert_fails(-ENAMETOOLONG, &err, channel_connect("", &fd, &err));
}

#define channel_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		channel_test(message_and_descriptor),
		channel_test(largest_message),
		channel_test(sender_keeps_the_table_too),
		channel_test(bad_headers),
		channel_test(wrong_sender_and_receiver),
		channel_test(wrong_state),
		channel_test(oversize),
		channel_test(stray_descriptors),
		channel_test(stray_credentials),
		channel_test(ends),
		channel_test(reset_is_an_end),
		channel_test(peer_that_does_not_read),
		channel_test(reused_packet_closes_the_old_descriptors),
		cmocka_unit_test(a_zeroed_packet_owns_nothing),
		cmocka_unit_test(connecting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
