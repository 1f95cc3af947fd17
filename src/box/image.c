/* The second time round, the seals on /proc/self/exe are the sign that it is done. */
#include "box/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3; before, every memfd could be executed */
#endif

static int
memfd_executable(void)
{
	int fd = memfd_create("loom-box", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("loom-box", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

int
image_enter(struct error *err)
{
	CLEANUP(fd_closep) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(fd_closep) int copy = -1;
	struct stat st;
	off_t at = 0;
	char name[] = "loom-box";
	char *argv[] = {name, NULL};
	int seals;

	if (self < 0 || fstat(self, &st) != 0)
		return error_sys(err, -errno, "open our own image");
	seals = fcntl(self, F_GET_SEALS);
	if (seals >= 0 && (seals & SEALS) == SEALS) {
		/* It runs; nobody needs to run or read it again, by whatever road
		 * ("#!/proc/self/exe"). */
		if (fchmod(self, 0) != 0)
			return error_sys(err, -errno, "close our own image");
		return 0;
	}
	copy = memfd_executable();
	if (copy < 0)
		return error_sys(err, -errno, "make a memfd");
	while (at < st.st_size)
		if (sendfile(copy, self, &at, (size_t)(st.st_size - at)) <= 0)
			return error_sys(err, -errno, "copy our own image");
	if (fchmod(copy, 0555) != 0 || fcntl(copy, F_ADD_SEALS, SEALS) != 0)
		return error_sys(err, -errno, "seal our own image");
	(void)fexecve(copy, argv, environ);
	return error_sys(err, -errno, "execute our own image");
}
