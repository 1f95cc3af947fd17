/* A real loom-ledger on socket pairs: this side is loomd and the authority. */
#ifndef LOOM_TESTS_LEDGER_PROCESS_H
#define LOOM_TESTS_LEDGER_PROCESS_H

#include "ledger_fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "wire/channel.h"
#include "wire/inherit.h"

struct process {
	pid_t pid;
	struct channel loomd, authority;
	struct packet packet;
};

/* Beside this program in the build tree. */
static UNUSED const char *
process_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *slash;

	assert_true(n > 0);
	path[n] = '\0';
	slash = strrchr(path, '/');
	(void)snprintf(slash, sizeof(path) - (size_t)(slash - path),
		       "/../../src/ledger/loom-ledger");
	return path;
}

/* In the child: the descriptors at their numbers, and nothing else. */
static UNUSED NORETURN void
process_exec(const char *path, int loomd, int key, int authority, int state)
{
	const int from[] = {loomd, key, authority, state};
	const int to[] = {INHERIT_LOOMD, INHERIT_KEY, INHERIT_AUTHORITY, INHERIT_STATE};
	int high[4];

	for (int i = 0; i < 4; i++)
		high[i] = fcntl(from[i], F_DUPFD, 100);
	for (int i = INHERIT_LOOMD; i < 100; i++)
		(void)close(i);
	for (int i = 0; i < 4; i++) {
		(void)dup2(high[i], to[i]);
		(void)close(high[i]);
	}
	(void)execl(path, path, (char *)NULL);
	_exit(99);
}

static UNUSED void
process_start_quietly(struct process *p, const struct place *place)
{
	int loomd[2], authority[2], key[2];

	assert_ok(channel_pair(loomd, NULL));
	assert_ok(channel_pair(authority, NULL));
	assert_ok(pipe2(key, O_CLOEXEC));
	assert_ok(fd_write_all(key[1], fixture_key, sizeof(fixture_key), NULL));
	fd_close(key[1]);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0)
		process_exec(process_path(), loomd[1], key[0], authority[1], place->dirfd);
	fd_close(loomd[1]);
	fd_close(authority[1]);
	fd_close(key[0]);
	channel_init(&p->loomd, loomd[0], P_LOOMD, P_LEDGER, S_INIT);
	channel_init(&p->authority, authority[0], P_AUTHORITY, P_LEDGER, S_OPEN);
	assert_ok(packet_init(&p->packet, NULL));
}

static UNUSED void
process_start(struct process *p, const struct place *place)
{
	process_start_quietly(p, place);
	assert_int_equal(channel_recv(&p->loomd, &p->packet, NULL), 1);
	assert_int_equal(p->packet.type, MSG_ready);
	p->loomd.state = S_OPEN;
}

static UNUSED int
process_wait(struct process *p)
{
	int status = 0;

	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	channel_close(&p->loomd);
	channel_close(&p->authority);
	packet_fini(&p->packet);
	return status;
}

static UNUSED void
process_stop(struct process *p)
{
	int status;

	assert_ok(CHANNEL_SEND(&p->loomd, stop, NULL, .why = STOP_ASKED));
	status = process_wait(p);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static UNUSED void
process_kill(struct process *p)
{
	assert_ok(kill(p->pid, SIGKILL));
	assert_true(WIFSIGNALED(process_wait(p)));
}

/* The next answer, which must be of this type. */
static UNUSED void
process_recv(struct process *p, uint32_t type)
{
	struct error err = {0};
	int r = channel_recv(&p->authority, &p->packet, &err);

	if (r != 1)
		fail_msg("no answer: %d %s", r, err.text);
	if (p->packet.type == MSG_ledger_failed && type != MSG_ledger_failed) {
		struct msg_ledger_failed m;

		assert_ok(msg_ledger_failed_decode(p->packet.body, p->packet.len, &m, NULL));
		fail_msg("refused: %.*s", (int)m.detail.len, m.detail.data);
	}
	assert_int_equal(p->packet.type, type);
}

static UNUSED int
process_send_event(struct process *p, uint64_t tag, struct error *err)
{
	CLEANUP(buf_fini) struct buf entry = {0};

	buf_init(&entry, ENTRY_MAX);
	fixture_event("started", tag, &entry);
	return CHANNEL_SEND(&p->authority, append, err, .tag = tag, .kind = ENTRY_EVENT,
			    .entry = wire_bytes_of(entry.data, entry.len));
}

/* The receipt in the packet; its tag. */
static UNUSED uint64_t
process_receipt(struct process *p, struct receipt *ret)
{
	struct msg_appended m;

	assert_ok(msg_appended_decode(p->packet.body, p->packet.len, &m, NULL));
	assert_ok(receipt_decode(m.receipt.data, m.receipt.len, ret, NULL));
	return m.tag;
}

#endif
