/*
 * A sandbox's life as the box sees it: ordered from the nursery, parked, used, told how it ended,
 * gone, cgroups removed. Box and keeper only exchange packets; a keeper's channel closes when it is
 * gone, and it goes last. A keeper that breaks the protocol, or dies, is a failure of its run.
 */
#include "box/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "box/box.h"

#define DEFAULT_TMP (UINT64_C(256) << 20)
#define USUAL_WORKSPACE "/workspace"
#define REAP_AGAIN_US 20000

static void
kill_pidfd(int pidfd)
{
	if (pidfd >= 0)
		(void)syscall(__NR_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Kill it and wait until it is dead; for what is about to be, or must be, over. */
static void
see_end_of(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return;
	kill_pidfd(pidfd);
	while (poll(&p, 1, POOL_END_MS) < 0 && errno == EINTR)
		;
}

static void
usual_shape(struct root_shape *s)
{
	*s = (struct root_shape){.workspace_at = USUAL_WORKSPACE};
}

static void
remember_left(struct pool *p, uint64_t number)
{
	if (p->n_left < ARRAY_LEN(p->left))
		p->left[p->n_left++].number = number;
	else
		log_warning("cgroup s%llu stays until the next sweep", (unsigned long long)number);
}

static int
on_reap(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct box *b = userdata;
	struct pool *p = &b->pool;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n_left; i++)
		if (cgroup_remove(&b->cgroups, p->left[i].number) < 0)
			p->left[kept++] = p->left[i];
	p->n_left = kept;
	if (kept > 0) {
		(void)sd_event_source_set_time_relative(source, REAP_AGAIN_US);
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	return 0;
}

static void
remove_cgroup(struct box *b, uint64_t number)
{
	if (cgroup_remove(&b->cgroups, number) == 0)
		return;
	cgroup_kill(&b->cgroups, number, true);
	remember_left(&b->pool, number);
	(void)sd_event_source_set_time_relative(b->pool.reap, REAP_AGAIN_US);
	(void)sd_event_source_set_enabled(b->pool.reap, SD_EVENT_ONESHOT);
}

static void
sandbox_free(struct sandbox *s)
{
	struct box *b = s->box;

	for (struct sandbox **at = &b->pool.first; *at != NULL; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->deadline);
	fd_closep(&s->channel);
	fd_closep(&s->keeper_pidfd);
	fd_closep(&s->init_pidfd);
	if (s->root != NULL)
		roots_leave(s->root);
	if (s->park.prepare && !s->adopted) {
		char name[SPARE_NAME_MAX];

		spare_name(s->park.number, name);
		nursery_remove(&b->nursery, name);
	}
	idrange_give(&b->ids, s->park.host_id);
	free(s);
}

/* It did not come again: no mount of it is held any longer. */
static int
on_forget(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct box *b = userdata;

	fd_closep(&b->pool.workspace);
	for (struct sandbox *s = b->pool.first; s != NULL; s = s->next)
		if (s->run == NULL && s->park.prepare && s->state <= SANDBOX_IS_PARKED)
			pool_kill_keeper(s);
	pool_refill_later(b);
	return 0;
}

void
pool_expect(struct box *b, int workspace, const struct spare_for *what)
{
	struct pool *p = &b->pool;

	fd_closep(&p->workspace);
	p->workspace = fcntl(workspace, F_DUPFD_CLOEXEC, 3);
	p->what = *what;
	(void)sd_event_source_set_time_relative(p->forget, (uint64_t)POOL_EXPECT_MS * 1000);
	(void)sd_event_source_set_enabled(p->forget, SD_EVENT_ONESHOT);
}

static void
fail_run(struct sandbox *s, enum reason reason, const char *step, int code, const char *text)
{
	struct failure f = {0};

	if (s->run == NULL || s->told)
		return;
	s->told = true;
	(void)failure_set(&f, reason, step, code, "%s", text);
	run_failed(s->run, &f);
}

/* The keeper is gone; when its init is, nothing of the sandbox lives any more. */
static void
keeper_gone(struct sandbox *s)
{
	struct box *b = s->box;
	uint64_t number = s->park.number;

	see_end_of(s->keeper_pidfd);
	see_end_of(s->init_pidfd);
	fail_run(s, R_INTERNAL, "keeper", -EPIPE, "the keeper of the sandbox died");
	sandbox_free(s);
	remove_cgroup(b, number);
}

union keeper_message {
	uint32_t type;
	struct sandbox_born born;
	struct sandbox_parked parked;
	struct sandbox_started started;
	struct sandbox_done done;
	struct sandbox_failed failed;
};

/*
 * Perhaps it was the guess, as when the workspace it was made for is gone: whoever waits for this
 * sandbox gets another, and that is made without one.
 */
static void
guess_failed(struct sandbox *s)
{
	struct run *waiting = s->run;
	struct sandbox *coming;
	struct failure f = {0};
	struct error err = {0};

	fd_closep(&s->box->pool.workspace);
	s->run = NULL;
	s->told = true;
	s->state = SANDBOX_IS_OVER;
	if (waiting == NULL || pool_get(s->box, &s->root->shape, NULL, waiting, &coming, &err) == 0)
		return;
	(void)failure_error(&f, R_CAPABILITY_UNAVAILABLE, "sandbox", &err);
	run_failed(waiting, &f);
}

static void
say_failed(struct sandbox *s, struct sandbox_failed *m)
{
	struct failure *f = &m->failure;

	f->step[sizeof(f->step) - 1] = f->text[sizeof(f->text) - 1] = '\0';
	if (f->reason >= REASON_COUNT)
		f->reason = R_INTERNAL;
	if (s->run == NULL)
		log_error("a sandbox could not be made: %s: %s", f->step, f->text);
	if (s->state < SANDBOX_IS_PARKED && s->park.prepare) {
		guess_failed(s);
		return;
	}
	if (s->run != NULL && !s->told)
		run_failed(s->run, f);
	s->told = true;
	s->state = SANDBOX_IS_OVER;
}

static void
say_parked(struct sandbox *s, int init_pidfd)
{
	s->init_pidfd = init_pidfd;
	s->state = SANDBOX_IS_PARKED;
	s->deadline = sd_event_source_disable_unref(s->deadline);
	if (s->run != NULL) {
		s->state = SANDBOX_IS_USED;
		run_has_sandbox(s->run, s);
	}
}

static bool
dispatch(struct sandbox *s, union keeper_message *m, size_t len, int *fd)
{
	if (m->type == SANDBOX_BORN && len == sizeof(m->born) && *fd >= 0 && s->keeper_pidfd < 0) {
		s->keeper_pidfd = TAKE_FD(*fd);
		return true;
	}
	if (m->type == SANDBOX_PARKED && len == sizeof(m->parked) && *fd >= 0 &&
	    s->state == SANDBOX_IS_STARTING) {
		say_parked(s, TAKE_FD(*fd));
		return true;
	}
	if (m->type == SANDBOX_FAILED && len == sizeof(m->failed)) {
		say_failed(s, &m->failed);
		return true;
	}
	if (s->state != SANDBOX_IS_USED)
		return false;
	if (m->type == SANDBOX_STARTED && len == sizeof(m->started)) {
		if (s->run != NULL)
			run_started(s->run, &m->started);
		return true;
	}
	if (m->type == SANDBOX_DONE && len == sizeof(m->done)) {
		s->state = SANDBOX_IS_OVER;
		if (s->run != NULL && !s->told) {
			s->told = true;
			run_done(s->run, &m->done);
		}
		return true;
	}
	return false;
}

static int
on_keeper(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct sandbox *s = userdata;
	union keeper_message m = {0};
	CLEANUP(fd_closep) int got = -1;
	ssize_t n = sandbox_recv(fd, &m, sizeof(m), &got, 1, NULL);

	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		keeper_gone(s);
		return 0;
	}
	if (!dispatch(s, &m, (size_t)n, &got)) {
		log_error("a keeper said something out of turn");
		pool_kill_keeper(s);
	}
	return 0;
}

static int
on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct sandbox *s = userdata;

	fail_run(s, R_INTERNAL, "park", -ETIMEDOUT, "the sandbox was not ready in time");
	pool_kill_keeper(s);
	return 0;
}

