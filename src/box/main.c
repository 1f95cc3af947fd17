/*
 * loom-box: builds sandboxes on grants. It starts as root, and
 *
 *   1. executes itself again out of a sealed memfd, so that no /proc/N/exe of it or its children
 *      ever leads to a file of the host;
 *   2. takes the receipt key, and enters an empty network namespace;
 *   3. confines itself (what it denies itself, every sandbox inherits);
 *   4. finds out whether sandboxes can be had here; when not, it still answers, with the reason;
 *   5. says that it is ready, and loops.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "box/box.h"
#include "box/image.h"
#include "box/job.h"
#include "box/landlock.h"
#include "box/own.h"
#include "box/procfs.h"
#include "box/sanitized.h"
#include "confine/confine.h"
#include "wire/inherit.h"

#if SANITIZED
/* Leaks are looked for in unit tests; what is confined cannot look. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

#define MOUNTINFO_MAX (4u << 20) /* bytes */
#define EXPIRE_EVERY_US (UINT64_C(3600) * 1000000)

/*
 * Clients' descriptors are of the host's mount namespace, and can be judged and cloned only there,
 * so the box stays in it; it mounts nothing but in namespaces made for that (root.h). The network
 * is another matter: there is none here.
 */
/* Where this is refused (a container's defaults), no sandbox can be had either: that is said to
 * whoever asks for one. */
static int
leave_network(struct box *b, struct error *err)
{
	b->host_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (b->host_ns < 0)
		return error_sys(err, -errno, "open the mount namespace");
	if (unshare(CLONE_NEWNET) != 0)
		(void)failure_set(&b->unavailable, R_RUNTIME_UNAVAILABLE, "namespaces", -errno,
				  "namespaces may not be made here (%s), as in a container with "
				  "its defaults; run Loom outside of it, or see loom doctor",
				  strerror(errno));
	return 0;
}

/*
 * What is Loom's own: what was handed over of it, and the paths of it. Somebody who drives a box
 * without a loomd has neither.
 */
static int
know_places(struct error *err)
{
	static char paths[3 * PATH_BYTES_MAX];
	CLEANUP(buf_fini) struct buf read;
	const int fds[] = {INHERIT_CONFIG, INHERIT_RUN};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fds); i++)
		if (fcntl(fds[i], F_SETFD, FD_CLOEXEC) == 0)
			r = own_add_fd(fds[i], err);
	buf_init(&read, sizeof(paths) - 1);
	if (r < 0 || fcntl(INHERIT_PATHS, F_GETFD) < 0)
		return r;
	r = fd_read_to_end(INHERIT_PATHS, &read, err);
	fd_close(INHERIT_PATHS);
	if (r < 0)
		return error_prefix(err, "the paths of Loom's own");
	if (read.len > 0)
		memcpy(paths, read.data, read.len);
	for (size_t at = 0; r == 0 && at < read.len; at += strlen(paths + at) + 1)
		r = own_add_path(paths + at, err);
	return r;
}

