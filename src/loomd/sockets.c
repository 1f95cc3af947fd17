/*
 * bind(2) knows no directory descriptor, but it does know the working directory.
 */
#include "loomd/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define BACKLOG 512

static void
address_of(const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, name, strlen(name) + 1);
}

static int
socket_listen(const char *name, int type, int *ret_fd, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct sockaddr_un addr;

	if (unlink(name) != 0 && errno != ENOENT)
		return error_sys(err, -errno, "remove the stale %s", name);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_sys(err, -errno, "socket");
	address_of(name, &addr);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return error_sys(err, -errno, "bind %s", name);
	if (listen(fd, BACKLOG) != 0)
		return error_sys(err, -errno, "listen at %s", name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int
sockets_bind(int run_dir, int *ret_cli, int *ret_http, struct error *err)
{
	CLEANUP(fd_closep) int cli = -1;
	CLEANUP(fd_closep) int http = -1;
	mode_t mask;
	int r;

	if (fchdir(run_dir) != 0)
		return error_sys(err, -errno, "enter the run directory");
	/* The mode of a socket is made by bind from the umask alone. */
	mask = umask(0177);
	r = socket_listen(SOCKET_HTTP, SOCK_STREAM, &http, err);
	if (r == 0)
		r = socket_listen(SOCKET_CLI, SOCK_SEQPACKET, &cli, err);
	(void)umask(mask);
	if (r == 0 && chdir("/") != 0)
		r = error_sys(err, -errno, "leave the run directory");
	if (r < 0)
		return r;
	*ret_cli = TAKE_FD(cli);
	*ret_http = TAKE_FD(http);
	return 0;
}

bool
sockets_there(int run_dir)
{
	struct stat st;

	return fstatat(run_dir, SOCKET_CLI, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
}

void
sockets_unlink(int run_dir)
{
	(void)unlinkat(run_dir, SOCKET_CLI, 0);
	(void)unlinkat(run_dir, SOCKET_HTTP, 0);
}
