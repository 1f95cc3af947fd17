/*
 * mountinfo says of each mount which directory of which file system is shown where. From the mount
 * the source lies on comes its path within the file system, and from every mount of that file
 * system that shows a directory above it comes another name of the source. None may be a refused
 * one.
 */
#include "box/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "box/procfs.h"
#include "model/profile.h"

#define MOUNTINFO_MAX (1024 * 1024)
#define MOUNTS_MAX 4096

struct shown {
	unsigned long long id;
	const char *dev;  /* "254:0" */
	const char *root; /* of the mount, in the file system */
	const char *at;
};

/* \040 and its like, in place. */
static void
unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] != '\0' && s[3] != '\0') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static int
read_mounts(char *text, struct shown *ret, size_t *ret_n, struct error *err)
{
	size_t n = 0;

	for (char *line = text, *next; *line != '\0'; line = next) {
		size_t len = strcspn(line, "\n");
		char *word[5];

		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		for (int i = 0; i < 5; i++) {
			word[i] = line;
			line += strcspn(line, " ");
			if (*line == ' ')
				*line++ = '\0';
		}
		if (word[4][0] != '/' || n == MOUNTS_MAX)
			return error_set(err, -EBADMSG, "the list of mounts is not as expected");
		unescape(word[3]);
		unescape(word[4]);
		ret[n++] = (struct shown){.id = strtoull(word[0], NULL, 10),
					  .dev = word[2],
					  .root = word[3],
					  .at = word[4]};
	}
	*ret_n = n;
	return 0;
}

/* PATH, which is TOP or beneath it, as seen from BASE instead. */
static int
move(const char *path, const char *top, const char *base, char out[PATH_BYTES_MAX],
     struct error *err)
{
	const char *rest = strcmp(top, "/") == 0 ? path : path + strlen(top);
	int n;

	rest += *rest == '/';
	n = snprintf(out, PATH_BYTES_MAX, "%s%s%s", strcmp(base, "/") == 0 ? "" : base,
		     *rest != '\0' || strcmp(base, "/") == 0 ? "/" : "", rest);
	return n >= 0 && n < PATH_BYTES_MAX ? 0
					    : error_set(err, -ENAMETOOLONG, "its path is too long");
}

static int
judge(const struct shown *m, size_t n, const struct shown *on, const char *path, struct error *err)
{
	char inside[PATH_BYTES_MAX], name[PATH_BYTES_MAX];
	int r = move(path, on->at, on->root, inside, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		const char *why;

		if (m[i].id != on->id && path_is_beneath(m[i].at, path))
			return error_set(err, -EXDEV, "another mount lies beneath it, at %s",
					 m[i].at);
		if (strcmp(m[i].dev, on->dev) != 0 || !path_is_beneath(inside, m[i].root))
			continue;
		r = move(inside, m[i].root, m[i].at, name, err);
		if (r < 0)
			return r;
		why = profile_mount_host_refused(name);
		if (why != NULL)
			return error_set(err, -EACCES, "it is %s, and %s", name, why);
	}
	return 0;
}

int
source_judge_in(char *text, unsigned long long mount_id, const char *path, struct error *err)
{
	struct shown *mounts = calloc(MOUNTS_MAX, sizeof(*mounts));
	const struct shown *on = NULL;
	size_t n = 0;
	int r;

	if (mounts == NULL)
		return error_set(err, -ENOMEM, "no memory for the list of mounts");
	r = read_mounts(text, mounts, &n, err);
	for (size_t i = 0; i < n; i++)
		if (mounts[i].id == mount_id)
			on = &mounts[i];
	if (r == 0 && (on == NULL || !path_is_beneath(path, on->at)))
		r = error_set(err, -EACCES, "the mount it lies on is not to be seen here");
	if (r == 0)
		r = judge(mounts, n, on, path, err);
	free(mounts);
	return r;
}

int
source_judge(int fd, const char *path, struct error *err)
{
	char *text = malloc(MOUNTINFO_MAX);
	struct statx st;
	int r;

	if (text == NULL)
		return error_set(err, -ENOMEM, "no memory for the list of mounts");
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 ||
	    (st.stx_mask & STATX_MNT_ID) == 0)
		r = error_sys(err, -errno, "find its mount");
	else if (procfs_read(AT_FDCWD, "/proc/self/mountinfo", text, MOUNTINFO_MAX) < 0)
		r = error_set(err, -EIO, "cannot read the list of mounts");
	else
		r = source_judge_in(text, st.stx_mnt_id, path, err);
	free(text);
	return r < 0 ? error_prefix(err, "%s cannot be shown", path) : 0;
}