static int
know_oneself(struct box *b, struct error *err)
{
	char text[8192];
	const char *at;
	struct stat st;
	size_t len;

	if (stat("/proc/self/exe", &st) != 0 ||
	    procfs_read(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0 ||
	    (at = procfs_field(text, "Seccomp_filters", &len)) == NULL)
		return error_set(err, -EOPNOTSUPP,
				 "/proc does not tell about this process; is it mounted?");
	b->base.image_dev = st.st_dev;
	b->base.image_ino = st.st_ino;
	b->base.box_filters = (uint32_t)strtoul(at, NULL, 10);
	return 0;
}

static int
make_filters(struct box *b, struct error *err)
{
	int r = 0;

	b->filters = calloc(FILTER_KINDS, sizeof(*b->filters));
	if (b->filters == NULL)
		return error_set(err, -ENOMEM, "no memory for filters");
	for (unsigned i = 0; i < FILTER_KINDS && r == 0; i++)
		r = filter_build(i, &b->filters[i], err);
	return r;
}

/*
 * The first mount over a part of /proc, which hides something here that a procfs of a sandbox's own
 * would show: a sandbox must not see more than whoever asks for it. These hide nothing: their mount
 * points are empty directories that the kernel makes for them.
 */
static int
find_mask(char *ret_at, size_t cap)
{
	static const char *const file_systems[] = {"/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd",
						   "/proc/xen"};
	char *text = malloc(MOUNTINFO_MAX), *at = text;
	struct procfs_mount m;
	int r = text == NULL
			? -ENOMEM
			: (int)procfs_read(AT_FDCWD, "/proc/self/mountinfo", text, MOUNTINFO_MAX);

	ret_at[0] = '\0';
	while (r >= 0 && ret_at[0] == '\0' && procfs_mount_next(&at, &m)) {
		bool known = strcmp(m.at, "/proc") == 0 || !path_is_beneath(m.at, "/proc");

		for (size_t i = 0; i < ARRAY_LEN(file_systems); i++)
			known = known || strcmp(m.at, file_systems[i]) == 0;
		if (!known)
			(void)snprintf(ret_at, cap, "%s", m.at);
	}
	/* A line that cannot be read may be the one that hides something. */
	if (r >= 0 && ret_at[0] == '\0' && *at != '\0')
		r = -EBADMSG;
	free(text);
	return r < 0 ? r : 0;
}

/* What a machine may lack: then every run is refused with this, and nothing else is affected. */
static void
find_capabilities(struct box *b)
{
	char mask[256] = "";
	struct failure *f = &b->unavailable;
	struct error err = {0};

	b->base.landlock_abi = landlock_abi();
	if (f->code == 0 && find_mask(mask, sizeof(mask)) < 0)
		(void)failure_set(f, R_RUNTIME_UNAVAILABLE, "proc", -EIO,
				  "the list of mounts cannot be read");
	if (f->code == 0 && mask[0] != '\0')
		(void)failure_set(f, R_RUNTIME_UNAVAILABLE, "proc", -EPERM,
				  "%s is masked by a mount, as in a container; a sandbox would see "
				  "what is hidden here. Run Loom where /proc is whole",
				  mask);
	if (f->code == 0 && b->base.landlock_abi < LANDLOCK_ABI_MIN)
		(void)failure_set(
			f, R_RUNTIME_UNAVAILABLE, "landlock", -EOPNOTSUPP,
			"Landlock is not there, or older than ABI %d (Linux 5.19); is it in "
			"the kernel's lsm= list?",
			LANDLOCK_ABI_MIN);
	if (f->code == 0 && idrange_claim(&b->ids, &err) < 0)
		(void)failure_error(f, R_CAPABILITY_UNAVAILABLE, "ids", &err);
	if (f->code == 0 && cgroups_open(&b->cgroups, &err) < 0)
		(void)failure_error(f, R_CAPABILITY_UNAVAILABLE, "cgroup", &err);
	if (f->code != 0)
		log_warning("no sandbox can be had: %s", f->text);
}

static int
start(struct box *b, struct error *err)
{
	const struct confine_spec spec = {
		.process = CONFINE_BOX, .uid = (uid_t)-1, .gid = (gid_t)-1};
	struct store_recovered recovered;
	struct error store_err = {0};
	int r;

	r = secret_read_fd(&b->key, INHERIT_KEY, RECEIPT_KEY_LEN, err);
	fd_close(INHERIT_KEY);
	if (r == 0)
		r = know_places(err);
	if (r == 0)
		r = leave_network(b, err);
	if (r == 0)
		r = confine_self(&spec, err);
	if (r == 0)
		r = know_oneself(b, err);
	if (r == 0)
		r = make_filters(b, err);
	if (r < 0)
		return r;
	find_capabilities(b);
	if (b->unavailable.code == 0) {
		(void)cgroups_sweep(&b->cgroups);
		b->base.cgroups = &b->cgroups;
		b->base.filters = b->filters;
		b->base.host_ns = b->host_ns;
		b->base.id_lock = b->ids.lock;
		b->base.sessions = b->sessions;
		spare_sweep(b->sessions);
		r = nursery_start(&b->nursery, &b->base, err);
		if (r < 0)
			return r;
	}
	if (store_recover(b->sessions, clock_wall_ms(), &recovered, &store_err) < 0)
		log_warning("%s", store_err.text);
	return packet_init(&b->packet, err);
}

/* ---- the loop ---- */

static int
on_authority(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct box *b = userdata;
	struct error err = {0};
	int r = channel_recv(&b->authority, &b->packet, &err);

	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		return sd_event_exit(b->event, 0);
	if (r > 0) {
		r = box_on_packet(b, &err);
		packet_clear(&b->packet);
	}
	if (r < 0) {
		log_error("the authority: %s", err.text);
		return sd_event_exit(b->event, 1);
	}
	return 0;
}

static int
on_loomd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct box *b = userdata;
	struct error err = {0};
	int r = channel_recv(&b->loomd, &b->packet, &err);

	if (r == -EAGAIN)
		return 0;
	if (r < 0)
		log_error("loomd: %s", err.text);
	packet_clear(&b->packet);
	return sd_event_exit(b->event, r < 0 ? 1 : 0);
}

