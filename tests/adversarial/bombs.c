/* bombs KIND: uses up one kind of resource until the system says no, and prints what it said. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errname.h"

static void
bomb_fork(void)
{
	/* Children fork too; whoever is refused says so. The pid limit, not this loop, is the bound. */
	for (int i = 0; i < 100000; i++) {
		pid_t p = fork();
		if (p < 0) {
			printf("fork %s\n", errname(-1));
			fflush(stdout);
			sleep(3);
			_exit(0);
		}
	}
}

static void *
thread_sleep(void *arg)
{
	pause();
	return arg;
}

static void
bomb_thread(void)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < 100000; i++) {
		pthread_t t;
		int err = pthread_create(&t, &attr, thread_sleep, NULL);
		if (err != 0) {
			errno = err;
			printf("thread %s after %d\n", errname(-1), i);
			return;
		}
	}
	puts("thread 0");
}

static void
bomb_fds(void)
{
	int last = 0;
	for (int i = 0; i < 1000000; i++) {
		int fd = open("/dev/null", O_RDONLY);
		if (fd < 0) {
			printf("open %s after %d\n", errname(-1), last + 1);
			return;
		}
		last = fd;
	}
	puts("open 0");
}

/* Descriptors in flight count too: a socket pair whose queue is full of sockets, over and over. */
static void
bomb_scm(void)
{
	for (int round = 0; round < 100000; round++) {
		int sv[2];
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) < 0) {
			printf("scm %s\n", errname(-1));
			return;
		}
		char control[CMSG_SPACE(sizeof(int))] = {0};
		char byte = 0;
		struct iovec iov = {&byte, 1};
		struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
				   .msg_controllen = sizeof(control)};
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &sv[1], sizeof(int));
		if (sendmsg(sv[0], &m, MSG_DONTWAIT) < 0) {
			printf("scm %s\n", errname(-1));
			return;
		}
	}
	puts("scm 0");
}

static void
bomb_memfd(void)
{
	static char block[1 << 20];
	int fd = memfd_create("bomb", 0);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 4096; i++) {
		if (write(fd, block, sizeof(block)) < 0)
			exit(1);
	}
}

static void
bomb_memory(void)
{
	for (int i = 0; i < 8192; i++) {
		char *p = malloc(1 << 20);
		if (p == NULL)
			exit(1);
		memset(p, i, 1 << 20);
	}
}

static void
bomb_mlock(void)
{
	void *p = mmap(NULL, 256u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mlock(p, 256u << 20) < 0)
		exit(1);
}

static void
bomb_inodes(void)
{
	for (int i = 0; i < 1000000; i++) {
		char name[64];
		snprintf(name, sizeof(name), "/tmp/inode-%d", i);
		int fd = open(name, O_CREAT | O_WRONLY, 0600);
		if (fd < 0) {
			printf("inodes %s after %d\n", errname(-1), i);
			return;
		}
		close(fd);
	}
	puts("inodes 0");
}

static void
bomb_zombies(void)
{
	/* Orphans in series: each grandchild becomes the init's to reap. */
	for (int i = 0; i < 3000; i++) {
		pid_t p = fork();
		if (p < 0) {
			usleep(1000);
			i--;
			continue;
		}
		if (p == 0) {
			if (fork() == 0)
				_exit(0);
			_exit(0);
		}
		waitpid(p, NULL, 0);
	}
	puts("reaped");
}

static void
bomb_few(void)
{
	int n = 0;
	pid_t pids[400];
	for (; n < 400; n++) {
		pids[n] = fork();
		if (pids[n] < 0)
			break;
		if (pids[n] == 0) {
			pause();
			_exit(0);
		}
	}
	printf("forked %d\n", n);
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{"fork", bomb_fork}, {"thread", bomb_thread}, {"fds", bomb_fds}, {"scm", bomb_scm},
		{"memfd", bomb_memfd}, {"memory", bomb_memory}, {"mlock", bomb_mlock},
		{"inodes", bomb_inodes}, {"zombies", bomb_zombies}, {"few", bomb_few},
	};
	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) == 0) {
			kinds[i].run();
			return 0;
		}
	}
	return 2;
}
