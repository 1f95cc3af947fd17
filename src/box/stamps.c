/* Records of a fixed size in the machine's own form: the file never leaves the machine. */
#include "box/stamps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define STAMPS_BYTES_MAX (64u << 20)

static int
stamp_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct stamp));
}

static struct stamp
stamp_of(const struct stat *st)
{
	return (struct stamp){
		.ino = st->st_ino, .sec = st->st_ctim.tv_sec, .nsec = st->st_ctim.tv_nsec};
}

int
stamps_open(int session_dir, struct stamps *ret, struct error *err)
{
	CLEANUP(buf_fini) struct buf b = {0};
	struct stamps s = {.fd = -1};
	int r;

	s.fd = openat(session_dir, STAMPS_NAME,
		      O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s.fd < 0)
		return error_sys(err, -errno, "open " STAMPS_NAME);
	buf_init(&b, STAMPS_BYTES_MAX);
	r = fd_read_to_end(s.fd, &b, err);
	s.n = b.len / sizeof(*s.stamps); /* a torn last record is none */
	s.stamps = malloc((s.n + 1) * sizeof(*s.stamps));
	if (r == 0 && s.stamps == NULL)
		r = error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		stamps_fini(&s);
		return error_prefix(err, STAMPS_NAME);
	}
	if (s.n > 0)
		memcpy(s.stamps, b.data, s.n * sizeof(*s.stamps));
	qsort(s.stamps, s.n, sizeof(*s.stamps), stamp_compare);
	*ret = s;
	return 0;
}

void
stamps_fini(struct stamps *s)
{
	free(s->stamps);
	free(s->added);
	fd_close(s->fd);
	*s = (struct stamps){.fd = -1};
}

bool
stamps_have(const struct stamps *s, const struct stat *st)
{
	struct stamp key = stamp_of(st);

	return s->n > 0 && bsearch(&key, s->stamps, s->n, sizeof(key), stamp_compare) != NULL;
}

void
stamps_add(struct stamps *s, const struct stat *st)
{
	if (s->n_added == s->cap) {
		size_t cap = s->cap == 0 ? 64 : s->cap * 2;
		struct stamp *added = realloc(s->added, cap * sizeof(*added));

		if (added == NULL)
			return;
		s->added = added;
		s->cap = cap;
	}
	s->added[s->n_added++] = stamp_of(st);
}

void
stamps_flush(struct stamps *s)
{
	if (s->fd >= 0 && s->n_added > 0 &&
	    fd_write_all(s->fd, s->added, s->n_added * sizeof(*s->added), NULL) == 0)
		s->n_added = 0;
}