static void
fill_spawn(struct box *b, struct sandbox_spawn *spawn)
{
	const struct pool *p = &b->pool;

	spawn->number = b->pool.next_number++;
	spawn->limits = p->limits;
	spawn->tmp_bytes = p->tmp_bytes;
	spawn->shm_bytes = p->shm_bytes;
	spawn->owner_uid = p->owner_uid;
	spawn->owner_gid = p->owner_gid;
	/* Not for somebody who waits: he has a workspace of his own. */
	if (!spawn->awaited && p->workspace >= 0) {
		spawn->prepare = 1;
		spawn->workspace = p->what;
		spawn->owner_uid = p->what.uid;
		spawn->owner_gid = p->what.gid;
	}
}

static int
start_keeper(struct sandbox *s, int theirs, struct error *err)
{
	sd_event *e = s->box->event;
	int r;

	if (fcntl(s->channel, F_SETFL, O_NONBLOCK) != 0)
		return error_sys(err, -errno, "set up a channel");
	r = sd_event_add_io(e, &s->io, s->channel, EPOLLIN, on_keeper, s);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &s->deadline, CLOCK_BOOTTIME,
					       (uint64_t)POOL_PARK_MS * 1000, 0, on_deadline, s);
	if (r < 0)
		return error_sys(err, r, "watch a keeper");
	return nursery_spawn(&s->box->nursery, &s->park, s->root, theirs,
			     s->park.prepare ? s->box->pool.workspace : -1, err);
}

