/*
 * Pushes a byte into whatever terminals it can find, by the plain request and by requests that only
 * differ above bit 31. Prints "NAME ERRNO", and "PUSHED NAME" where the kernel took it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "errname.h"

static void
attempt(const char *name, int fd, unsigned long request, const char *byte)
{
	long r = syscall(SYS_ioctl, fd, request, byte);
	printf("%s %s\n", name, errname(r));
	if (r == 0)
		printf("PUSHED %s\n", name);
}

int
main(void)
{
	int fds[4] = {0, 1, 2, open("/dev/tty", O_RDWR)};
	for (int i = 0; i < 4; i++) {
		if (fds[i] < 0)
			continue;
		attempt("TIOCSTI", fds[i], TIOCSTI, "#");
		attempt("TIOCSTI+bit32", fds[i], (unsigned long)TIOCSTI | (1UL << 32), "#");
		attempt("TIOCSTI+high", fds[i], (unsigned long)TIOCSTI | (0xffffffffUL << 32), "#");
		attempt("TIOCLINUX", fds[i], TIOCLINUX, "\3");
	}
	return 0;
}
