/*
 * daemonize NAME: leaves a process behind that has done what it can to be overlooked: forked twice,
 * its own session, signals ignored, environment and name changed, descriptors closed, a listening
 * socket held. It ends by itself after a minute.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "stay") == 0) {
		sleep(60);
		return 0;
	}
	if (argc != 2)
		return 2;
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		prctl(PR_SET_NAME, "kworker/0:1");
		int s = socket(AF_INET, SOCK_STREAM, 0);
		listen(s, 1);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		char *args[] = {argv[1], argv[1], (char[]){"stay"}, NULL};
		execve("/proc/self/exe", args, (char *[]){NULL});
		_exit(1);
	}
	usleep(200000);
	puts("started");
	return 0;
}
