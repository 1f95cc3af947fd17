/*
 * An authority gone bad, to be started by loomd in the place of loom-authority. It speaks with the
 * true ledger and the true box, knows every message, holds every descriptor an authority holds, and
 * tries to have something performed or claimed that was not recorded.
 *
 * The attack's name is the only line of the file "attack" in the configuration directory. The result
 * goes to the file "result" there: lines "TITLE: what happened". The test reads them; the words that
 * matter are RAN (the command's output arrived), refused (an outcome that says so), dead (the peer
 * ended), recorded (the ledger took it) and turned-down (the ledger did not).
 *
 * It is compiled for the tests alone and is installed nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "model/entry.h"
#include "model/operation.h"
#include "model/profile.h"
#include "model/receipt.h"
#include "model/result.h"
#include "wire/channel.h"
#include "wire/inherit.h"

#define WAIT_MS 10000

static struct channel loomd, ledger, box;
static FILE *result;
static struct packet pk;

static void
say(const char *fmt, ...) PRINTF(1, 2);

static void
say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(result, fmt, ap);
	va_end(ap);
	fputc('\n', result);
	fflush(result);
}

static NORETURN void
quit(const char *what, struct error *err)
{
	say("setup: failed: %s: %s", what, err->text);
	exit(1);
}

/* One packet of C within WAIT_MS: its type, or 0 when the peer is gone or silent. */
static uint32_t
next(struct channel *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	struct error err = {0};
	if (poll(&p, 1, WAIT_MS) != 1)
		return 0;
	return channel_recv(c, &pk, &err) == 1 ? pk.type : 0;
}

/* ---- the pieces of a run, each of them honest ------------------------------------------------ */

struct run {
	uint64_t ticket;
	int workspace, out_read;
	int args, env;
	struct operation op;
	struct buf entry;
	uint8_t receipt[RECEIPT_LEN];
	struct receipt decoded;
	int profile_fd;
};

static struct profile *
make_profile(uint64_t memory, enum workspace_mode mode)
{
	struct error err = {0};
	struct profile *p = calloc(1, sizeof(*p));
	if (p == NULL)
		exit(1);
	snprintf(p->name, sizeof(p->name), "hostile");
	p->capabilities = CAPABILITY_BIT(C_EXEC) | CAPABILITY_BIT(C_WORKSPACE_READ) |
			  CAPABILITY_BIT(C_WORKSPACE_WRITE) | CAPABILITY_BIT(C_WORKSPACE_ACCEPT);
	snprintf(p->root, sizeof(p->root), "host");
	snprintf(p->workspace_at, sizeof(p->workspace_at), "/workspace");
	p->workspace_mode = mode;
	p->tmp_max = 16 << 20;
	p->cpu_milli = 1000;
	p->memory = memory;
	p->pids = 64;
	p->open_files = 256;
	p->timeout_ms = 60000;
	p->output = 1 << 20;
	if (profile_seal(p, NULL, &err) < 0)
		quit("profile_seal", &err);
	return p;
}

static int
profile_memfd(const struct profile *p)
{
	struct error err = {0};
	struct buf b;
	buf_init(&b, PROFILE_CANONICAL_MAX);
	if (profile_write_canonical(p, &b, &err) < 0)
		quit("profile_write_canonical", &err);
	int fd = fd_memfd_sealed("profile", b.data, b.len, &err);
	buf_fini(&b);
	if (fd < 0)
		quit("profile memfd", &err);
	return fd;
}

static int
strings_memfd(const char *const *strings)
{
	struct error err = {0};
	uint8_t salt[ARGS_SALT_LEN];
	struct buf b;
	buf_init(&b, 65536);
	if (getrandom(salt, sizeof(salt), 0) != sizeof(salt))
		exit(1);
	buf_add(&b, salt, sizeof(salt));
	for (; *strings != NULL; strings++)
		buf_add(&b, *strings, strlen(*strings) + 1);
	int fd = fd_memfd_sealed("strings", b.data, b.len, &err);
	buf_fini(&b);
	if (fd < 0)
		quit("strings memfd", &err);
	return fd;
}

