/*
 * setid-map FILE: store a word at the start of FILE through a shared mapping, which unlike write(2)
 * takes no set-id bit off. Prints "mapped" when it is done.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	char *p =
		fd >= 0 ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (p == MAP_FAILED) {
		perror("setid-map");
		return 1;
	}
	memcpy(p, "REWRITTEN", 9);
	if (msync(p, 4096, MS_SYNC) != 0)
		return 1;
	puts("mapped");
	return 0;
}
