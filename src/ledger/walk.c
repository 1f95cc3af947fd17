/*
 * The list of segments is made anew at the end of the last one, because the writer may have gone on
 * to another meanwhile. Behind the last record of a segment everything must be zero.
 */
#include "ledger/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/journal.h"

#define PATIENCE 5
#define PATIENCE_NS 10000000

static void
wait_a_moment(void)
{
	const struct timespec ts = {.tv_nsec = PATIENCE_NS};

	(void)nanosleep(&ts, NULL);
}

static uint64_t
segment_bytes(int dirfd, uint64_t first)
{
	char name[SEGMENT_NAME_LEN + 1];
	struct stat st;

	segment_name(first, name);
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

int
walk_open(struct walk *w, int ledger_dir, uint64_t from, struct error *err)
{
	int r;

	*w = (struct walk){.dirfd = -1, .fd = -1, .next = UINT64_MAX, .patience = PATIENCE};
	openset_init(&w->open);
	r = reader_init(&w->reader, -1, 0, err);
	if (r < 0)
		return r;
	w->dirfd = openat(ledger_dir, "journal", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->dirfd < 0)
		return error_sys(err, -errno, "open journal/");
	r = journal_list(w->dirfd, &w->segments, &w->n, err);
	if (r < 0)
		return r;
	if (w->n == 0)
		return error_set(err, -ENOENT, "there are no entries in journal/");
	while (w->at + 1 < w->n && w->segments[w->at + 1] <= from)
		w->at++;
	for (size_t i = w->at; i < w->n; i++)
		w->all_bytes += segment_bytes(w->dirfd, w->segments[i]);
	return 0;
}

void
walk_close(struct walk *w)
{
	reader_fini(&w->reader);
	openset_fini(&w->open);
	free(w->segments);
	fd_closep(&w->fd);
	fd_closep(&w->dirfd);
	w->segments = NULL;
}

static int
enter(struct walk *w, struct error *err)
{
	uint64_t first = w->segments[w->at];
	size_t len = 0;
	int r;

	w->fd = journal_segment_open(w->dirfd, first, err);
	if (w->fd < 0)
		return w->fd;
	reader_seek(&w->reader, w->fd, 0);
	r = journal_head_read(w->fd, &w->head, &w->open, &len, err);
	if (r < 0)
		return r;
	if (w->head.frontier.size != first)
		return error_set(err, -EBADMSG, "segment: its head is that of another");
	if (w->next != UINT64_MAX && w->next != first)
		return error_set(err, -EBADMSG, "the entries from %llu on are gone",
				 (unsigned long long)w->next);
	reader_seek(&w->reader, w->fd, len);
	w->next = first;
	return WALK_SEGMENT;
}

/* Is there another segment by now? */
static int
look_again(struct walk *w, struct error *err)
{
	uint64_t *segments, last = w->segments[w->n - 1];
	size_t n;
	int r;

	r = journal_list(w->dirfd, &segments, &n, err);
	if (r < 0)
		return r;
	if (n == 0 || segments[n - 1] <= last) {
		free(segments);
		return 0;
	}
	free(w->segments);
	w->segments = segments;
	w->n = n;
	for (w->at = 0; w->at < n && segments[w->at] < last; w->at++)
		;
	return 1;
}

/* Here is no record. 1: it is the clean end of the segment; 0: try again. */
static int
judge_end(struct walk *w, int code, unsigned int tries, struct error *err)
{
	uint64_t end = w->reader.next;
	bool last = w->at + 1 == w->n;
	int r;

	if (code == 0) {
		r = reader_find_zeros(w->fd, w->reader.next, &end, err);
		if (r < 0)
			return r;
		if (end == w->reader.next)
			return 1;
	}
	if (last && tries < w->patience) {
		wait_a_moment();
		reader_seek(&w->reader, w->fd, w->reader.next);
		return 0;
	}
	return error_set(
		err, -EBADMSG, "offset %llu: %llu bytes that are no record behind the last one",
		(unsigned long long)w->reader.next, (unsigned long long)(end - w->reader.next));
}

int
walk_next(struct walk *w, struct record *ret, const uint8_t **ret_entry, struct error *err)
{
	for (unsigned int tries = 0;;) {
		struct error why = {0};
		int r;

		if (w->fd < 0)
			return enter(w, err);
		r = reader_next(&w->reader, ret, ret_entry, &why);
		if (r == 1 && ret->index != w->next) {
			w->reader.next = w->reader.at;
			return error_set(err, -EBADMSG, "entry %llu stands where %llu is due",
					 (unsigned long long)ret->index,
					 (unsigned long long)w->next);
		}
		if (r == 1) {
			w->next++;
			return WALK_RECORD;
		}
		if (r < 0 && (r != -EBADMSG || w->at + 1 < w->n || tries >= w->patience))
			return error_set(err, r, "%s", why.text);
		r = judge_end(w, r, tries++, err);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (w->at + 1 == w->n) {
			r = look_again(w, err);
			if (r <= 0)
				return r < 0 ? r : WALK_END;
		}
		w->done_bytes += segment_bytes(w->dirfd, w->segments[w->at]);
		fd_closep(&w->fd);
		w->at++;
		tries = 0;
	}
}

int
walk_blobs(struct walk *w, const struct record *record, enum blob_state ret_states[ENTRY_BLOBS_MAX],
	   struct error *err)
{
	for (unsigned int tries = 0;; tries++) {
		bool whole = true;
		int r;

		r = reader_blobs(&w->reader, record, ret_states, err);
		if (r < 0)
			return r;
		for (uint32_t i = 0; i < record->n_blobs; i++)
			whole = whole && ret_states[i] == BLOB_OK;
		if (whole || w->at + 1 < w->n || tries >= w->patience)
			return 0;
		wait_a_moment();
		/* What was read ahead is what was there then. */
		w->reader.window_len = 0;
	}
}

void
walk_where(const struct walk *w, uint64_t *ret_segment, uint64_t *ret_offset)
{
	*ret_segment = w->segments[w->at];
	*ret_offset = w->fd >= 0 ? w->reader.next : 0;
}
