/* From the plan to the open gate. What has to be told about it is told when the command is on its
 * way. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/confirm.h"
#include "box/keeper.h"

/* Wait for one of our two peers. What the box says before its plan can only be its end. */
void
keeper_receive_plan(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	struct pollfd polled[] = {{.fd = k->park->box, .events = POLLIN},
				  {.fd = k->init_pidfd, .events = POLLIN}};
	ssize_t n;

	while (poll(polled, 2, -1) < 0)
		;
	if (polled[1].revents != 0) {
		(void)failure_set(&k->failure, R_INTERNAL, "init", -EPIPE,
				  "init died while parked");
		keeper_give_up(k);
	}
	n = sandbox_recv(k->park->box, &k->message, sizeof(k->message), fds, PLAN_FDS_MAX, NULL);
	if (n <= 0)
		_exit(0);
	if (k->message.type != SANDBOX_PLAN || (size_t)n < SANDBOX_PLAN_FIXED ||
	    !plan_valid(&k->message.plan, (size_t)n - offsetof(struct sandbox_plan, plan))) {
		(void)failure_set(&k->failure, R_INTERNAL, "plan", -EPROTO, "what came is no plan");
		keeper_give_up(k);
	}
}

/* Hand the plan on, with what init needs of it. */
static int
pass_plan(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	const struct plan *p = &k->message.plan;
	CLEANUP(fd_closep) int workspace = -1;
	CLEANUP(fd_closep) int layers = -1;
	int send[4], at = PLAN_FD_ENV, n = 0, r;

	send[n++] = fds[PLAN_FD_ARGS];
	if ((p->flags & PLAN_CLIENT_ENV) != 0)
		send[n++] = fds[at++];
	if ((p->flags & PLAN_PREPARED) == 0) {
		if (keeper_mounts(k, fds[PLAN_FD_WORKSPACE], fds[at], &workspace, &layers) < 0)
			return k->failure.code;
		send[n++] = workspace;
		if (layers >= 0)
			send[n++] = layers;
	}
	r = sandbox_send(k->control, &k->message, offsetof(struct sandbox_plan, plan) + p->size,
			 send, (size_t)n);
	for (int i = PLAN_FD_WORKSPACE; i < PLAN_FDS_MAX; i++)
		fd_closep(&fds[i]);
	fd_closep(&k->idmap);
	return r == 0 ? 0
		      : failure_sys(&k->failure, R_INTERNAL, "plan", r, "hand the plan to init");
}

/* What comes next: a terminal from init, then the command's report. Or a failure of either. */
static int
wait_report(struct keeper *k, struct sandbox_report *report, pid_t *ret_pid)
{
	union init_message m;

	for (;;) {
		struct pollfd polled[] = {{.fd = k->gate, .events = POLLIN},
					  {.fd = k->control, .events = POLLIN},
					  {.fd = k->init_pidfd, .events = POLLIN}};
		ssize_t n;
		int fd = -1;

		if (poll(polled, 3, -1) < 0)
			continue;
		if (polled[1].revents != 0) {
			if (keeper_hear_init(k, &m, &fd) == 0 || k->failure.code != 0)
				break;
			if (m.type != SANDBOX_TERMINAL || fd < 0 || k->terminal >= 0)
				return failure_set(&k->failure, R_INTERNAL, "init", -EPROTO,
						   "init said something out of turn");
			k->terminal = fd;
			continue;
		}
		if (polled[0].revents != 0) {
			n = sandbox_recv(k->gate, report, sizeof(*report), NULL, 0, ret_pid);
			if (n == (ssize_t)sizeof(*report) && report->type == SANDBOX_REPORT)
				return 0;
			if (n == (ssize_t)sizeof(m.failed) && report->type == SANDBOX_FAILED) {
				memcpy(&m.failed, report, sizeof(m.failed));
				k->failure = m.failed.failure;
				break;
			}
		}
		if (polled[0].revents != 0 || polled[2].revents != 0)
			break;
	}
	return failure_set(&k->failure, R_INTERNAL, "init", -EPIPE,
			   "the sandbox died while it was made");
}

static int
check(struct keeper *k, const struct sandbox_report *report, pid_t command,
      struct sandbox_facts *facts)
{
	const struct confirm_in in = {.own = &k->own,
				      .park = k->park,
				      .plan = &k->message.plan,
				      .cgroup = &k->cgroup,
				      .report = report,
				      .init = k->init,
				      .command = command};

	if (confirm(&in, facts, &k->failure) < 0)
		return k->failure.code;
	if (report->refused)
		return failure_set(&k->failure, R_INVALID_ARGUMENT, "command", -EINVAL,
				   "the command names a file of procfs or of Loom itself");
	return 0;
}

/* Up to the open gate. What has to be told is told when the command is on its way. */
void
keeper_start(struct keeper *k, int fds[PLAN_FDS_MAX])
{
	static struct sandbox_report report;
	const uint32_t open_gate = SANDBOX_OPEN;
	struct error err = {0};
	pid_t command = 0;

	if (pass_plan(k, fds) < 0)
		keeper_give_up(k);
	for (int i = 0; i < 3; i++)
		k->client[i] = TAKE_FD(fds[i]);
	if (cgroup_limit(&k->cgroup, &k->message.plan.limits, &err) < 0) {
		(void)failure_error(&k->failure, R_CAPABILITY_UNAVAILABLE, "cgroup", &err);
		keeper_give_up(k);
	}
	if (wait_report(k, &report, &command) < 0 ||
	    check(k, &report, command, &k->started.facts) < 0)
		keeper_give_up(k);
	if (sandbox_send(k->gate, &open_gate, sizeof(open_gate), NULL, 0) < 0)
		_exit(1);
}