/* Hand the box a workspace, streams and ENV; keep the reading end of its stdout. */
static void
examine(struct run *r, uint64_t ticket, const char *workspace, const char *word, int env)
{
	struct error err = {0};
	int out[2];
	const char *const args[] = {"/bin/echo", word, NULL};
	r->ticket = ticket;
	r->workspace = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->args = strings_memfd(args);
	r->env = env;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (r->workspace < 0 || null < 0 || pipe2(out, O_CLOEXEC) < 0)
		quit("examine", &err);
	const int fds[] = {r->workspace, null, out[1], null, r->args, r->env};
	if (CHANNEL_SEND_FDS(&box, examine, &err, fds, r->env >= 0 ? 6 : 5, .ticket = ticket,
			     .flags = r->env >= 0 ? RUN_ENV : 0) < 0)
		quit("examine", &err);
	close(out[1]);
	close(null);
	r->out_read = out[0];
	if (next(&box) != MSG_facts)
		quit("no facts", &err);
	struct msg_facts m;
	if (msg_facts_decode(pk.body, pk.len, &m, &err) < 0 || m.reason != R_ALLOWED ||
	    exec_facts_read(m.facts.data, m.facts.len, &r->op.facts, &err) < 0)
		quit("facts", &err);
}

static void
fill_operation(struct run *r, const struct profile *p)
{
	struct error err = {0};
	struct operation *op = &r->op;
	op->capability = C_EXEC;
	if (op_id_new(op->op, &err) < 0)
		quit("op id", &err);
	/* One process, one run: its number makes sessions of several attacks differ. */
	session_id_print((uint64_t)getpid() * 100 + r->ticket, op->session);
	snprintf(op->identity.name, sizeof(op->identity.name), "self/agent");
	snprintf(op->identity.kind, sizeof(op->identity.kind), "agent");
	snprintf(op->identity.owner, sizeof(op->identity.owner), "root");
	snprintf(op->workflow, sizeof(op->workflow), "self");
	snprintf(op->profile_name, sizeof(op->profile_name), "%s", p->name);
	memcpy(op->profile_digest, p->digest, 32);
	op->mode = p->workspace_mode;
	op->fresh = true;
	op->timeout_ms = 10000;
}

/* Ask the ledger to record BYTES; true with the receipt in R when it did. */
static bool
append(struct run *r, enum entry_kind kind, const struct buf *bytes, const void *mac, size_t mac_len,
       const int *fds, size_t n_fds)
{
	struct error err = {0};
	static uint64_t tag;
	if (CHANNEL_SEND_FDS(&ledger, append, &err, fds, n_fds, .tag = ++tag, .kind = kind,
			     .entry = wire_bytes_of(bytes->data, bytes->len),
			     .mac = wire_bytes_of(mac, mac_len)) < 0)
		return false;
	struct msg_appended m;
	if (next(&ledger) != MSG_appended || msg_appended_decode(pk.body, pk.len, &m, &err) < 0)
		return false;
	if (r != NULL) {
		if (m.receipt.len != RECEIPT_LEN ||
		    receipt_decode(m.receipt.data, m.receipt.len, &r->decoded, &err) < 0)
			quit("receipt", &err);
		memcpy(r->receipt, m.receipt.data, RECEIPT_LEN);
	}
	return true;
}

static void
record(struct run *r, const struct profile *p)
{
	struct error err = {0};
	struct verdict v;
	verdict_init(&v);
	v.effect = EFFECT_ALLOW;
	v.reason = R_ALLOWED;
	verdict_add_rule(&v, "hostile/says-so");
	fill_operation(r, p);
	buf_init(&r->entry, ENTRY_MAX);
	if (entry_intent(&r->op, &v, clock_wall_ms(), &r->entry, &err) < 0)
		quit("entry_intent", &err);
	if (!append(r, ENTRY_INTENT, &r->entry, NULL, 0, &r->args, 1))
		quit("append", &err);
	r->profile_fd = profile_memfd(p);
}

static bool
grant(const struct run *r, uint64_t ticket, int profile_fd, const struct buf *entry,
      const void *receipt)
{
	struct error err = {0};
	return CHANNEL_SEND_FDS(&box, grant, &err, &profile_fd, 1, .ticket = ticket,
				.entry = wire_bytes_of(entry->data, entry->len),
				.receipt = wire_bytes_of(receipt, RECEIPT_LEN)) == 0 &&
	       r != NULL;
}

