/*
 * setid [DIR]: every system call that takes a mode, with a set-id bit in it. Prints "CALL ERRNO" for
 * each, then "END".
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errname.h"

static void
say(const char *name, long r)
{
	printf("%s %s\n", name, errname(r));
}

int
main(int argc, char **argv)
{
	if (argc > 1 && chdir(argv[1]) < 0)
		return 2;
	int fd = open("setid-file", O_CREAT | O_RDWR, 0755);
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_CREAT | O_WRONLY, 04755, 0};
	if (fd < 0 || dir < 0)
		return 2;
	say("chmod", syscall(SYS_chmod, "setid-file", 04755));
	say("chmod-sgid", syscall(SYS_chmod, "setid-file", 02755));
	say("chmod-high", syscall(SYS_chmod, "setid-file", 0xffffffff00000000UL | 04755));
	say("fchmod", syscall(SYS_fchmod, fd, 06755));
	say("fchmodat", syscall(SYS_fchmodat, dir, "setid-file", 04755));
	say("fchmodat2", syscall(452, dir, "setid-file", 04755, 0));
	say("open", syscall(SYS_open, "setid-a", O_CREAT | O_WRONLY, 04755));
	say("open-tmpfile", syscall(SYS_open, ".", O_TMPFILE | O_WRONLY, 04755));
	say("openat", syscall(SYS_openat, dir, "setid-b", O_CREAT | O_WRONLY, 02755));
	say("openat-tmpfile", syscall(SYS_openat, dir, ".", O_TMPFILE | O_WRONLY, 04755));
	say("creat", syscall(SYS_creat, "setid-c", 04755));
	say("mkdir", syscall(SYS_mkdir, "setid-d", 04755));
	say("mkdirat", syscall(SYS_mkdirat, dir, "setid-e", 02755));
	say("mknod", syscall(SYS_mknod, "setid-f", S_IFREG | 04755, 0));
	say("mknod-fifo", syscall(SYS_mknod, "setid-g", S_IFIFO | 04755, 0));
	say("mknodat", syscall(SYS_mknodat, dir, "setid-h", S_IFREG | 02755, 0));
	say("openat2", syscall(SYS_openat2, dir, "setid-i", &how, sizeof(how)));
	unlink("setid-file");
	puts("END");
	return 0;
}
