/* What the suites of the ledger share: a directory of their own, entries, and a file's bytes. */
#ifndef LOOM_TESTS_LEDGER_FIXTURE_H
#define LOOM_TESTS_LEDGER_FIXTURE_H

#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "ledger/checkpoint.h"
#include "ledger/ledger.h"
#include "ledger/verify.h"
#include "model/entry.h"
#include "model/receipt.h"
#include "model/result.h"

static const uint8_t fixture_key[RECEIPT_KEY_LEN] = "an instance key of 32 bytes 1234";
/* Small, so that tests cross segments. */
static const struct journal_sizes fixture_sizes UNUSED = {
	.first = 128 * 1024,
	.segment = 128 * 1024,
	.reserve = 64 * 1024,
};

struct place {
	char path[64];
	int dirfd;
};

static UNUSED void
place_init(struct place *p)
{
	/* In memory where there is such a place: hundreds of ledgers come and go here. */
	(void)snprintf(p->path, sizeof(p->path), "/dev/shm/loom-ledger-XXXXXX");
	if (mkdtemp(p->path) == NULL) {
		(void)snprintf(p->path, sizeof(p->path), "/tmp/loom-ledger-XXXXXX");
		assert_non_null(mkdtemp(p->path));
	}
	p->dirfd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->dirfd >= 0);
}