/* What came of a grant, in the words of the head comment; the outcome's bytes into OUTCOME. */
static const char *
see(const struct run *r, struct buf *outcome, uint8_t mac[32])
{
	struct error err = {0};
	struct msg_outcome m;
	uint32_t type;
	while ((type = next(&box)) == MSG_started)
		;
	char word[64] = "";
	struct pollfd p = {.fd = r->out_read, .events = POLLIN};
	if (poll(&p, 1, 200) == 1 && read(r->out_read, word, sizeof(word) - 1) > 0)
		say("output: %.*s", (int)strcspn(word, "\n"), word);
	if (type == MSG_outcome && msg_outcome_decode(pk.body, pk.len, &m, &err) == 0) {
		struct exec_result res = {0};
		if (exec_result_read(m.result.data, m.result.len, &res, &err) < 0)
			return "unreadable outcome";
		if (outcome != NULL && m.mac.len == 32) {
			buf_add(outcome, m.result.data, m.result.len);
			memcpy(mac, m.mac.data, 32);
		}
		say("outcome: %s", res.detail);
		enum result_status status = res.status;
		exec_result_fini(&res);
		return word[0] != '\0' ? "RAN" : status == RESULT_REFUSED ? "refused" : "nothing";
	}
	return word[0] != '\0' ? "RAN" : "dead";
}

/* ---- the attacks ----------------------------------------------------------------------------- */

static struct profile *narrow, *wide;
static char ws_a[512], ws_b[512];

static void
honest_until_grant(struct run *r)
{
	memset(r, 0, sizeof(*r));
	examine(r, 1, ws_a, "RAN", -1);
	record(r, narrow);
}

static void
attack_none(void)
{
	struct run r;
	honest_until_grant(&r);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("honest: %s", see(&r, NULL, NULL));
}

static void
attack_no_receipt(void)
{
	struct run r;
	honest_until_grant(&r);
	uint8_t zeros[RECEIPT_LEN] = {0};
	grant(&r, 1, r.profile_fd, &r.entry, zeros);
	say("zero receipt: %s", see(&r, NULL, NULL));
}

static void
attack_forged_mac(void)
{
	struct run r;
	uint8_t key[RECEIPT_KEY_LEN] = {7};
	honest_until_grant(&r);
	receipt_mac(key, &r.decoded, r.decoded.mac);
	receipt_encode(&r.decoded, r.receipt);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("receipt under another key: %s", see(&r, NULL, NULL));
}

static void
attack_replay(void)
{
	struct run r;
	honest_until_grant(&r);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("first: %s", see(&r, NULL, NULL));
	struct run again = r;
	examine(&again, 2, ws_a, "RAN", -1);
	grant(&again, 2, r.profile_fd, &r.entry, r.receipt);
	say("replay, other arguments' salt: %s", see(&again, NULL, NULL));
}

/* The very same descriptors under a new ticket: only the index is used twice. */
static void
attack_replay_same(void)
{
	struct run r;
	struct error err = {0};
	honest_until_grant(&r);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		exit(1);
	const int fds[] = {r.workspace, null, out[1], null, r.args};
	if (CHANNEL_SEND_FDS(&box, examine, &err, fds, 5, .ticket = 2) < 0 || next(&box) != MSG_facts)
		quit("second examine", &err);
	close(out[1]);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("first: %s", see(&r, NULL, NULL));
	struct run again = r;
	again.out_read = out[0];
	grant(&again, 2, r.profile_fd, &r.entry, r.receipt);
	say("replay of the index: %s", see(&again, NULL, NULL));
}

static void
attack_wider_profile(void)
{
	struct run r;
	honest_until_grant(&r);
	grant(&r, 1, profile_memfd(wide), &r.entry, r.receipt);
	say("a wider profile than recorded: %s", see(&r, NULL, NULL));
}

static void
attack_edited_entry(void)
{
	struct run r;
	honest_until_grant(&r);
	char *at = memmem(r.entry.data, r.entry.len, "\"timeoutMs\":10000", 17);
	if (at == NULL)
		exit(1);
	at[13] = '9';
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("an entry edited after it was recorded: %s", see(&r, NULL, NULL));
}

