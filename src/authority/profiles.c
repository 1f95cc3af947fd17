/*
 * A file is judged on its descriptor, after it was opened without following a link, and read whole
 * before anything in it is believed. It is compared with what was read before by device, inode,
 * size and both of its times, so that the usual case is an open, an fstat and a close.
 */
#include "authority/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

#define FOLDER "profiles"
#define SUFFIX ".yaml"
#define FILE_MAX PROFILE_CANONICAL_MAX

/* ---- slots */

struct slot *
slot_ref(struct slot *s)
{
	s->refs++;
	return s;
}

void
slot_unref(struct slot *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	policy_free(s->policy);
	fd_close(s->fd);
	free(s);
}

void
slot_unrefp(struct slot **s)
{
	slot_unref(*s);
	*s = NULL;
}

/* POLICY is owned by the slot on success. */
static int
slot_new(struct policy *policy, struct slot **ret, struct error *err)
{
	CLEANUP(slot_unrefp) struct slot *s = NULL;
	CLEANUP(buf_fini) struct buf canonical = {0};
	int r;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return error_set(err, -ENOMEM, "out of memory for a profile");
	s->refs = 1;
	s->fd = -1;
	s->profile = policy_profile(policy);
	(void)snprintf(s->name, sizeof(s->name), "%s", s->profile->name);
	hex_encode(s->profile->digest, sizeof(s->profile->digest), s->hex);
	buf_init(&canonical, PROFILE_CANONICAL_MAX);
	r = profile_write_canonical(s->profile, &canonical, err);
	if (r < 0)
		return r;
	s->fd = fd_memfd_sealed("loom-profile", canonical.data, canonical.len, err);
	if (s->fd < 0)
		return s->fd;
	s->policy = policy;
	*ret = TAKE_PTR(s);
	return 0;
}

int
slot_of_canonical(const void *data, size_t len, struct slot **ret, struct error *err)
{
	struct policy *policy = NULL;
	int r;

	r = policy_load_canonical(data, len, &policy, err);
	if (r < 0)
		return r;
	r = slot_new(policy, ret, err);
	if (r < 0)
		policy_free(policy);
	return r;
}

static struct slot **
slot_place(struct profiles *p, const char *name)
{
	struct slot **at = &p->slots;

	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

/* In place of the one that has its name; whoever still uses that one keeps it. */
static void
slot_put(struct profiles *p, struct slot *s)
{
	struct slot **at = slot_place(p, s->name);
	struct slot *old = *at;

	s->next = old != NULL ? old->next : NULL;
	*at = s;
	slot_unref(old);
}

/* ---- files */

/* May nobody but its owner, who is the user or root, have written it? */
static int
file_check(const struct profiles *p, const struct stat *st, const char *what, struct error *err)
{
	mode_t others = st->st_mode & 022;

	if (st->st_uid != 0 && st->st_uid != p->uid)
		return error_set(err, -EPERM,
				 "%s in the configuration directory belongs to user %lu; only what "
				 "you or root own is read",
				 what, (unsigned long)st->st_uid);
	if (p->own_group != (gid_t)-1 && st->st_gid == p->own_group)
		others &= ~(mode_t)020;
	if (others != 0)
		return error_set(err, -EPERM,
				 "%s in the configuration directory may be written by others (mode "
				 "%04o); mend with: chmod go-w %s",
				 what, (unsigned int)st->st_mode & 07777, what);
	return 0;
}

static int
folder_open(const struct profiles *p, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	struct stat st;
	int r;

	if (p->config < 0)
		return error_set(err, -ENOENT, "no configuration directory was there at the start");
	dir = openat(p->config, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) != 0)
		return error_sys(err, -errno, FOLDER "/ in the configuration directory");
	r = file_check(p, &st, FOLDER, err);
	return r < 0 ? r : TAKE_FD(dir);
}