static UNUSED int
place_remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static UNUSED void
place_fini(struct place *p)
{
	fd_closep(&p->dirfd);
	assert_ok(nftw(p->path, place_remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static UNUSED void
fixture_operation(struct operation *op, uint64_t n)
{
	memset(op, 0, sizeof(*op));
	op->capability = C_EXEC;
	(void)snprintf(op->op, sizeof(op->op), "op_%016llx", (unsigned long long)n);
	(void)snprintf(op->session, sizeof(op->session), "s_%llu", (unsigned long long)n);
	op->identity = (struct identity){"self/agent", "agent", "root", 0};
	(void)snprintf(op->workflow, sizeof(op->workflow), "self");
	(void)snprintf(op->profile_name, sizeof(op->profile_name), "default");
	memset(op->profile_digest, 0xab, sizeof(op->profile_digest));
	op->mode = WORKSPACE_OVERLAY;
	op->fresh = true;
	op->timeout_ms = 1800000;
	op->facts.workspace = (struct workspace_facts){
		.path = "/src/app", .dev_major = 254, .ino = 1234, .fs = "ext4"};
	op->facts.args_count = 2;
	(void)snprintf(op->facts.argv0, sizeof(op->facts.argv0), "/bin/true");
}

/* The intent of operation N as ENTRY, its arguments as a sealed memfd. */
static UNUSED int
fixture_intent(uint64_t n, struct buf *entry, uint8_t ret_digest[SHA256_LEN])
{
	struct operation *op = malloc(sizeof(*op));
	struct verdict v;
	char args[64] = {0};
	struct entry e;
	int fd;

	assert_non_null(op);
	fixture_operation(op, n);
	(void)snprintf(args, sizeof(args), "%032lluprintf", (unsigned long long)n);
	op->facts.args_bytes = sizeof(args);
	sha256_of(args, sizeof(args), op->facts.args_sha256);
	verdict_init(&v);
	v.effect = EFFECT_ALLOW;
	v.reason = R_ALLOWED;
	verdict_add_rule(&v, "profile-exec");
	buf_reset(entry);
	assert_ok(entry_intent(op, &v, 1000000 + n, entry, NULL));
	assert_ok(entry_read(entry->data, entry->len, &e, NULL));
	if (ret_digest != NULL)
		memcpy(ret_digest, e.digest, SHA256_LEN);
	entry_fini(&e);
	free(op);
	fd = fd_memfd_sealed("args", args, sizeof(args), NULL);
	assert_true(fd >= 0);
	return fd;
}

/* The outcome of intent INDEX of operation N, with the performer's MAC under KEY. */
static UNUSED void
fixture_outcome(uint64_t n, uint64_t index, const uint8_t digest[SHA256_LEN], const uint8_t *key,
		struct buf *entry, uint8_t ret_mac[SHA256_LEN])
{
	CLEANUP(buf_fini) struct buf result = {0};
	struct exec_result r = {
		.status = RESULT_DONE,
		.reason = R_ALLOWED,
		.exit_kind = EXIT_STATUS,
		.wall_ms = n,
	};
	char op[OP_ID_MAX], session[SESSION_ID_MAX];

	buf_init(&result, ENTRY_MAX);
	assert_ok(exec_result_write(&r, &result, NULL));
	outcome_mac(key, index, digest, result.data, result.len, ret_mac);
	(void)snprintf(op, sizeof(op), "op_%016llx", (unsigned long long)n);
	(void)snprintf(session, sizeof(session), "s_%llu", (unsigned long long)n);
	buf_reset(entry);
	assert_ok(entry_outcome(op, session, index, digest, result.data, result.len, 2000000 + n,
				entry, NULL));
}

static UNUSED void
fixture_event(const char *name, uint64_t n, struct buf *entry)
{
	CLEANUP(json_decrefp) json_t *fields = json_pack("{s:I}", "n", (json_int_t)n);

	buf_reset(entry);
	assert_ok(entry_event(name, fields, 3000000 + n, entry, NULL));
}

static UNUSED struct ledger *
fixture_open(const struct place *p, const struct journal_sizes *sizes)
{
	struct ledger *l = NULL;
	struct error err = {0};

	if (ledger_open(p->dirfd, fixture_key, sizes, &l, &err) < 0)
		fail_msg("ledger_open: %s", err.text);
	return l;
}

static UNUSED int
fixture_append_intent(struct ledger *l, uint64_t n, struct receipt *ret, uint8_t *ret_digest,
		      struct error *err)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	struct ledger_append a = {.kind = ENTRY_INTENT, .n_blobs = 1};
	int fd, r;

	buf_init(&entry, ENTRY_MAX);
	fd = fixture_intent(n, &entry, ret_digest);
	a.entry = entry.data;
	a.len = entry.len;
	a.blobs = &fd;
	r = ledger_stage(l, &a, err);
	if (r == 0)
		r = ledger_commit(l, ret, err);
	fd_close(fd);
	return r;
}

static UNUSED int
fixture_append_outcome(struct ledger *l, uint64_t n, uint64_t index, const uint8_t *digest,
		       struct receipt *ret, struct error *err)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	struct ledger_append a = {.kind = ENTRY_OUTCOME};
	uint8_t mac[SHA256_LEN];
	int r;

	buf_init(&entry, ENTRY_MAX);
	fixture_outcome(n, index, digest, fixture_key, &entry, mac);
	a.entry = entry.data;
	a.len = entry.len;
	a.mac = mac;
	r = ledger_stage(l, &a, err);
	return r < 0 ? r : ledger_commit(l, ret, err);
}

static UNUSED int
fixture_append_event(struct ledger *l, uint64_t n, struct receipt *ret, struct error *err)
{
	CLEANUP(buf_fini) struct buf entry = {0};
	struct ledger_append a = {.kind = ENTRY_EVENT};
	int r;

	buf_init(&entry, ENTRY_MAX);
	fixture_event("started", n, &entry);
	a.entry = entry.data;
	a.len = entry.len;
	r = ledger_stage(l, &a, err);
	return r < 0 ? r : ledger_commit(l, ret, err);
}

static UNUSED void
fixture_settle(struct ledger *l)
{
	struct error err = {0};
	int r;

	do
		r = ledger_settle(l, &err);
	while (r > 0 || (r == 0 && ledger_unsettled(l) > 0));
	if (r < 0)
		fail_msg("ledger_settle: %s", err.text);
}

static UNUSED struct ledger_report
fixture_verify(const struct place *p, bool deep)
{
	const struct ledger_verify_options options = {.deep = deep, .stopped = true};
	struct ledger_report report;
	struct error err = {0};

	if (ledger_verify(p->dirfd, &options, &report, &err) < 0)
		fail_msg("ledger_verify: %s", err.text);
	return report;
}

/* As assert_fails, and the text has WORD in it. */
#define assert_fails_saying(code_, word_, err_, call)                                              \
	do {                                                                                       \
		struct error *saying_ = (err_);                                                    \
		*saying_ = (struct error){0};                                                      \
		assert_int_equal((call), (code_));                                                 \
		if (strstr(saying_->text, (word_)) == NULL)                                        \
			fail_msg("%s: does not say %s: %s", #call, (word_), saying_->text);        \
		*saying_ = (struct error){0};                                                      \
	} while (0)

#define assert_verified(report)                                                                    \
	do {                                                                                       \
		if (!(report).verified)                                                            \
			fail_msg("unverified: %s", (report).what);                                 \
	} while (0)

static UNUSED size_t
file_read(const struct place *p, const char *name, uint8_t **ret)
{
	CLEANUP(fd_closep) int fd = openat(p->dirfd, name, O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret = malloc((size_t)st.st_size + 1);
	assert_non_null(*ret);
	assert_ok(fd_pread_exact(fd, *ret, (size_t)st.st_size, 0, NULL));
	return (size_t)st.st_size;
}

static UNUSED void
file_write(const struct place *p, const char *name, const void *data, size_t len)
{
	CLEANUP(fd_closep) int fd = openat(p->dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_ok(fd_write_all(fd, data, len, NULL));
}

/* What somebody with the key can do: sign that there is nothing yet, so that the log begins anew. */
static UNUSED void
fixture_rewind(const struct place *p)
{
	CLEANUP(signer_freep) struct signer *s = NULL;
	CLEANUP(buf_fini) struct buf note;
	struct tree_head empty = {.size = 0};
	uint8_t signature[CHECKPOINT_SIGNATURE_LEN];
	uint8_t *key;

	assert_int_equal(file_read(p, "key", &key), SIGNING_KEY_LEN);
	assert_ok(signer_new(key, &s, NULL));
	free(key);
	sha256_of("", 0, empty.root);
	assert_ok(signer_sign(s, &empty, signature, NULL));
	buf_init(&note, CHECKPOINT_NOTE_MAX);
	checkpoint_note(signer_vkey(s), &empty, signature, &note);
	file_write(p, "checkpoint", note.data, note.len);
}

#endif