static void
attack_swapped_workspace(void)
{
	struct run r, other = {0};
	honest_until_grant(&r);
	examine(&other, 2, ws_b, "RAN", -1);
	grant(&other, 2, r.profile_fd, &r.entry, r.receipt);
	say("another workspace than recorded: %s", see(&other, NULL, NULL));
}

static void
attack_swapped_arguments(void)
{
	struct run r, other = {0};
	honest_until_grant(&r);
	examine(&other, 2, ws_a, "SOMETHING-ELSE", -1);
	grant(&other, 2, r.profile_fd, &r.entry, r.receipt);
	say("other arguments than recorded: %s", see(&other, NULL, NULL));
}

static void
attack_swapped_environment(void)
{
	struct run r, other = {0};
	const char *const env[] = {"LD_PRELOAD=/workspace/x.so", NULL};
	honest_until_grant(&r);
	examine(&other, 2, ws_a, "RAN", strings_memfd(env));
	/* The same args memfd, so that only the environment differs from what was recorded. */
	grant(&other, 2, r.profile_fd, &r.entry, r.receipt);
	say("an environment that was not recorded: %s", see(&other, NULL, NULL));
}

static void
attack_no_such_ticket(void)
{
	struct run r;
	honest_until_grant(&r);
	grant(&r, 99, r.profile_fd, &r.entry, r.receipt);
	say("a ticket that was never examined: %s", see(&r, NULL, NULL));
}

/* A recorded denial has a receipt too; it must perform nothing. */
static void
attack_denied_entry(void)
{
	struct run r = {0};
	struct error err = {0};
	struct verdict v;
	verdict_init(&v);
	verdict_deny(&v, R_RULE_DENIED, "hostile/no", "no");
	examine(&r, 1, ws_a, "RAN", -1);
	fill_operation(&r, narrow);
	buf_init(&r.entry, ENTRY_MAX);
	if (entry_denied(&r.op, &v, clock_wall_ms(), &r.entry, &err) < 0 ||
	    !append(&r, ENTRY_EVENT, &r.entry, NULL, 0, NULL, 0))
		quit("denied entry", &err);
	r.profile_fd = profile_memfd(narrow);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("a grant on a recorded denial: %s", see(&r, NULL, NULL));
}

/* An intent whose readable part says one thing and whose digest another. */
static void
attack_lying_digest(void)
{
	struct run r = {0};
	struct error err = {0};
	struct verdict v;
	verdict_init(&v);
	v.effect = EFFECT_ALLOW;
	v.reason = R_ALLOWED;
	verdict_add_rule(&v, "hostile/says-so");
	examine(&r, 1, ws_a, "RAN", -1);
	fill_operation(&r, narrow);
	buf_init(&r.entry, ENTRY_MAX);
	if (entry_intent(&r.op, &v, clock_wall_ms(), &r.entry, &err) < 0)
		quit("entry_intent", &err);
	char *at = memmem(r.entry.data, r.entry.len, "\"timeoutMs\":10000", 17);
	at[13] = '9';
	say("an intent with a digest of something else: %s",
	    append(&r, ENTRY_INTENT, &r.entry, NULL, 0, &r.args, 1) ? "recorded" : "turned-down");
}

static bool
append_outcome(const struct run *r, const void *res, size_t len, const uint8_t mac[32], size_t mac_len)
{
	struct error err = {0};
	struct buf b;
	buf_init(&b, ENTRY_MAX);
	if (entry_outcome(r->op.op, r->op.session, r->decoded.index, r->decoded.digest, res, len,
			  clock_wall_ms(), &b, &err) < 0)
		quit("entry_outcome", &err);
	bool took = append(NULL, ENTRY_OUTCOME, &b, mac, mac_len, NULL, 0);
	buf_fini(&b);
	return took;
}

static void
attack_forged_outcome(void)
{
	struct run r;
	struct error err = {0};
	uint8_t mac[32] = {0}, key[RECEIPT_KEY_LEN] = {7};
	struct exec_result res = {.status = RESULT_DONE, .reason = R_ALLOWED, .exit_kind = EXIT_STATUS};
	struct buf b;
	honest_until_grant(&r);
	buf_init(&b, ENTRY_MAX);
	if (exec_result_write(&res, &b, &err) < 0)
		quit("exec_result_write", &err);
	outcome_mac(key, r.decoded.index, r.decoded.digest, b.data, b.len, mac);
	say("an outcome that no performer made: %s",
	    append_outcome(&r, b.data, b.len, mac, 32) ? "recorded" : "turned-down");
}

