/*
 * A line is "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAGS…] - TYPE SOURCE SUPER". Blanks, tabs,
 * newlines and backslashes in ROOT and POINT are three octal digits after a backslash. A line that
 * does not read like that is an error, not a line to skip: what it would have said is unknown.
 */
#include "box/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#define MOUNTINFO_MAX (16u << 20)

/* The next word of the line, NUL-terminated in place; NULL at its end. */
static char *
word(char **line)
{
	char *p = *line, *end;

	if (p == NULL || *p == '\0')
		return NULL;
	end = strchr(p, ' ');
	*line = end != NULL ? end + 1 : NULL;
	if (end != NULL)
		*end = '\0';
	return p;
}

static void
unescape(char *s)
{
	char *out = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

/* A copy of the table's text, cut into lines. */
struct lines {
	char *text;
	struct mount_line *lines;
	size_t n;
};

static void
lines_fini(struct lines *l)
{
	free(l->text);
	free(l->lines);
	*l = (struct lines){0};
}

static int
parse_line(char *line, struct mount_line *ret)
{
	char *id = word(&line), *parent = word(&line), *device = word(&line), *root = word(&line);
	char *point = word(&line), *options = word(&line), *w = word(&line), *type;
	uint64_t number;

	while (w != NULL && strcmp(w, "-") != 0)
		w = word(&line);
	type = w != NULL ? word(&line) : NULL;
	if (parent == NULL || device == NULL || root == NULL || point == NULL || options == NULL ||
	    type == NULL || decimal_parse(id, UINT64_MAX, &number) < 0)
		return -EBADMSG;
	unescape(root);
	unescape(point);
	*ret = (struct mount_line){
		.id = number, .dev = device, .root = root, .point = point, .type = type};
	return 0;
}

static int
parse(const char *text, struct lines *ret, struct error *err)
{
	CLEANUP(lines_fini) struct lines l = {.text = strdup(text)};
	char *line = l.text;
	size_t n = 1;
	int r = 0;

	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		n++;
	l.lines = calloc(n, sizeof(*l.lines));
	if (l.text == NULL || l.lines == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	while (r == 0 && line != NULL && *line != '\0') {
		char *end = strchr(line, '\n');

		if (end != NULL)
			*end = '\0';
		r = parse_line(line, &l.lines[l.n++]);
		line = end != NULL ? end + 1 : NULL;
	}
	if (r < 0)
		return error_set(err, r, "the table of mounts has a line that cannot be read");
	*ret = l;
	l = (struct lines){0};
	return 0;
}

static void
look(const struct lines *l, uint64_t mount_id, const char *path, struct mount_facts *ret)
{
	struct mount_facts f = {0};

	for (size_t i = 0; i < l->n; i++) {
		const struct mount_line *m = &l->lines[i];

		if (m->id == mount_id) {
			f.found = true;
			(void)snprintf(f.fs, sizeof(f.fs), "%s", m->type);
		}
		/* A mount on the directory itself is the one it lies on, or hides it (found by
		 * reopening). */
		if (!f.beneath && strcmp(m->point, path) != 0 && path_is_beneath(m->point, path)) {
			f.beneath = true;
			(void)snprintf(f.beneath_at, sizeof(f.beneath_at), "%s", m->point);
		}
	}
	*ret = f;
}

int
mount_table_look_in(const char *text, uint64_t mount_id, const char *path, struct mount_facts *ret,
		    struct error *err)
{
	CLEANUP(lines_fini) struct lines l = {0};
	int r = parse(text, &l, err);

	if (r == 0)
		look(&l, mount_id, path, ret);
	return r;
}

/* The table as it was read last, for as long as the kernel says that it has not changed. */
static struct {
	int fd;		 /* -1: none yet */
	ino_t namespace; /* the mount namespace it is of */
	struct buf text;
	struct lines lines;
	uint64_t generation;
} table = {.fd = -1};

static int
table_open(ino_t namespace, struct error *err)
{
	fd_closep(&table.fd);
	buf_fini(&table.text);
	lines_fini(&table.lines);
	table.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (table.fd < 0)
		return error_sys(err, -errno, "open the table of mounts");
	table.namespace = namespace;
	buf_init(&table.text, MOUNTINFO_MAX);
	return 0;
}

/*
 * The kernel marks the open file when a mount of its namespace comes, goes or changes
 * (proc_pid_mounts(5)). Asked before reading, so that a change in between is seen at the next time.
 */
static int
table_refresh(struct error *err)
{
	struct pollfd p = {.events = POLLPRI};
	struct stat st;
	int r = 0;

	if (stat("/proc/self/ns/mnt", &st) != 0)
		return error_sys(err, -errno, "look at the mount namespace");
	if (table.fd < 0 || table.namespace != st.st_ino)
		r = table_open(st.st_ino, err);
	if (r < 0)
		return r;
	p.fd = table.fd;
	if (poll(&p, 1, 0) < 0)
		return error_sys(err, -errno, "ask for changes of the table of mounts");
	if (p.revents == 0 && table.lines.n > 0)
		return 0;
	if (lseek(table.fd, 0, SEEK_SET) != 0)
		return error_sys(err, -errno, "read the table of mounts");
	buf_reset(&table.text);
	lines_fini(&table.lines);
	table.generation++;
	r = fd_read_to_end(table.fd, &table.text, err);
	if (r == 0)
		r = parse(table.text.data, &table.lines, err);
	if (r < 0) {
		fd_closep(&table.fd);
		return error_prefix(err, "the table of mounts");
	}
	return 0;
}

int
mount_table_look(uint64_t mount_id, const char *path, struct mount_facts *ret, struct error *err)
{
	int r = table_refresh(err);

	if (r == 0)
		look(&table.lines, mount_id, path, ret);
	return r;
}

int
mount_table_lines(const struct mount_line **ret, size_t *ret_n, uint64_t *ret_generation,
		  struct error *err)
{
	int r = table_refresh(err);

	if (r < 0)
		return r;
	*ret = table.lines.lines;
	*ret_n = table.lines.n;
	if (ret_generation != NULL)
		*ret_generation = table.generation;
	return 0;
}

int
mount_table_find(uint64_t mount_id, const struct mount_line **ret, struct error *err)
{
	int r = table_refresh(err);

	if (r < 0)
		return r;
	*ret = NULL;
	for (size_t i = 0; i < table.lines.n && *ret == NULL; i++)
		if (table.lines.lines[i].id == mount_id)
			*ret = &table.lines.lines[i];
	return 0;
}
