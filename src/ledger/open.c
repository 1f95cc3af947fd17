/* The directories on the way are only passed through: O_PATH asks for no more. */
#include "ledger/open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"

int
ledger_openat(int dirfd, const char *path, int flags, mode_t mode, struct error *err)
{
	CLEANUP(fd_closep) int held = -1;
	char part[LEDGER_PATH_MAX];
	const char *at = path, *slash;
	int fd = dirfd;

	if (strlen(path) >= sizeof(part))
		return error_set(err, -ENAMETOOLONG, "open %s", path);
	while ((slash = strchr(at, '/')) != NULL) {
		size_t len = (size_t)(slash - at);
		int next;

		memcpy(part, at, len);
		part[len] = '\0';
		next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return error_sys(err, -errno, "open %s", path);
		fd_closep(&held);
		held = next;
		fd = next;
		at = slash + 1;
	}
	fd = openat(fd, at, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
	return fd < 0 ? error_sys(err, -errno, "open %s", path) : fd;
}
