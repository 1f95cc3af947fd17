/* Everything here is the honest order of doc/protocol.md, with a place to lie at each step. */
#include "drive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/entry.h"
#include "wire/inherit.h"

static void
exec_box(const char *box, int loomd, int key, int authority, int state)
{
	int from[4] = {loomd, key, authority, state};
	const int to[4] = {INHERIT_LOOMD, INHERIT_KEY, INHERIT_AUTHORITY, INHERIT_STATE};
	char *argv[] = {(char *)(uintptr_t)box, NULL};
	sigset_t none;

	for (int i = 0; i < 4; i++)
		from[i] = fcntl(from[i], F_DUPFD, 100);
	for (int i = 0; i < 4; i++)
		(void)dup2(from[i], to[i]);
	(void)close_range(INHERIT_END, ~0u, 0);
	for (int fd = 3; fd < INHERIT_END; fd++)
		if (fd != to[0] && fd != to[1] && fd != to[2] && fd != to[3])
			(void)close(fd);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execv(box, argv);
	_exit(127);
}

int
drive_start(struct drive *d, const char *box, struct error *err)
{
	int loomd[2], authority[2], key[2], state, r;
	char sessions[96];

	*d = (struct drive){.index = 10, .session = 1, .state = "/var/tmp/boxdrive-XXXXXX"};
	if (mkdtemp(d->state) == NULL)
		return error_sys(err, -errno, "mkdtemp");
	(void)snprintf(sessions, sizeof(sessions), "%s/sessions", d->state);
	if (mkdir(sessions, 0700) != 0)
		return error_sys(err, -errno, "mkdir");
	state = open(sessions, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = packet_init(&d->packet, err);
	if (r == 0)
		r = channel_pair(loomd, err);
	if (r == 0)
		r = channel_pair(authority, err);
	if (r < 0 || state < 0 || pipe2(key, O_CLOEXEC) != 0 ||
	    getrandom(d->key, sizeof(d->key), 0) != (ssize_t)sizeof(d->key))
		return r < 0 ? r : error_sys(err, -errno, "set up");
	d->box = fork();
	if (d->box == 0)
		exec_box(box, loomd[1], key[0], authority[1], state);
	fd_close(loomd[1]);
	fd_close(authority[1]);
	fd_close(key[0]);
	fd_close(state);
	channel_init(&d->loomd, loomd[0], P_LOOMD, P_BOX, S_INIT);
	channel_init(&d->authority, authority[0], P_AUTHORITY, P_BOX, S_OPEN);
	if (write(key[1], d->key, sizeof(d->key)) != (ssize_t)sizeof(d->key))
		return error_sys(err, -errno, "hand over the key");
	fd_close(key[1]);
	r = channel_recv(&d->loomd, &d->packet, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, -EPIPE, "the box ended before it was ready");
	d->loomd.state = S_OPEN;
	return 0;
}

int
drive_end(struct drive *d)
{
	int status = -1;

	channel_close(&d->authority);
	channel_close(&d->loomd);
	packet_fini(&d->packet);
	if (d->box > 0)
		while (waitpid(d->box, &status, 0) < 0 && errno == EINTR)
			;
	return status;
}

void
drive_clear(struct drive *d)
{
	pid_t rm;

	if (d->state[0] == '\0' || strstr(d->state, "XXXXXX") != NULL)
		return;
	rm = fork();
	if (rm == 0) {
		(void)execl("/bin/rm", "rm", "-rf", d->state, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(rm, NULL, 0);
}

int
drive_stop(struct drive *d)
{
	int status = drive_end(d);

	drive_clear(d);
	return status;
}

static int
make_blob(const char *const *strings, struct error *err)
{
	CLEANUP(buf_fini) struct buf b;
	uint8_t salt[ARGS_SALT_LEN];

	buf_init(&b, ARGS_BLOB_MAX);
	if (getrandom(salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
		return error_sys(err, -errno, "getrandom");
	buf_add(&b, salt, sizeof(salt));
	for (; *strings != NULL; strings++)
		buf_add(&b, *strings, strlen(*strings) + 1);
	if (buf_check(&b, err) < 0)
		return err->code;
	return fd_memfd_sealed("blob", b.data, b.len, err);
}

int
drive_examine(struct drive *d, const struct drive_run *r, enum reason *ret_reason,
	      struct exec_facts *ret_facts, struct error *err)
{
	int fds[6], n = 5, code;
	const char *cwd = r->cwd != NULL ? r->cwd : "";
	struct msg_facts m;

	fds[0] = open(r->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fds[0] < 0)
		return error_sys(err, -errno, "open %s", r->workspace);
	memcpy(fds + 1, r->streams, sizeof(r->streams));
	fds[4] = make_blob(r->argv, err);
	if (r->env != NULL)
		fds[n++] = make_blob(r->env, err);
	d->ticket++;
	code = CHANNEL_SEND_FDS(&d->authority, examine, err, fds, (size_t)n, .ticket = d->ticket,
				.flags = (r->tty ? RUN_TTY : 0u) | (r->env != NULL ? RUN_ENV : 0u),
				.cwd = wire_bytes_of(cwd, strlen(cwd)));
	fd_close(fds[0]);
	for (int i = 4; i < n; i++)
		fd_close(fds[i]);
	if (code < 0)
		return code;
	code = channel_recv(&d->authority, &d->packet, err);
	if (code <= 0)
		return code < 0 ? code : error_set(err, -EPIPE, "the box has gone");
	if (d->packet.type != MSG_facts)
		return error_set(err, -EPROTO, "no facts");
	code = msg_facts_decode(d->packet.body, d->packet.len, &m, err);
	if (code < 0)
		return code;
	*ret_reason = (enum reason)m.reason;
	if (m.reason != R_ALLOWED)
		return error_set(err, -EACCES, "%s: %.*s", reason_code((enum reason)m.reason),
				 (int)m.detail.len, m.detail.data);
	return exec_facts_read(m.facts.data, m.facts.len, ret_facts, err);
}

static struct profile *
make_profile(const struct drive_run *r, struct error *err)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	(void)snprintf(p->name, sizeof(p->name), "drive");
	(void)snprintf(p->root, sizeof(p->root), "host");
	(void)snprintf(p->workspace_at, sizeof(p->workspace_at), "%s",
		       r->at != NULL ? r->at : "/workspace");
	p->capabilities = CAPABILITY_BIT(C_EXEC) | CAPABILITY_BIT(C_WORKSPACE_READ) |
			  CAPABILITY_BIT(C_WORKSPACE_WRITE) | CAPABILITY_BIT(C_WORKSPACE_ACCEPT);
	p->workspace_mode = r->mode;
	p->tmp_max = UINT64_C(256) << 20;
	p->cpu_milli = r->cpu_milli != 0 ? r->cpu_milli : 2000;
	p->memory = r->memory != 0 ? r->memory : UINT64_C(2) << 30;
	p->pids = r->pids != 0 ? r->pids : 256;
	p->open_files = r->open_files != 0 ? r->open_files : 1024;
	p->timeout_ms = r->timeout_ms != 0 ? r->timeout_ms : 1800000;
	p->output = r->output != 0 ? r->output : UINT64_C(16) << 20;
	p->debug_ptrace = r->ptrace;
	if (r->mount != NULL)
		p->mounts[p->n_mounts++] = *r->mount;
	if (profile_seal(p, NULL, err) < 0) {
		profile_free(p);
		return NULL;
	}
	return p;
}

static int
make_operation(const struct drive *d, const struct drive_run *r, const struct profile *p,
	       const struct exec_facts *facts, struct operation *op, struct error *err)
{
	op->capability = C_EXEC;
	if (op_id_new(op->op, err) < 0)
		return err->code;
	session_id_print(r->session != 0 ? r->session : d->session, op->session);
	op->identity = (struct identity){.name = "self/agent", .kind = "agent", .owner = "root"};
	(void)snprintf(op->workflow, sizeof(op->workflow), "self");
	(void)snprintf(op->profile_name, sizeof(op->profile_name), "%s", p->name);
	memcpy(op->profile_digest, p->digest, sizeof(op->profile_digest));
	op->mode = r->mode;
	op->fresh = !r->again;
	op->facts = *facts;
	op->timeout_ms = p->timeout_ms;
	op->tty = r->tty;
	if (r->forged_args)
		op->facts.args_sha256[3] ^= 1;
	if (r->swapped_workspace)
		op->facts.workspace.ino++;
	if (r->other_cwd)
		(void)snprintf(op->facts.cwd, sizeof(op->facts.cwd), "elsewhere");
	return 0;
}

static void
make_receipt(struct drive *d, const struct drive_run *r, const struct buf *entry,
	     const uint8_t digest[32], uint8_t out[RECEIPT_LEN])
{
	struct receipt receipt = {.index = r->reuse_index != 0 ? r->reuse_index : ++d->index};

	receipt.tree_size = receipt.index + 1;
	leaf_hash(entry->data, entry->len, receipt.leaf);
	if (r->wrong_leaf)
		receipt.leaf[0] ^= 1;
	memcpy(receipt.digest, digest, sizeof(receipt.digest));
	if (r->no_ledger_digest)
		receipt.digest[0] ^= 1;
	receipt_mac(d->key, &receipt, receipt.mac);
	if (r->wrong_mac)
		receipt.mac[31] ^= 1;
	receipt_encode(&receipt, out);
}

int
drive_grant(struct drive *d, const struct drive_run *r, const struct exec_facts *facts,
	    struct error *err)
{
	struct profile *p = make_profile(r, err);
	struct operation *op = calloc(1, sizeof(*op));
	CLEANUP(json_decrefp) json_t *json = NULL;
	CLEANUP(buf_fini) struct buf entry;
	CLEANUP(buf_fini) struct buf canonical;
	uint8_t digest[32], receipt[RECEIPT_LEN];
	struct verdict v;
	int fd, code;

	buf_init(&entry, ENTRY_MAX);
	buf_init(&canonical, PROFILE_CANONICAL_MAX);
	if (p == NULL || op == NULL)
		return err->code != 0 ? err->code : -ENOMEM;
	code = make_operation(d, r, p, facts, op, err);
	if (code < 0)
		return code;
	verdict_init(&v);
	v.effect = r->wrong_kind ? EFFECT_DENY : EFFECT_ALLOW;
	v.reason = r->wrong_kind ? R_DEFAULT_DENY : R_ALLOWED;
	v.detail[0] = '\0';
	code = r->wrong_kind ? entry_denied(op, &v, clock_wall_ms(), &entry, err)
			     : entry_intent(op, &v, clock_wall_ms(), &entry, err);
	if (code < 0)
		return code;
	json = operation_json(op, err);
	if (json == NULL || operation_digest(json, digest, err) < 0)
		return err->code;
	make_receipt(d, r, &entry, digest, receipt);
	if (r->other_profile)
		p->pids++;
	if (profile_seal(p, NULL, err) < 0 || profile_write_canonical(p, &canonical, err) < 0)
		return err->code;
	fd = fd_memfd_sealed("profile", canonical.data, canonical.len, err);
	if (fd < 0)
		return fd;
	code = CHANNEL_SEND_FDS(&d->authority, grant, err, &fd, 1,
				.ticket = r->other_ticket != 0 ? r->other_ticket : d->ticket,
				.entry = wire_bytes_of(entry.data, entry.len),
				.receipt = wire_bytes_of(receipt, sizeof(receipt)));
	fd_close(fd);
	profile_free(p);
	free(op);
	if (r->session == 0)
		d->session++;
	return code;
}

static int
read_outcome(struct drive *d, struct exec_result *ret, struct error *err)
{
	struct msg_outcome m;
	int r = msg_outcome_decode(d->packet.body, d->packet.len, &m, err);

	if (r < 0)
		return r;
	if (m.mac.len != 32)
		return error_set(err, -EBADMSG, "an outcome without a MAC");
	if (getenv("DRIVE_VERBOSE") != NULL)
		(void)fprintf(stderr, "%.*s\n", (int)m.result.len, (const char *)m.result.data);
	return exec_result_read(m.result.data, m.result.len, ret, err);
}

int
drive_outcome(struct drive *d, struct exec_result *ret, bool *ret_started, struct error *err)
{
	*ret_started = false;
	for (;;) {
		int r = channel_recv(&d->authority, &d->packet, err);

		if (r <= 0)
			return r < 0 ? r : error_set(err, -EPIPE, "the box has gone");
		if (d->packet.type == MSG_started)
			*ret_started = true;
		else if (d->packet.type == MSG_outcome)
			return read_outcome(d, ret, err);
		else
			return error_set(err, -EPROTO, "an unexpected message");
	}
}

int
drive_run(struct drive *d, const struct drive_run *r, struct exec_result *ret, struct error *err)
{
	struct exec_facts *facts = calloc(1, sizeof(*facts));
	enum reason reason;
	bool started;
	int code;

	if (facts == NULL)
		return error_set(err, -ENOMEM, "no memory");
	code = drive_examine(d, r, &reason, facts, err);
	if (code == 0)
		code = drive_grant(d, r, facts, err);
	free(facts);
	return code == 0 ? drive_outcome(d, ret, &started, err) : code;
}
