/*
 * The window is refilled when what is left in it is less than the record's header and entry need.
 * Blobs are not in it: they are hashed in pieces, only when somebody asks.
 */
#include "ledger/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_BYTES (512 * 1024)
#define PIECE_BYTES (64 * 1024)

int
reader_init(struct reader *r, int fd, uint64_t next, struct error *err)
{
	*r = (struct reader){.fd = fd, .at = next, .next = next, .window_at = next};
	r->sha = sha256_new();
	r->window = malloc(WINDOW_BYTES);
	r->piece = malloc(PIECE_BYTES);
	if (r->sha == NULL || r->window == NULL || r->piece == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void
reader_fini(struct reader *r)
{
	sha256_free(r->sha);
	free(r->window);
	free(r->piece);
	*r = (struct reader){.fd = -1};
}

void
reader_seek(struct reader *r, int fd, uint64_t next)
{
	r->fd = fd;
	r->at = r->next = r->window_at = next;
	r->window_len = 0;
}

int
reader_pread(int fd, void *data, size_t len, uint64_t off, size_t *ret_len, struct error *err)
{
	uint8_t *p = data;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, p + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "read the journal");
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_len = done;
	return 0;
}

/* Have LEN bytes at `next` in the window, or as many as the file has; *ret_have may be more. */
static int
reader_fill(struct reader *r, size_t len, const uint8_t **ret_data, size_t *ret_have,
	    struct error *err)
{
	uint64_t end = r->window_at + r->window_len;
	size_t keep = 0, n;
	int code;

	if (r->next >= r->window_at && r->next <= end)
		keep = (size_t)(end - r->next);
	if (keep < len) {
		memmove(r->window, r->window + r->window_len - keep, keep);
		r->window_at = r->next;
		r->window_len = keep;
		code = reader_pread(r->fd, r->window + keep, WINDOW_BYTES - keep, r->next + keep,
				    &n, err);
		if (code < 0)
			return code;
		r->window_len += n;
	}
	*ret_data = r->window + (r->next - r->window_at);
	*ret_have = r->window_len - (size_t)(r->next - r->window_at);
	return 0;
}

static int
reader_bad(const struct reader *r, struct error *err, const char *what)
{
	return error_set(err, -EBADMSG, "offset %llu: %s", (unsigned long long)r->next, what);
}

static bool
bytes_zero(const uint8_t *p, size_t len)
{
	uint64_t any = 0, word;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		any |= word;
	}
	for (; len > 0; len--)
		any |= *p++;
	return any == 0;
}

/* The header at `next`. 1, 0 at the end, or negative. */
static int
reader_header(struct reader *r, struct record *ret, struct error *err)
{
	const uint8_t *data;
	size_t have, need = RECORD_FIXED_BYTES;
	enum record_state state;
	int code;

	do {
		size_t asked = need;

		code = reader_fill(r, need, &data, &have, err);
		if (code < 0)
			return code;
		if (have == 0)
			return 0;
		state = record_decode(data, have, ret, &need);
		if (state == RECORD_SHORT && (have < asked || need <= asked))
			return bytes_zero(data, have)
				       ? 0
				       : reader_bad(r, err, "the file ends within a record");
	} while (state == RECORD_SHORT);
	if (state == RECORD_END)
		return 0;
	return state == RECORD_OK ? 1 : reader_bad(r, err, "not a record: its header is damaged");
}

int
reader_next(struct reader *r, struct record *ret, const uint8_t **ret_entry, struct error *err)
{
	uint8_t leaf[SHA256_LEN], pad[RECORD_ALIGN];
	size_t header, have, used, total, n;
	const uint8_t *data;
	struct record rec;
	int code;

	code = reader_header(r, &rec, err);
	if (code <= 0)
		return code;
	header = record_header_len(&rec);
	code = reader_fill(r, header + rec.entry_len + RECORD_ALIGN, &data, &have, err);
	if (code < 0)
		return code;
	if (have < header + rec.entry_len)
		return reader_bad(r, err, "the file ends within an entry");
	merkle_leaf(r->sha, data + header, rec.entry_len, leaf);
	if (memcmp(leaf, rec.leaf, sizeof(leaf)) != 0)
		return reader_bad(r, err, "the entry is not the one its record was made for");
	used = header + rec.entry_len + record_blobs_len(&rec);
	total = record_len(&rec);
	/* The last bytes: they say that the file has the record whole, whatever its blobs are. */
	if (total <= have) {
		memcpy(pad, data + total - sizeof(pad), sizeof(pad));
	} else {
		code = reader_pread(r->fd, pad, sizeof(pad), r->next + total - sizeof(pad), &n,
				    err);
		if (code < 0)
			return code;
		if (n < sizeof(pad))
			return reader_bad(r, err, "the file ends within a record");
	}
	if (!bytes_zero(pad + sizeof(pad) - (total - used), total - used))
		return reader_bad(r, err, "bytes between two records");
	*ret = rec;
	*ret_entry = data + header;
	r->at = r->next;
	r->next += total;
	return 1;
}

static int
reader_blob(struct reader *r, uint64_t off, const struct record_blob *blob,
	    enum blob_state *ret_state, struct error *err)
{
	uint8_t digest[SHA256_LEN];
	size_t left = blob->len, n;
	bool zero = true, cut = false;
	int code;

	/* A small one has come with its record. */
	if (off >= r->window_at && off + left <= r->window_at + r->window_len) {
		const uint8_t *at = r->window + (off - r->window_at);

		zero = bytes_zero(at, left);
		sha256_add(r->sha, at, left);
		left = 0;
	}
	while (left > 0 && !cut) {
		size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

		code = reader_pread(r->fd, r->piece, len, off, &n, err);
		if (code < 0) {
			sha256_end(r->sha, digest);
			return code;
		}
		cut = n < len;
		zero = zero && bytes_zero(r->piece, n);
		sha256_add(r->sha, r->piece, n);
		off += n;
		left -= n;
	}
	sha256_end(r->sha, digest);
	if (!cut && memcmp(digest, blob->sha256, sizeof(digest)) == 0)
		*ret_state = BLOB_OK;
	else
		*ret_state = zero && !cut ? BLOB_ERASED : BLOB_BAD;
	return 0;
}

int
reader_blobs(struct reader *r, const struct record *record,
	     enum blob_state ret_states[ENTRY_BLOBS_MAX], struct error *err)
{
	uint64_t off = r->at + record_header_len(record) + record->entry_len;
	int code;

	for (uint32_t i = 0; i < record->n_blobs; i++) {
		code = reader_blob(r, off, &record->blobs[i], &ret_states[i], err);
		if (code < 0)
			return code;
		off += record->blobs[i].len;
	}
	return 0;
}

int
reader_find_zeros(int fd, uint64_t from, uint64_t *ret_end, struct error *err)
{
	uint8_t piece[PIECE_BYTES];
	uint64_t end = from, off = from;
	size_t n;
	int code;

	do {
		code = reader_pread(fd, piece, sizeof(piece), off, &n, err);
		if (code < 0)
			return code;
		if (!bytes_zero(piece, n)) {
			size_t last = n;

			while (piece[last - 1] == 0)
				last--;
			end = off + last;
		}
		off += n;
	} while (n == sizeof(piece));
	*ret_end = end;
	return 0;
}
