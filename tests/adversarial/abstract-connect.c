/* abstract-connect listen|connect NAME: an abstract unix socket, served for 60 s or called once. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t len = strlen(argv[2]);
	if (len > sizeof(sa.sun_path) - 1)
		return 2;
	memcpy(sa.sun_path + 1, argv[2], len);
	socklen_t sa_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	if (strcmp(argv[1], "connect") == 0) {
		if (connect(s, (struct sockaddr *)&sa, sa_len) < 0) {
			perror("connect");
			return 1;
		}
		puts("connected");
		return 0;
	}
	if (bind(s, (struct sockaddr *)&sa, sa_len) < 0 || listen(s, 8) < 0) {
		perror("listen");
		return 1;
	}
	alarm(60);
	for (;;) {
		int c = accept(s, NULL, NULL);
		if (c >= 0)
			close(c);
	}
}