/* It never says anything; its end is ours. */
static int
on_nursery(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct box *b = userdata;

	log_error("the nursery died");
	return sd_event_exit(b->event, 1);
}

static bool
in_use(const char *session, void *arg)
{
	return run_session_live(arg, session);
}

static void
work_expire(void *arg, void *answer)
{
	struct box *b = arg;
	uint32_t removed;
	struct error err = {0};

	if (store_expire(b->sessions, clock_wall_ms(), in_use, b, &removed, &err) < 0)
		log_warning("%s", err.text);
}

static void
expired(struct box *b, void *arg, void *answer, bool answered)
{
}

static int
on_expire(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct box *b = userdata;
	struct error err = {0};

	if (job_start(b, work_expire, expired, b, 1, &err) < 0)
		log_warning("%s", err.text);
	(void)sd_event_source_set_time_relative(source, EXPIRE_EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int
make_loop(struct box *b, struct error *err)
{
	sigset_t chld;
	int r;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	r = sd_event_new(&b->event);
	if (r >= 0 && b->nursery.channel >= 0)
		r = sd_event_add_io(b->event, NULL, b->nursery.channel, EPOLLIN, on_nursery, b);
	if (r >= 0)
		r = sd_event_add_io(b->event, NULL, b->authority.fd, EPOLLIN, on_authority, b);
	if (r >= 0)
		r = sd_event_add_io(b->event, NULL, b->loomd.fd, EPOLLIN, on_loomd, b);
	if (r >= 0)
		r = sd_event_add_time_relative(b->event, NULL, CLOCK_BOOTTIME, EXPIRE_EVERY_US,
					       60000000, on_expire, b);
	if (r < 0)
		return error_sys(err, r, "make the loop");
	return pool_init(b, err);
}

static int
serve(struct box *b, struct error *err)
{
	int r = make_loop(b, err);

	if (r == 0)
		r = CHANNEL_SEND(&b->loomd, ready, err, .pid = (uint32_t)getpid());
	if (r < 0)
		return r;
	pool_refill_later(b);
	r = sd_event_loop(b->event);
	runs_fini(b);
	pool_fini(b);
	nursery_close(&b->nursery);
	cgroups_close(&b->cgroups);
	return r < 0 ? error_sys(err, r, "the loop") : r;
}

int
main(int argc, char **argv)
{
	static struct box b;
	struct error err = {0};
	int r;

	log_init("loom-box");
	if (geteuid() != 0)
		fatal("Loom runs sandboxes as root only; running as an ordinary user is not there "
		      "yet");
	if (image_enter(&err) < 0)
		fatal("%s", err.text);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		fatal("tie the box to loomd: %m");
	/* What a request needs stays where it is; giving it back and asking again costs page
	 * faults. */
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
	(void)mallopt(M_MMAP_THRESHOLD, 16 << 20);
	(void)prctl(PR_SET_NAME, "loom-box", 0, 0, 0);
	(void)close_range(INHERIT_END, ~0u, 0);
	b.sessions = INHERIT_STATE;
	b.host_ns = b.nursery.channel = -1;
	idrange_init(&b.ids);
	cgroups_init(&b.cgroups);
	channel_init(&b.loomd, INHERIT_LOOMD, P_BOX, P_LOOMD, S_OPEN);
	channel_init(&b.authority, INHERIT_AUTHORITY, P_BOX, P_AUTHORITY, S_OPEN);
	r = start(&b, &err);
	if (r >= 0)
		r = serve(&b, &err);
	if (r < 0)
		fatal("%s", err.text);
	return r;
}
