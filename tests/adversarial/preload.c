/* A library that leaves its mark where LOOM_MARKER says, in whatever process loads it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void
leave_mark(void)
{
	const char *path = getenv("LOOM_MARKER");
	if (path != NULL) {
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	}
}

/* LD_AUDIT asks for this. */
unsigned int la_version(unsigned int version);
unsigned int
la_version(unsigned int version)
{
	return version;
}