static int
sandbox_new(struct box *b, const struct root_shape *shape, bool awaited, struct sandbox **ret,
	    struct error *err)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	int fds[2], r;

	if (s == NULL)
		return error_set(err, -ENOMEM, "no memory for a sandbox");
	*s = (struct sandbox){.box = b, .keeper_pidfd = -1, .init_pidfd = -1, .channel = -1};
	s->park.host_id = idrange_take(&b->ids);
	r = s->park.host_id != 0 ? roots_get(&b->pool.roots, shape, b->host_ns, &s->root, err)
				 : error_set(err, -EBUSY, "all session ids are in use");
	if (r == 0)
		s->root->users++;
	if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		r = error_sys(err, -errno, "make a socket pair");
	if (r < 0) {
		sandbox_free(s);
		return r;
	}
	s->channel = fds[0];
	s->park.awaited = awaited;
	fill_spawn(b, &s->park);
	r = start_keeper(s, fds[1], err);
	fd_close(fds[1]);
	if (r < 0) {
		sandbox_free(s);
		return r;
	}
	s->next = b->pool.first;
	b->pool.first = s;
	*ret = s;
	return 0;
}

static int
on_refill(sd_event_source *source, void *userdata)
{
	struct box *b = userdata;
	struct root_shape shape;
	struct root *root;
	struct sandbox *s;
	struct error err = {0};
	uint32_t have = 0;

	(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (b->unavailable.code != 0)
		return 0;
	usual_shape(&shape);
	if (roots_get(&b->pool.roots, &shape, b->host_ns, &root, &err) < 0) {
		log_error("no sandbox could be parked: %s", err.text);
		return 0;
	}
	for (s = b->pool.first; s != NULL; s = s->next)
		have += s->run == NULL && s->state <= SANDBOX_IS_PARKED && s->root == root;
	if (have >= b->pool.size) {
		fd_closep(&b->pool.workspace);
		return 0;
	}
	if (sandbox_new(b, &shape, false, &s, &err) < 0) {
		log_error("no sandbox could be parked: %s", err.text);
		return 0;
	}
	/* One at a time: between two, the loop hears what else there is. */
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

void
pool_refill_later(struct box *b)
{
	(void)sd_event_source_set_enabled(b->pool.refill, SD_EVENT_ONESHOT);
}

int
pool_init(struct box *b, struct error *err)
{
	struct pool *p = &b->pool;
	int r;

	*p = (struct pool){.size = POOL_SIZE,
			   .tmp_bytes = DEFAULT_TMP,
			   .shm_bytes = DEFAULT_TMP,
			   .workspace = -1};
	r = sd_event_add_defer(b->event, &p->refill, on_refill, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(p->refill, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_source_set_priority(p->refill, SD_EVENT_PRIORITY_IDLE);
	if (r >= 0)
		r = sd_event_add_time_relative(b->event, &p->reap, CLOCK_BOOTTIME, 0, 1000, on_reap,
					       b);
	if (r >= 0)
		r = sd_event_source_set_enabled(p->reap, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(b->event, &p->forget, CLOCK_BOOTTIME, 0, 100000,
					       on_forget, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(p->forget, SD_EVENT_OFF);
	return r >= 0 ? 0 : error_sys(err, r, "make the pool");
}

void
pool_fini(struct box *b)
{
	struct pool *p = &b->pool;

	for (struct sandbox *s = p->first; s != NULL; s = s->next)
		pool_kill_keeper(s);
	while (p->first != NULL) {
		uint64_t number = p->first->park.number;

		see_end_of(p->first->keeper_pidfd);
		see_end_of(p->first->init_pidfd);
		sandbox_free(p->first);
		for (int tries = 0; tries < 100 && cgroup_remove(&b->cgroups, number) < 0; tries++)
			(void)usleep(1000);
	}
	roots_fini(&p->roots);
	sd_event_source_disable_unref(p->refill);
	sd_event_source_disable_unref(p->reap);
	sd_event_source_disable_unref(p->forget);
	fd_closep(&p->workspace);
}

bool
pool_prepared(const struct sandbox *s, const struct spare_for *want)
{
	return want != NULL && s->park.prepare && spare_for_same(&s->park.workspace, want);
}

/* How well S fits: parked before starting, with the workspace before with none before with
 * another's. */
static int
fitness(const struct sandbox *s, const struct spare_for *want)
{
	int fit = pool_prepared(s, want) ? 2 : s->park.prepare ? 0 : 1;

	return 4 * (s->state == SANDBOX_IS_PARKED) + fit;
}

int
pool_get(struct box *b, const struct root_shape *shape, const struct spare_for *want,
	 struct run *run, struct sandbox **ret_coming, struct error *err)
{
	struct sandbox *best = NULL;
	struct root *root;
	int r = roots_get(&b->pool.roots, shape, b->host_ns, &root, err);

	if (r < 0)
		return r;
	for (struct sandbox *s = b->pool.first; s != NULL; s = s->next) {
		if (s->run != NULL || s->state > SANDBOX_IS_PARKED)
			continue;
		if (s->root != root) {
			/* Of a root that the host has moved on from: nobody will want it again. */
			if (root_shape_same(&s->root->shape, shape))
				pool_kill_keeper(s);
			continue;
		}
		/* Of equals, the oldest; the list has the newest first. */
		if (best == NULL || fitness(s, want) >= fitness(best, want))
			best = s;
	}
	if (best == NULL)
		r = sandbox_new(b, shape, true, &best, err);
	if (r < 0)
		return r;
	best->run = run;
	*ret_coming = best;
	if (best->state == SANDBOX_IS_PARKED) {
		*ret_coming = NULL;
		best->state = SANDBOX_IS_USED;
		run_has_sandbox(run, best);
	}
	return 0;
}

int
pool_use(struct sandbox *s, const struct plan *plan, const int *fds, size_t n_fds,
	 struct error *err)
{
	static struct sandbox_plan m;
	struct pool *p = &s->box->pool;
	int r;

	m.type = SANDBOX_PLAN;
	memcpy(&m.plan, plan, plan->size);
	r = sandbox_send(s->channel, &m, offsetof(struct sandbox_plan, plan) + plan->size, fds,
			 n_fds);
	if (r < 0)
		return error_sys(err, r, "send the plan to the keeper");
	p->limits = plan->limits;
	p->tmp_bytes = plan->tmp_bytes;
	p->shm_bytes = plan->shm_bytes;
	p->owner_uid = plan->owner_uid;
	p->owner_gid = plan->owner_gid;
	return 0;
}

void
pool_signal(struct sandbox *s, int signo)
{
	const struct sandbox_signal m = {SANDBOX_SIGNAL, signo};

	(void)!sandbox_send(s->channel, &m, sizeof(m), NULL, 0);
}

void
pool_winsize(struct sandbox *s, uint16_t rows, uint16_t columns)
{
	const struct sandbox_winsize m = {SANDBOX_WINSIZE, rows, columns};

	(void)!sandbox_send(s->channel, &m, sizeof(m), NULL, 0);
}

void
pool_kill(struct sandbox *s)
{
	const uint32_t hurry = SANDBOX_HURRY;

	if (s->state == SANDBOX_IS_USED)
		(void)!sandbox_send(s->channel, &hurry, sizeof(hurry), NULL, 0);
	if (s->init_pidfd >= 0)
		kill_pidfd(s->init_pidfd);
	else
		kill_pidfd(s->keeper_pidfd);
}

void
pool_kill_keeper(struct sandbox *s)
{
	kill_pidfd(s->init_pidfd);
	kill_pidfd(s->keeper_pidfd);
}

void
pool_leave(struct sandbox *s)
{
	s->run = NULL;
	if (s->state < SANDBOX_IS_OVER && s->state != SANDBOX_IS_PARKED)
		pool_kill_keeper(s);
}