static bool
slot_is_file(const struct slot *s, const struct stat *st)
{
	return s->dev == st->st_dev && s->ino == st->st_ino && s->size == st->st_size &&
	       s->modified.tv_sec == st->st_mtim.tv_sec &&
	       s->modified.tv_nsec == st->st_mtim.tv_nsec &&
	       s->changed.tv_sec == st->st_ctim.tv_sec && s->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static int
file_parse(struct profiles *p, int fd, const char *file, const char *name, const struct stat *st,
	   struct slot **ret, struct error *err)
{
	CLEANUP(policy_freep) struct policy *policy = NULL;
	CLEANUP(buf_fini) struct buf text = {0};
	struct slot *s = NULL;
	int r;

	buf_init(&text, FILE_MAX);
	r = fd_read_to_end(fd, &text, err);
	if (r < 0)
		return error_prefix(err, "%s", file);
	r = policy_load(&(struct policy_source){.file = file,
						.data = text.data,
						.len = text.len,
						.places = p->places,
						.n_places = p->n_places},
			&policy, err);
	if (r < 0)
		return r;
	if (strcmp(policy_profile(policy)->name, name) != 0)
		return error_set(err, -EINVAL,
				 "%s: the profile in it is called %s; name the file so", file,
				 policy_profile(policy)->name);
	r = slot_new(policy, &s, err);
	if (r < 0)
		return r;
	policy = NULL;
	s->dev = st->st_dev;
	s->ino = st->st_ino;
	s->size = st->st_size;
	s->modified = st->st_mtim;
	s->changed = st->st_ctim;
	*ret = s;
	return 0;
}

/* The profile NAME of the folder DIR, from what was read before or anew. Borrowed. */
static int
file_find(struct profiles *p, int dir, const char *name, struct slot **ret, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char file[NAME_MAX_LEN + sizeof(SUFFIX) + 1], shown[sizeof(file) + sizeof(FOLDER) + 1];
	struct slot *s = *slot_place(p, name);
	struct stat st;
	int r;

	(void)snprintf(file, sizeof(file), "%s" SUFFIX, name);
	(void)snprintf(shown, sizeof(shown), FOLDER "/%s", file);
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_sys(err, -errno, "%s", shown);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s is no regular file", shown);
	r = file_check(p, &st, shown, err);
	if (r < 0)
		return r;
	if (s == NULL || !slot_is_file(s, &st)) {
		r = file_parse(p, fd, shown, name, &st, &s, err);
		if (r < 0)
			return r;
		slot_put(p, s);
	}
	*ret = s;
	return 0;
}

/* ---- all of them */

int
profiles_init(struct profiles *p, int config, uint32_t uid, gid_t own_group, struct error *err)
{
	*p = (struct profiles){.config = config, .uid = uid, .own_group = own_group};
	for (size_t i = 0; i < policy_shipped_count(); i++) {
		struct policy *policy = NULL;
		struct slot *s = NULL;
		int r;

		r = policy_shipped(i, &policy, err);
		if (r < 0)
			return error_prefix(err, "shipped profile %zu", i);
		r = slot_new(policy, &s, err);
		if (r < 0) {
			policy_free(policy);
			return r;
		}
		slot_put(p, s);
	}
	return 0;
}

void
profiles_fini(struct profiles *p)
{
	while (p->slots != NULL) {
		struct slot *s = p->slots;

		p->slots = s->next;
		slot_unref(s);
	}
	fd_closep(&p->config);
}

int
profiles_find(struct profiles *p, const char *name, struct slot **ret, struct error *err)
{
	CLEANUP(fd_closep) int dir = -1;
	struct slot *s = NULL;
	int r;

	if (name[0] == '\0')
		name = PROFILE_DEFAULT;
	if (!name_valid(name))
		return error_set(err, -EINVAL, "that is no name of a profile");
	if (policy_is_shipped(name)) {
		s = *slot_place(p, name);
		if (s == NULL)
			return error_set(err, -ENOENT, "no profile %s", name);
		*ret = slot_ref(s);
		return 0;
	}
	dir = folder_open(p, err);
	if (dir < 0)
		return dir;
	r = file_find(p, dir, name, &s, err);
	if (r < 0)
		return r;
	*ret = slot_ref(s);
	return 0;
}

const char *
profiles_name_of(const struct profiles *p, const uint8_t digest[32])
{
	for (const struct slot *s = p->slots; s != NULL; s = s->next)
		if (memcmp(s->profile->digest, digest, 32) == 0)
			return s->name;
	return NULL;
}

static int
list_add(json_t *list, const struct slot *s)
{
	return json_array_append_new(list,
				     json_pack("{s:s, s:s, s:s, s:b}", "name", s->name, "digest",
					       s->hex, "description", s->profile->description,
					       "shipped", s->profile->shipped));
}

static int
list_add_error(json_t *list, const char *name, const struct error *err)
{
	return json_array_append_new(list, json_pack("{s:o, s:o, s:b}", "name",
						     json_escaped(name, strlen(name)), "error",
						     json_escaped(err->text, strlen(err->text)),
						     "shipped", false));
}

static int
names_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
names_filter(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       strcmp(d->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int
list_add_file(struct profiles *p, json_t *list, int dir, const char *file)
{
	char name[NAME_MAX_LEN + 1];
	size_t len = strlen(file) - strlen(SUFFIX);
	struct error err = {0};
	struct slot *s = NULL;

	if (len > NAME_MAX_LEN) {
		(void)error_set(&err, -EINVAL, "the name is too long");
		return list_add_error(list, file, &err);
	}
	memcpy(name, file, len);
	name[len] = '\0';
	if (!name_valid(name))
		(void)error_set(&err, -EINVAL, "that is no name of a profile");
	else if (policy_is_shipped(name))
		(void)error_set(&err, -EEXIST,
				"%s is the name of a shipped profile, which none "
				"shadows; name yours otherwise",
				name);
	else
		(void)(file_find(p, dir, name, &s, &err) == 0);
	return s != NULL ? list_add(list, s) : list_add_error(list, name, &err);
}

static int
list_add_folder(struct profiles *p, json_t *list)
{
	CLEANUP(fd_closep) int dir = -1;
	struct dirent **names = NULL;
	struct error err = {0};
	int n, r = 0;

	dir = folder_open(p, &err);
	if (dir == -ENOENT)
		return 0;
	if (dir < 0)
		return list_add_error(list, FOLDER "/", &err);
	n = scandirat(dir, ".", &names, names_filter, names_compare);
	if (n < 0) {
		(void)error_sys(&err, -errno, "read " FOLDER "/");
		return list_add_error(list, FOLDER "/", &err);
	}
	for (int i = 0; i < n; i++) {
		if (r == 0 && i < PROFILES_MAX)
			r = list_add_file(p, list, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return r;
}

json_t *
profiles_list(struct profiles *p)
{
	CLEANUP(json_decrefp) json_t *list = json_array();
	int r = list != NULL ? 0 : -1;

	for (size_t i = 0; r == 0 && i < policy_shipped_count(); i++) {
		const struct slot *s = *slot_place(p, policy_shipped_name(i));

		if (s != NULL)
			r = list_add(list, s);
	}
	if (r == 0)
		r = list_add_folder(p, list);
	return r == 0 ? TAKE_PTR(list) : NULL;
}