static void
attack_altered_outcome(void)
{
	struct run r;
	uint8_t mac[32];
	struct buf b;
	honest_until_grant(&r);
	buf_init(&b, ENTRY_MAX);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("honest: %s", see(&r, &b, mac));
	char *at = memmem(b.data, b.len, "\"changes\":0", 11);
	if (at == NULL)
		exit(1);
	at[10] = '7';
	say("an outcome that was altered: %s",
	    append_outcome(&r, b.data, b.len, mac, 32) ? "recorded" : "turned-down");
}

static void
attack_second_outcome(void)
{
	struct run r;
	uint8_t mac[32];
	struct buf b;
	honest_until_grant(&r);
	buf_init(&b, ENTRY_MAX);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("honest: %s", see(&r, &b, mac));
	say("its outcome: %s", append_outcome(&r, b.data, b.len, mac, 32) ? "recorded" : "turned-down");
	say("its outcome once more: %s",
	    append_outcome(&r, b.data, b.len, mac, 32) ? "recorded" : "turned-down");
}

/* Calling a live operation indeterminate would hide what it really did. */
static void
attack_hide_as_indeterminate(void)
{
	struct run r;
	struct error err = {0};
	struct buf b;
	honest_until_grant(&r);
	grant(&r, 1, r.profile_fd, &r.entry, r.receipt);
	say("honest: %s", see(&r, NULL, NULL));
	json_t *fields = json_pack("{s:I,s:s,s:s}", "intent", (json_int_t)r.decoded.index, "op", r.op.op,
				   "session", r.op.session);
	buf_init(&b, ENTRY_MAX);
	if (entry_event("indeterminate", fields, clock_wall_ms(), &b, &err) < 0)
		quit("entry_event", &err);
	json_decref(fields);
	say("an outcome hidden as indeterminate: %s",
	    append(NULL, ENTRY_EVENT, &b, NULL, 0, NULL, 0) ? "recorded" : "turned-down");
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
	{"none", attack_none},
	{"no-receipt", attack_no_receipt},
	{"forged-mac", attack_forged_mac},
	{"replay", attack_replay},
	{"replay-same", attack_replay_same},
	{"wider-profile", attack_wider_profile},
	{"edited-entry", attack_edited_entry},
	{"swapped-workspace", attack_swapped_workspace},
	{"swapped-arguments", attack_swapped_arguments},
	{"swapped-environment", attack_swapped_environment},
	{"no-such-ticket", attack_no_such_ticket},
	{"denied-entry", attack_denied_entry},
	{"lying-digest", attack_lying_digest},
	{"forged-outcome", attack_forged_outcome},
	{"altered-outcome", attack_altered_outcome},
	{"second-outcome", attack_second_outcome},
	{"hide-as-indeterminate", attack_hide_as_indeterminate},
};

int
main(void)
{
	struct error err = {0};
	char line[1100] = "";
	int fd = openat(INHERIT_CONFIG, "attack", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	fd = openat(INHERIT_CONFIG, "result", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (n <= 0 || fd < 0 || (result = fdopen(fd, "a")) == NULL)
		return 1;
	/* "NAME WORKSPACE-A WORKSPACE-B" */
	char name[64];
	if (sscanf(line, "%63s %511s %511s", name, ws_a, ws_b) != 3 || packet_init(&pk, &err) < 0)
		return 1;
	channel_init(&loomd, INHERIT_LOOMD, P_AUTHORITY, P_LOOMD, S_INIT);
	channel_init(&ledger, INHERIT_LEDGER, P_AUTHORITY, P_LEDGER, S_OPEN);
	channel_init(&box, INHERIT_BOX, P_AUTHORITY, P_BOX, S_OPEN);
	if (CHANNEL_SEND(&loomd, ready, &err, .pid = (uint32_t)getpid()) < 0)
		return 1;
	narrow = make_profile(128 << 20, WORKSPACE_OVERLAY);
	wide = make_profile((uint64_t)4 << 30, WORKSPACE_DIRECT);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(attacks[i].name, name) == 0) {
			attacks[i].run();
			say("END");
			return 0;
		}
	}
	say("setup: failed: no attack named %s", name);
	return 1;
}
