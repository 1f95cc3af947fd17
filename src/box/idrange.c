/* Locks, not records: what nobody holds is free, whatever a file says. */
#include "box/idrange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define ACCOUNTS_MAX (4 * 1024 * 1024)

void
idrange_init(struct idrange *r)
{
	*r = (struct idrange){.lock = -1};
}

bool
idrange_meets(const char *text, unsigned column, bool count, uint32_t first, uint32_t last)
{
	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *at = line;
		unsigned long long from, n = 1;
		char *end;

		for (unsigned c = 0; c < column && at != NULL; c++) {
			at = strpbrk(at, ":\n");
			at = at != NULL && *at == ':' ? at + 1 : NULL;
		}
		if (at != NULL && *at >= '0' && *at <= '9') {
			from = strtoull(at, &end, 10);
			if (count && *end == ':')
				n = strtoull(end + 1, NULL, 10);
			if (n > 0 && from <= last && from + n - 1 >= first)
				return true;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

static const struct {
	const char *path;
	unsigned column;
	bool count;
} idrange_accounts[] = {
	{"/etc/passwd", 2, false},
	{"/etc/group", 2, false},
	{"/etc/subuid", 1, true},
	{"/etc/subgid", 1, true},
};

static int
check_accounts(uint32_t first, uint32_t last, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(idrange_accounts); i++) {
		CLEANUP(buf_fini) struct buf text;
		struct error no = {0};
		int r;

		buf_init(&text, ACCOUNTS_MAX);
		r = fd_read_file_at(AT_FDCWD, idrange_accounts[i].path, &text, &no);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return error_set(err, r, "%s", no.text);
		if (idrange_meets(text.data, idrange_accounts[i].column, idrange_accounts[i].count,
				  first, last))
			return error_set(
				err, -EADDRINUSE,
				"%s uses ids from %u to %u, which Loom keeps for sessions; "
				"move them",
				idrange_accounts[i].path, first, last);
	}
	return 0;
}

int
idrange_claim(struct idrange *r, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;
	int code = check_accounts(IDRANGE_BASE, IDRANGE_BASE + IDRANGE_BLOCKS * IDRANGE_BLOCK - 1,
				  err);

	if (code < 0)
		return code;
	fd = open(IDRANGE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_sys(err, -errno, "open %s", IDRANGE_LOCK);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 ||
	    (st.st_mode & 077) != 0)
		return error_set(err, -EPERM, "%s is not a private file of root's; remove it",
				 IDRANGE_LOCK);
	for (uint32_t i = 0; i < IDRANGE_BLOCKS; i++) {
		struct flock lock = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			*r = (struct idrange){.first = IDRANGE_BASE + i * IDRANGE_BLOCK,
					      .lock = TAKE_FD(fd)};
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return error_sys(err, -errno, "lock %s", IDRANGE_LOCK);
	}
	return error_set(err, -EBUSY, "all blocks of session ids are in use");
}

void
idrange_close(struct idrange *r)
{
	fd_closep(&r->lock);
}

uint32_t
idrange_take(struct idrange *r)
{
	if (r->lock < 0)
		return 0;
	for (uint32_t i = 0; i < IDRANGE_BLOCK; i++) {
		uint32_t at = (r->next + i) % IDRANGE_BLOCK;

		if ((r->used[at / 8] & (1u << (at % 8))) == 0) {
			r->used[at / 8] |= (uint8_t)(1u << (at % 8));
			r->next = at + 1;
			return r->first + at;
		}
	}
	return 0;
}

void
idrange_give(struct idrange *r, uint32_t id)
{
	uint32_t at = id - r->first;

	if (id >= r->first && at < IDRANGE_BLOCK)
		r->used[at / 8] &= (uint8_t) ~(1u << (at % 8));
}
