/*
 * Opening and closing, the keys, and what is read. The signing key lies beside the log; it is made
 * once and is never replaced: with another key this would be another ledger. It gets its name when
 * the head of the empty log is signed and on disk, so that from then on a key without a checkpoint
 * is one whose checkpoint was taken away, and never looks like a beginning.
 */
#include "ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/reader.h"
#include "ledger/record.h"
#include "ledger/state.h"

#define KEY_NAME "key"
#define KEY_NEW_NAME "key.new"
#define VKEY_NAME "vkey"
#define PLACE "../ledger" /* the name of the directory, seen from within */

static int
key_make(int dirfd, struct signer **ret, struct error *err)
{
	CLEANUP(secret_wipe) struct secret key = {0};
	CLEANUP(fd_closep) int fd = -1;
	int r;

	r = secret_random(&key, SIGNING_KEY_LEN, err);
	if (r < 0)
		return r;
	/* One that a crash left here never had its name, so nothing was signed with it. */
	if (unlinkat(dirfd, KEY_NEW_NAME, 0) != 0 && errno != ENOENT)
		return error_sys(err, -errno, "remove " KEY_NEW_NAME);
	fd = openat(dirfd, KEY_NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return error_sys(err, -errno, "make the ledger's key");
	r = fd_write_all(fd, key.data, key.len, err);
	if (r < 0)
		return r;
	if (fsync(fd) != 0)
		return error_sys(err, -errno, "sync the ledger's key");
	return signer_new(key.data, ret, err);
}

static int
key_name(int dirfd, struct error *err)
{
	if (renameat2(dirfd, KEY_NEW_NAME, dirfd, KEY_NAME, RENAME_NOREPLACE) != 0)
		return error_sys(err, -errno, "name the ledger's key");
	if (fsync(dirfd) != 0)
		return error_sys(err, -errno, "sync the ledger's directory");
	return 0;
}

/* 0, -ENOENT when there is none, or why it cannot be used. */
static int
key_load(int dirfd, struct signer **ret, struct error *err)
{
	CLEANUP(secret_wipe) struct secret key = {0};
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;
	int r;

	fd = openat(dirfd, KEY_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return error_sys(err, -errno, "open the ledger's key");
	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "look at the ledger's key");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return error_set(err, -EPERM,
				 "the ledger's key must be a file of its own user's "
				 "that is closed to others: chmod 600 key");
	r = secret_read_fd(&key, fd, SIGNING_KEY_LEN, err);
	if (r < 0) {
		(void)error_prefix(err, "the ledger's key");
		return r;
	}
	return signer_new(key.data, ret, err);
}

static int
vkey_publish(struct ledger *l, struct error *err)
{
	CLEANUP(buf_fini) struct buf want = {0};
	CLEANUP(buf_fini) struct buf have = {0};
	int r;

	buf_init(&want, VKEY_TEXT_MAX);
	buf_init(&have, VKEY_TEXT_MAX);
	vkey_print(signer_vkey(l->signer), &want);
	buf_char(&want, '\n');
	r = buf_check(&want, err);
	if (r < 0)
		return r;
	r = fd_read_file_at(l->dirfd, VKEY_NAME, &have, NULL);
	if (r == 0 && have.len == want.len && memcmp(have.data, want.data, want.len) == 0)
		return 0;
	return fd_replace_file_at(l->dirfd, VKEY_NAME, want.data, want.len, 0600, err);
}

/* A ledger that begins: nothing of an older one may lie here. */
static int
keys_make(struct ledger *l, struct error *err)
{
	static const char *const remains[] = {"journal", "tile", "blob"};
	struct stat st;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(remains); i++)
		if (fstatat(l->dirfd, remains[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return error_set(err, -ENOKEY, "there is a %s but no key for it",
					 remains[i]);
	r = key_make(l->dirfd, &l->signer, err);
	if (r == 0)
		r = vkey_publish(l, err);
	if (r == 0)
		r = ledger_sign(l, &l->frontier, &l->head, l->signature, err);
	if (r == 0)
		r = ledger_note_write(l, &l->head, l->signature, err);
	return r < 0 ? r : key_name(l->dirfd, err);
}

static int
keys_open(struct ledger *l, struct error *err)
{
	int r = key_load(l->dirfd, &l->signer, err);

	if (r == -ENOENT)
		return keys_make(l, err);
	return r < 0 ? r : vkey_publish(l, err);
}

static int
parts_init(struct ledger *l, int dirfd, const uint8_t receipt_key[RECEIPT_KEY_LEN],
	   struct error *err)
{
	const struct tile_source source = {.bundle = ledger_bundle, .ctx = l};
	int r;

	l->dirfd = dirfd;
	l->journal = (struct journal){.dirfd = -1, .fd = -1};
	openset_init(&l->open);
	buf_init(&l->stage, STAGE_BYTES + RECORD_MAX);
	blob_index_init(&l->blobs, dirfd);
	l->sha = sha256_new();
	if (l->sha == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = tiles_init(&l->tiles, dirfd, source, err);
	if (r == 0)
		r = secret_alloc(&l->receipt_key, RECEIPT_KEY_LEN, err);
	if (r == 0)
		memcpy(l->receipt_key.data, receipt_key, RECEIPT_KEY_LEN);
	return r;
}

/* Whether a directory lies under NAME beneath AT and is the one that FD is open on. */
static bool
lies_there(int at, const char *name, int fd)
{
	struct stat named, held;

	return fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
	       named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/* A ledger that lies where loomd puts it is to stay there; one that a test opens may lie anywhere.
 */
static void
place_remember(struct ledger *l)
{
	l->placed = lies_there(l->dirfd, PLACE, l->dirfd);
}

int
ledger_place_look(const struct ledger *l, struct error *err)
{
	if (!lies_there(l->dirfd, "journal", l->journal.dirfd))
		return error_set(err, -ESTALE, "journal/ was taken away while in use");
	if (l->placed && !lies_there(l->dirfd, PLACE, l->dirfd))
		return error_set(err, -ESTALE,
				 "the ledger's directory was taken away while in use");
	return 0;
}

int
ledger_open(int dirfd, const uint8_t receipt_key[RECEIPT_KEY_LEN],
	    const struct journal_sizes *sizes, struct ledger **ret, struct error *err)
{
	CLEANUP(ledger_freep) struct ledger *l = calloc(1, sizeof(*l));
	int r;

	if (l == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = parts_init(l, dirfd, receipt_key, err);
	place_remember(l);
	if (r == 0)
		r = keys_open(l, err);
	if (r == 0)
		r = journal_open(&l->journal, dirfd, sizes, err);
	if (r == 0)
		r = ledger_recover(l, err);
	if (r < 0) {
		(void)error_prefix(err, "ledger");
		return r;
	}
	*ret = TAKE_PTR(l);
	return 0;
}

void
ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	journal_close(&l->journal);
	tiles_fini(&l->tiles);
	blob_index_fini(&l->blobs);
	openset_fini(&l->open);
	buf_fini(&l->stage);
	secret_wipe(&l->receipt_key);
	signer_free(l->signer);
	sha256_free(l->sha);
	free(l->recent);
	free(l);
}

void
ledger_freep(struct ledger **l)
{
	ledger_free(*l);
	*l = NULL;
}

int
ledger_sign(struct ledger *l, const struct frontier *f, struct tree_head *ret_head,
	    uint8_t ret_signature[CHECKPOINT_SIGNATURE_LEN], struct error *err)
{
	struct tree_head head = {.size = f->size};
	int r;

	frontier_root(f, l->sha, head.root);
	r = signer_sign(l->signer, &head, ret_signature, err);
	if (r == 0)
		*ret_head = head;
	return r;
}

uint64_t
ledger_size(const struct ledger *l)
{
	return l->frontier.size;
}

const struct vkey *
ledger_vkey(const struct ledger *l)
{
	return signer_vkey(l->signer);
}

void
ledger_head(const struct ledger *l, struct tree_head *ret_head, struct buf *out)
{
	*ret_head = l->head;
	checkpoint_note(signer_vkey(l->signer), &l->head, l->signature, out);
}

static int
source_node(void *ctx, unsigned int level, uint64_t index, uint8_t ret[SHA256_LEN],
	    struct error *err)
{
	return tiles_node(ctx, level, index, ret, err);
}

int
ledger_prove(struct ledger *l, uint64_t index, uint8_t ret_leaf[SHA256_LEN],
	     uint8_t ret_path[PROOF_PATH_MAX][SHA256_LEN], size_t *ret_n, struct error *err)
{
	const struct proof_source source = {.node = source_node, .ctx = &l->tiles};
	int r;

	/* The tiles are behind the head only while the disk is full. */
	r = ledger_follow(l, err);
	if (r < 0)
		return r;
	r = proof_make(&source, index, l->head.size, ret_path, ret_n, err);
	return r < 0 ? r : tiles_node(&l->tiles, 0, index, ret_leaf, err);
}

static void
free_p(void **p)
{
	free(*p);
}

struct blob_read {
	struct ledger *ledger;
	const uint8_t *sha256;
	struct buf *out;
};

/* The blob at PLACE, if it is the one that is asked for and still there. */
static int
blob_at(void *ctx, const struct blob_place *place, struct error *err)
{
	struct blob_read *want = ctx;
	CLEANUP(fd_closep) int fd = -1;
	uint8_t head[RECORD_HEADER_MAX], digest[SHA256_LEN];
	size_t n, need, before = want->out->len;
	struct record rec;
	uint64_t off;
	int r;

	fd = journal_segment_open(want->ledger->journal.dirfd, place->segment, NULL);
	if (fd < 0)
		return -ENOENT;
	r = reader_pread(fd, head, sizeof(head), place->offset, &n, err);
	if (r < 0)
		return r;
	if (record_decode(head, n, &rec, &need) != RECORD_OK)
		return -ENOENT;
	off = place->offset + record_header_len(&rec) + rec.entry_len;
	for (uint32_t i = 0; i < rec.n_blobs; i++) {
		CLEANUP(free_p) void *data = NULL;

		if (memcmp(rec.blobs[i].sha256, want->sha256, SHA256_LEN) != 0) {
			off += rec.blobs[i].len;
			continue;
		}
		data = malloc((size_t)rec.blobs[i].len + 1);
		if (data == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		r = reader_pread(fd, data, rec.blobs[i].len, off, &n, err);
		if (r < 0)
			return r;
		sha256_of(data, n, digest);
		if (memcmp(digest, want->sha256, sizeof(digest)) != 0)
			return -ENOENT;
		buf_add(want->out, data, n);
		r = buf_check(want->out, err);
		if (r < 0)
			buf_cut(want->out, before);
		return r;
	}
	return -ENOENT;
}

int
ledger_blob(struct ledger *l, const uint8_t sha256[SHA256_LEN], struct buf *out, struct error *err)
{
	struct blob_read want = {.ledger = l, .sha256 = sha256, .out = out};
	int r;

	r = blob_index_find(&l->blobs, sha256, blob_at, &want, err);
	return r == -ENOENT ? error_set(err, r, "there is no such blob") : r;
}

bool
ledger_open_intent(const struct ledger *l, size_t i, uint64_t *ret_index)
{
	if (i >= l->open.n || l->open.items[i].index >= l->frontier.size)
		return false;
	*ret_index = l->open.items[i].index;
	return true;
}

const char *
ledger_recovered(const struct ledger *l)
{
	return l->recovered;
}
