/*
 * Whole pages of their own, so that locking and the advice to the kernel touch nothing else. What
 * cannot be locked is refused: a key on a swap device outlives every promise made about it. The two
 * advices are refused only by kernels (or emulators of one) that do not have them.
 */
#include "base/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"

int
secret_alloc(struct secret *ret, size_t len, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped;
	void *p;

	if (len == 0 || len > SIZE_MAX - page)
		return error_set(err, -EINVAL, "secret of %zu bytes", len);
	mapped = (len + page - 1) / page * page;
	p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return error_sys(err, -errno, "map %zu bytes for a secret", mapped);
	if (mlock(p, mapped) != 0) {
		int code = -errno;

		(void)munmap(p, mapped);
		return error_sys(err, code,
				 "lock %zu bytes for a secret; is RLIMIT_MEMLOCK high enough?",
				 mapped);
	}
	(void)madvise(p, mapped, MADV_DONTDUMP);
	(void)madvise(p, mapped, MADV_WIPEONFORK);
	*ret = (struct secret){.data = p, .len = len, .mapped = mapped};
	return 0;
}

int
secret_random(struct secret *ret, size_t len, struct error *err)
{
	CLEANUP(secret_wipe) struct secret s = {0};
	size_t done = 0;
	int r;

	r = secret_alloc(&s, len, err);
	if (r < 0)
		return r;
	while (done < len) {
		ssize_t n = getrandom(s.data + done, len - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, -errno, "getrandom");
		done += (size_t)n;
	}
	*ret = s;
	s = (struct secret){0};
	return 0;
}

int
secret_read_fd(struct secret *ret, int fd, size_t len, struct error *err)
{
	CLEANUP(secret_wipe) struct secret s = {0};
	uint8_t more;
	ssize_t n;
	int r;

	r = secret_alloc(&s, len, err);
	if (r < 0)
		return r;
	r = fd_read_exact(fd, s.data, len, err);
	if (r < 0)
		return r;
	do
		n = read(fd, &more, 1);
	while (n < 0 && errno == EINTR);
	explicit_bzero(&more, sizeof(more));
	if (n < 0)
		return error_sys(err, -errno, "read the end of a secret");
	if (n > 0)
		return error_set(err, -EBADMSG, "secret longer than %zu bytes", len);
	*ret = s;
	s = (struct secret){0};
	return 0;
}

void
secret_wipe(struct secret *s)
{
	if (s->data != NULL) {
		explicit_bzero(s->data, s->mapped);
		(void)munmap(s->data, s->mapped);
	}
	*s = (struct secret){0};
}
