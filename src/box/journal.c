/*
 * The head has a fixed size, so that changing the state is a write of one byte. Steps carry a
 * digest: the file system may have kept the head and lost them.
 */
#include "box/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text.h"
#include "wire/codec.h"

#define STEPS_BYTES_MAX (512u << 20)
#define STEPS_HEAD (8 + SHA256_LEN)

void
journal_fini(struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		free(j->steps[i].path);
	free(j->steps);
	fd_close(j->fd);
	*j = (struct journal){.fd = -1};
}

int
journal_create(int session_dir, struct journal *ret, struct error *err)
{
	struct journal j = {.fd = -1, .state = JOURNAL_STAGING};
	char head[JOURNAL_HEAD] = {0};
	uint8_t random[8];
	int r;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_sys(err, -errno, "getrandom");
	memcpy(j.stage, STAGE_PREFIX, sizeof(STAGE_PREFIX));
	hex_encode(random, sizeof(random), j.stage + strlen(STAGE_PREFIX));
	head[0] = JOURNAL_STAGING;
	head[1] = '\n';
	memcpy(head + 2, j.stage, strlen(j.stage));
	j.fd = openat(session_dir, JOURNAL_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (j.fd < 0)
		return error_sys(err, -errno, "create the plan of the accept");
	r = fd_pwrite_all(j.fd, head, sizeof(head), 0, err);
	if (r == 0 && (fdatasync(j.fd) != 0 || fsync(session_dir) != 0))
		r = error_sys(err, -errno, "sync the plan of the accept");
	if (r < 0) {
		(void)unlinkat(session_dir, JOURNAL_NAME, 0);
		journal_fini(&j);
		return r;
	}
	*ret = j;
	return 0;
}

int
journal_add(struct journal *j, const struct step *s, struct error *err)
{
	if (j->n == j->cap) {
		size_t cap = j->cap == 0 ? 64 : j->cap * 2;
		struct step *steps = realloc(j->steps, cap * sizeof(*steps));

		if (steps == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		j->steps = steps;
		j->cap = cap;
	}
	j->steps[j->n] = *s;
	j->steps[j->n].path = strdup(s->path);
	if (j->steps[j->n].path == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	j->n++;
	return 0;
}

static void
step_put(struct buf *out, const struct step *s)
{
	wire_put_u32(out, s->verb);
	wire_put_u32(out, s->item);
	wire_put_u32(out, s->mode_from);
	wire_put_u32(out, s->mode_to);
	wire_put_u64(out, s->staged);
	wire_put_u64(out, s->was);
	wire_put_bytes(out, wire_bytes_of(s->path, strlen(s->path)));
}

int
journal_state(struct journal *j, enum journal_state state, struct error *err)
{
	char letter = (char)state;
	int r = fd_pwrite_all(j->fd, &letter, 1, 0, err);

	if (r == 0 && fdatasync(j->fd) != 0)
		r = error_sys(err, -errno, "sync");
	if (r < 0)
		return error_prefix(err, "the plan of the accept");
	j->state = state;
	return 0;
}

int
journal_commit(struct journal *j, struct error *err)
{
	CLEANUP(buf_fini) struct buf b = {0};
	CLEANUP(buf_fini) struct buf head = {0};
	uint8_t digest[SHA256_LEN];
	int r;

	buf_init(&b, STEPS_BYTES_MAX);
	for (size_t i = 0; i < j->n; i++)
		step_put(&b, &j->steps[i]);
	r = buf_check(&b, err);
	if (r < 0)
		return r;
	sha256_of(b.data, b.len, digest);
	buf_init(&head, STEPS_HEAD);
	wire_put_u64(&head, b.len);
	buf_add(&head, digest, sizeof(digest));
	r = buf_check(&head, err);
	if (r == 0)
		r = fd_pwrite_all(j->fd, head.data, head.len, JOURNAL_HEAD, err);
	if (r == 0)
		r = fd_pwrite_all(j->fd, b.data, b.len, JOURNAL_HEAD + STEPS_HEAD, err);
	if (r == 0 && fdatasync(j->fd) != 0)
		r = error_sys(err, -errno, "sync");
	if (r < 0)
		return error_prefix(err, "the plan of the accept");
	return journal_state(j, JOURNAL_COMMITTING, err);
}

static int
steps_read(struct journal *j, const struct buf *file, struct error *err)
{
	struct wire_in in = {.p = (const uint8_t *)file->data + JOURNAL_HEAD,
			     .left = file->len - JOURNAL_HEAD};
	uint64_t len = wire_get_u64(&in);
	uint8_t digest[SHA256_LEN];

	if (in.bad || in.left < SHA256_LEN || len != in.left - SHA256_LEN)
		return error_set(err, -EBADMSG, "steps are missing");
	sha256_of(in.p + SHA256_LEN, (size_t)len, digest);
	if (!bytes_equal_ct(digest, in.p, SHA256_LEN))
		return error_set(err, -EBADMSG, "the steps are not those that were written");
	in.p += SHA256_LEN;
	in.left -= SHA256_LEN;
	while (in.left > 0) {
		struct step s = {0};
		struct wire_bytes path;
		char *copy;
		int r;

		s.verb = wire_get_u32(&in);
		s.item = wire_get_u32(&in);
		s.mode_from = wire_get_u32(&in);
		s.mode_to = wire_get_u32(&in);
		s.staged = wire_get_u64(&in);
		s.was = wire_get_u64(&in);
		path = wire_get_bytes(&in);
		if (in.bad || path.len == 0 || memchr(path.data, '\0', path.len) != NULL ||
		    s.verb < STEP_CHMOD || s.verb > STEP_TAKE)
			return error_set(err, -EBADMSG, "a step cannot be read");
		copy = strndup(path.data, path.len);
		if (copy == NULL)
			return error_set(err, -ENOMEM, "out of memory");
		s.path = copy;
		r = journal_add(j, &s, err);
		free(copy);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
journal_read(struct journal *j, struct error *err)
{
	CLEANUP(buf_fini) struct buf b = {0};
	size_t prefix = strlen(STAGE_PREFIX);
	int r;

	buf_init(&b, STEPS_BYTES_MAX + JOURNAL_HEAD + STEPS_HEAD);
	r = fd_read_to_end(j->fd, &b, err);
	if (r < 0)
		return r;
	if (b.len < JOURNAL_HEAD || b.data[1] != '\n' ||
	    strnlen(b.data + 2, STAGE_NAME_MAX) >= STAGE_NAME_MAX ||
	    strncmp(b.data + 2, STAGE_PREFIX, prefix) != 0 ||
	    strspn(b.data + 2 + prefix, "0123456789abcdef") != strlen(b.data + 2 + prefix))
		return error_set(err, -EBADMSG, "it has no head");
	(void)snprintf(j->stage, sizeof(j->stage), "%s", b.data + 2);
	switch (b.data[0]) {
	case JOURNAL_STAGING:
		j->state = JOURNAL_STAGING;
		return 0;
	case JOURNAL_COMMITTING:
	case JOURNAL_DONE:
		j->state = (enum journal_state)b.data[0];
		return steps_read(j, &b, err);
	default:
		return error_set(err, -EBADMSG, "it has no known state");
	}
}

int
journal_open(int session_dir, struct journal *ret, struct error *err)
{
	struct journal j = {.fd = -1};
	int r;

	j.fd = openat(session_dir, JOURNAL_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (j.fd < 0)
		return error_sys(err, -errno, "open the plan of an accept");
	r = journal_read(&j, err);
	if (r < 0) {
		journal_fini(&j);
		return error_prefix(err, "the plan of an accept cannot be read");
	}
	*ret = j;
	return 0;
}

int
journal_remove(int session_dir, struct error *err)
{
	if (unlinkat(session_dir, JOURNAL_NAME, 0) != 0 && errno != ENOENT)
		return error_sys(err, -errno, "remove the plan of the accept");
	return fsync(session_dir) == 0 ? 0 : error_sys(err, -errno, "sync the session's directory");
}
