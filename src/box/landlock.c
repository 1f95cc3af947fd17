/*
 * Rules are tied to directories as they are when the rule is made, so they are made after the last
 * mount they speak of. The structures of newer kernels are spelled here, because the headers of the
 * oldest distribution we build on end at ABI 2.
 */
#include "box/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"

#define FS_TRUNCATE (UINT64_C(1) << 14)	 /* ABI 3 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5 */
#define SCOPE_ALL UINT64_C(3)		 /* ABI 6: abstract sockets, signals */

struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4; the network namespace is that wall */
	uint64_t scoped;	     /* ABI 6 */
};

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RUN (READ | LANDLOCK_ACCESS_FS_EXECUTE)
#define NODES (READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define EVERYTHING (UINT64_MAX)

static const struct {
	const char *path;
	uint64_t rights;
} landlock_places[] = {
	{"/", LANDLOCK_ACCESS_FS_READ_DIR}, {"/proc", READ},	  {"/dev", NODES},
	{"/dev/shm", EVERYTHING},	    {"/tmp", EVERYTHING},
};

static uint64_t
handled(int abi)
{
	/* ABI 2 knows 14 rights; each of 3 and 5 added one, 4 and 6 none for files. */
	return (UINT64_C(1) << (14 + (abi >= 3) + (abi >= 5))) - 1;
}

int
landlock_abi(void)
{
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi >= 0 ? (int)abi : -errno;
}

static void
digest_add(uint8_t digest[32], const char *path, uint64_t rights)
{
	char line[4200];
	uint8_t both[64];
	int n = snprintf(line, sizeof(line), "%s %llx", path, (unsigned long long)rights);

	memcpy(both, digest, 32);
	sha256_of(line, n > 0 ? (size_t)n : 0, both + 32);
	sha256_of(both, sizeof(both), digest);
}

static int
add(int ruleset, int abi, const char *path, uint64_t rights, uint8_t digest[32])
{
	CLEANUP(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
	struct landlock_path_beneath_attr rule = {.parent_fd = fd,
						  .allowed_access = rights & handled(abi)};

	if (fd < 0)
		return -errno;
	if (syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
		return -errno;
	digest_add(digest, path, rule.allowed_access);
	return 0;
}

static bool
has_place(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(landlock_places); i++)
		if (strcmp(landlock_places[i].path, path) == 0)
			return true;
	return false;
}

/* Every directory right beneath the root that the table does not name. */
static int
add_rest(int ruleset, int abi, uint8_t digest[32])
{
	DIR *root = opendir("/");
	const struct dirent *e;
	int r = 0;

	if (root == NULL)
		return -errno;
	while (r == 0 && (e = readdir(root)) != NULL) {
		char path[sizeof(e->d_name) + 2];

		(void)snprintf(path, sizeof(path), "/%s", e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.' && !has_place(path))
			r = add(ruleset, abi, path, RUN, digest);
	}
	(void)closedir(root);
	return r;
}

int
landlock_rules(int abi, uint8_t digest[32])
{
	const struct ruleset_attr attr = {.handled_access_fs = handled(abi),
					  .scoped = abi >= 6 ? SCOPE_ALL : 0};
	size_t size = abi >= 6	 ? sizeof(attr)
		      : abi >= 4 ? offsetof(struct ruleset_attr, scoped)
				 : offsetof(struct ruleset_attr, handled_access_net);
	CLEANUP(fd_closep)
	int fd = (int)syscall(__NR_landlock_create_ruleset, &attr, size, 0);
	int r = 0;

	if (fd < 0)
		return -errno;
	memset(digest, 0, 32);
	digest_add(digest, "handled", attr.handled_access_fs);
	digest_add(digest, "scoped", attr.scoped);
	for (size_t i = 0; i < ARRAY_LEN(landlock_places) && r == 0; i++)
		r = add(fd, abi, landlock_places[i].path, landlock_places[i].rights, digest);
	if (r == 0)
		r = add_rest(fd, abi, digest);
	return r == 0 ? TAKE_FD(fd) : r;
}

int
landlock_workspace(int ruleset, int abi, const char *path, bool read_only, uint8_t digest[32])
{
	return add(ruleset, abi, path, read_only ? RUN : EVERYTHING, digest);
}

int
landlock_enter(int ruleset)
{
	return syscall(__NR_landlock_restrict_self, ruleset, 0) == 0 ? 0 : -errno;
}
