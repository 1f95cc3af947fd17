/*
 * Two kinds. Fixed ones are in a table. Homes come from /etc/passwd, read as a file: no name
 * service is asked by a process of root's. The places that exist are opened once and kept as device
 * and inode, each with the chain of directories above it for the question of what contains it; the
 * table is made anew when /etc/passwd changed or after a minute. What lies in a home (keys,
 * credentials) is in it too, and is looked up once more when a workspace lies in that home, since
 * it can appear any time.
 *
 * A workspace is then judged by walking ".." from its descriptor to the root, and, because a part
 * of a place that is mounted elsewhere is not found so, by its path within its file system. For
 * that, mounts beneath a place that show what nothing else does are places as well.
 */
#include "box/places.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "box/mount_table.h"
#include "box/own.h"
#include "box/places_table.h"
#include "box/where.h"

#define PLACES_MAX 65536
#define AUTOFS_MAGIC 0x0187
#define PLACES_REFRESH_MS 60000
#define WHY_MAX 256

/* clang-format off */
static const struct fixed {
	const char *path;
	unsigned int rules;
} fixed_places[] = {
	{"/", PLACE_ITSELF},
	{"/bin", PLACE_ALL}, {"/sbin", PLACE_ALL},
	{"/lib", PLACE_ALL}, {"/lib32", PLACE_ALL}, {"/lib64", PLACE_ALL}, {"/libx32", PLACE_ALL},
	{"/usr", PLACE_ALL},
	{"/usr/src", PLACE_ITSELF | PLACE_FINE}, {"/usr/local/src", PLACE_ITSELF | PLACE_FINE},
	{"/etc", PLACE_ALL}, {"/boot", PLACE_ALL}, {"/efi", PLACE_ALL},
	{"/proc", PLACE_ALL}, {"/sys", PLACE_ALL}, {"/dev", PLACE_ALL}, {"/run", PLACE_ALL},
	{"/nix", PLACE_ALL}, {"/gnu", PLACE_ALL}, {"/snap", PLACE_ALL},
	{"/tmp", PLACE_ITSELF}, {"/home", PLACE_ITSELF | PLACE_CONTAINS},
	/* Of /var what programs and people put there by themselves is fine: tmp, www, opt, local … */
	{"/var", PLACE_ITSELF}, {"/var/tmp", PLACE_ITSELF},
	{"/var/lib", PLACE_ALL}, {"/var/cache", PLACE_ALL}, {"/var/log", PLACE_ALL},
	{"/var/spool", PLACE_ALL}, {"/var/mail", PLACE_ALL}, {"/var/backups", PLACE_ALL},
	{"/var/run", PLACE_ALL}, {"/var/lock", PLACE_ALL}, {"/var/db", PLACE_ALL},
	/* Build services keep their checkouts there. */
	{"/var/lib/jenkins", PLACE_ITSELF | PLACE_FINE},
	{"/var/lib/gitlab-runner", PLACE_ITSELF | PLACE_FINE},
	{"/var/lib/buildkite-agent", PLACE_ITSELF | PLACE_FINE},
};

/* Beneath a home: keys, credentials, browsers, settings that run, the state of Loom. */
static const char *const home_secrets[] = {
	".ssh", ".gnupg", ".pki", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".config", ".mozilla",
	".thunderbird", ".password-store", ".vault-token", ".local/share/keyrings", ".local/share/loom",
	".local/state", ".cache/loom", ".cargo", ".npm", ".terraform.d", ".oci", ".claude", ".codex",
	".cursor", ".vscode", ".vscode-server", "snap", ".var",
};
/* clang-format on */

static struct places known;

static char why_text[WHY_MAX];

static int
container_add(struct places *p, const struct object *at, size_t place)
{
	struct container *above = realloc(p->above, (p->n_above + 1) * sizeof(*above));

	if (above == NULL)
		return -ENOMEM;
	p->above = above;
	above[p->n_above++] = (struct container){.at = *at, .place = place};
	return 0;
}

/* The root contains everything and has a rule of its own. */
static int
containers_add(struct places *p, int fd, size_t place, struct error *err)
{
	struct object *chain = malloc(WHERE_LEVELS_MAX * sizeof(*chain));
	int n, r = 0;

	if (chain == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	n = where_chain(fd, chain, err);
	for (int i = 1; r == 0 && i < n - 1; i++)
		r = container_add(p, &chain[i], place);
	free(chain);
	return n < 0 ? n : r < 0 ? error_set(err, r, "out of memory") : 0;
}

int
place_append(struct places *p, const struct object *at, struct where *where, const char *name,
	     unsigned int rules, struct error *err)
{
	struct place *places;

	if (p->n >= PLACES_MAX)
		return error_set(err, -E2BIG, "too many homes in /etc/passwd");
	places = realloc(p->places, (p->n + 1) * sizeof(*places));
	if (places == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	p->places = places;
	places[p->n] = (struct place){.at = *at, .where = *where, .rules = rules};
	where->inside = NULL;
	(void)snprintf(places[p->n].name, sizeof(places[p->n].name), "%s", name);
	p->n++;
	return 0;
}

static int
place_add(struct places *p, int fd, const char *name, unsigned int rules, struct error *err)
{
	CLEANUP(where_fini) struct where where = {0};
	struct object at;
	struct stat st;
	int r;

	if (fstat(fd, &st) != 0)
		return error_sys(err, -errno, "fstat %s", name);
	at = object_of(&st);
	r = where_find(fd, &where, err);
	/* Hidden beneath a mount: it is an object only. */
	return r < 0 && r != -EXDEV ? r : place_append(p, &at, &where, name, rules, err);
}

/*
 * The directory at PATH; not there (or not reachable) is not forbidden. O_PATH, so that nothing is
 * mounted for the look. *RET_FD (may be NULL) is it, or -1.
 */
static int
place_add_path(struct places *p, const char *path, const char *name, unsigned int rules,
	       int *ret_fd, struct error *err)
{
	CLEANUP(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (ret_fd != NULL)
		*ret_fd = -1;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
		return 0;
	if (fd < 0)
		return error_sys(err, -errno, "open %s", path);
	r = place_add(p, fd, name, rules, err);
	if (r == 0 && (rules & PLACE_CONTAINS) != 0)
		r = containers_add(p, fd, p->n - 1, err);
	if (r == 0 && ret_fd != NULL)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/* Homes of people and of root. Those of services are mostly no homes (/bin, /var/www,
 * /nonexistent). */
static bool
is_home(const struct passwd *pw)
{
	return (pw->pw_uid == 0 || pw->pw_uid >= 1000) && pw->pw_uid != 65534 &&
	       path_absolute_check(pw->pw_dir, NULL) == 0 && strcmp(pw->pw_dir, "/") != 0;
}

/* What is in a home by now, as objects: a bind mount of it is it as well. */
static int
secrets_add(struct places *p, int home, const char *whose, struct error *err)
{
	struct statfs sfs;
	int r = 0;

	/* Looking into a home that is not mounted yet would mount it. */
	if (fstatfs(home, &sfs) != 0 || sfs.f_type == AUTOFS_MAGIC)
		return 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(home_secrets); i++) {
		CLEANUP(fd_closep) int fd = openat(home, home_secrets[i], O_PATH | O_CLOEXEC);
		char name[96];

		if (fd < 0)
			continue;
		(void)snprintf(name, sizeof(name), "%s in %.60s", home_secrets[i], whose);
		r = place_add(p, fd, name, PLACE_ITSELF | PLACE_BENEATH, err);
	}
	return r;
}

static int
home_add(struct places *p, const char *path, const char *user, struct error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char whose[96];
	int r;

	(void)snprintf(whose, sizeof(whose), "the home of %.64s", user);
	r = place_add_path(p, path, whose, PLACE_ITSELF | PLACE_CONTAINS | PLACE_HOME, &fd, err);
	return r < 0 || fd < 0 ? r : secrets_add(p, fd, whose, err);
}

static int
homes_add(struct places *p, struct error *err)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw;
	int r = 0;

	/* Without it there are no people. Root's home is one all the same. */
	if (f == NULL)
		return home_add(p, "/root", "root", err);
	while (r == 0 && (pw = fgetpwent(f)) != NULL)
		if (is_home(pw))
			r = home_add(p, pw->pw_dir, pw->pw_name, err);
	(void)fclose(f);
	return r;
}

static void
places_fini(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		where_fini(&p->places[i].where);
	free(p->places);
	free(p->above);
	*p = (struct places){0};
}

static int
places_make(struct places *p, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fixed_places); i++)
		r = place_add_path(p, fixed_places[i].path, fixed_places[i].path,
				   fixed_places[i].rules, NULL, err);
	if (r == 0)
		r = homes_add(p, err);
	return r == 0 ? places_add_mounts(p, err) : r;
}

static int
places_refresh(struct error *err)
{
	CLEANUP(places_fini) struct places fresh = {0};
	const struct mount_line *lines;
	struct stat st = {0};
	uint64_t now = clock_boot_ms(), generation;
	size_t n;
	int r = mount_table_lines(&lines, &n, &generation, err);

	if (r < 0)
		return r;
	(void)stat("/etc/passwd", &st);
	if (known.made && now - known.made_ms < PLACES_REFRESH_MS && known.mounts == generation &&
	    known.passwd.tv_sec == st.st_mtim.tv_sec && known.passwd.tv_nsec == st.st_mtim.tv_nsec)
		return 0;
	r = places_make(&fresh, err);
	if (r < 0)
		return r;
	fresh.made = true;
	fresh.made_ms = now;
	fresh.passwd = st.st_mtim;
	fresh.mounts = generation;
	places_fini(&known);
	known = fresh;
	fresh = (struct places){0};
	return 0;
}

void
places_forget(void)
{
	places_fini(&known);
}

static const char *
why(const char *how, const char *what, const char *whose)
{
	(void)snprintf(why_text, sizeof(why_text), "%s %s%s%s", how, what,
		       whose != NULL ? " in " : "", whose != NULL ? whose : "");
	return why_text;
}

/* Is the workspace a directory between HOME and SECRET, a path of several components? */
static bool
contains_secret(int home, const char *secret, const struct object *workspace)
{
	char above[PATH_NAME_MAX];

	for (const char *slash = strchr(secret, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		struct stat st;
		struct object at;

		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - secret), secret);
		if (fstatat(home, above, &st, 0) != 0)
			return false;
		at = object_of(&st);
		if (object_is(workspace, &at))
			return true;
	}
	return false;
}

/* Does the chain go through one of the secrets of HOME, which is chain[LEVEL]? */
static const char *
judge_home(int home, const struct place *p, const struct object *chain, int level)
{
	for (size_t i = 0; i < ARRAY_LEN(home_secrets); i++) {
		struct stat st;
		struct object at;

		if (contains_secret(home, home_secrets[i], &chain[0]))
			return why("contains", home_secrets[i], p->name);
		if (fstatat(home, home_secrets[i], &st, 0) != 0)
			continue;
		at = object_of(&st);
		for (int k = 0; k < level; k++)
			if (object_is(&chain[k], &at))
				return why(k == 0 ? "is" : "lies beneath", home_secrets[i],
					   p->name);
	}
	return NULL;
}

/* What the table says of chain[LEVEL], reached as CUR. *FINE: rules about being beneath are off. */
static const char *
judge_level(int cur, const struct object *chain, int level, bool *fine)
{
	for (size_t i = 0; i < known.n; i++) {
		const struct place *p = &known.places[i];
		const char *found = NULL;

		if (!object_is(&p->at, &chain[level]))
			continue;
		if (level == 0 && (p->rules & PLACE_ITSELF) != 0)
			return why("is", p->name, NULL);
		if (level > 0 && (p->rules & PLACE_BENEATH) != 0 && !*fine)
			return why("lies beneath", p->name, NULL);
		if ((p->rules & PLACE_HOME) != 0)
			found = judge_home(cur, p, chain, level);
		if (found != NULL)
			return found;
		*fine = *fine || (p->rules & PLACE_FINE) != 0;
	}
	return NULL;
}

static const char *
judge_contains(const struct object *at)
{
	for (size_t i = 0; i < known.n_above; i++)
		if (object_is(&known.above[i].at, at))
			return why("contains", known.places[known.above[i].place].name, NULL);
	return NULL;
}

/* Go up from FD, filling CHAIN and judging each level. */
static int
judge_walk(int fd, struct object *chain, int *ret_n, const char **ret_why, struct error *err)
{
	CLEANUP(fd_closep) int cur = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool fine = false;
	struct stat st;
	int n = 0;

	*ret_why = NULL;
	for (;;) {
		int up;

		if (cur < 0 || fstat(cur, &st) != 0)
			return error_sys(err, -errno, "look at the directories above it");
		if (n > 0 && st.st_dev == chain[n - 1].dev && st.st_ino == chain[n - 1].ino)
			break;
		if (n == WHERE_LEVELS_MAX)
			return error_set(err, -ELOOP, "too many directories above it");
		chain[n] = object_of(&st);
		*ret_why = judge_level(cur, chain, n++, &fine);
		if (*ret_why != NULL)
			break;
		up = openat(cur, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(cur);
		cur = up;
	}
	*ret_n = n;
	return 0;
}

/* REST, beneath a home: is it one of its secrets, in one, or above one? */
static const char *
judge_rest(const char *rest, const struct place *home)
{
	char path[PATH_BYTES_MAX];

	for (size_t i = 0; i < ARRAY_LEN(home_secrets); i++) {
		(void)snprintf(path, sizeof(path), "/%s", home_secrets[i]);
		if (path_is_beneath(rest, path))
			return why(rest[strlen(path)] == '\0' ? "is" : "lies beneath",
				   home_secrets[i], home->name);
		if (path_is_beneath(path, rest))
			return why("contains", home_secrets[i], home->name);
	}
	return NULL;
}

/* The rules again, by where W lies in its file system. */
static const char *
judge_where(const struct where *w)
{
	size_t fine = 0;

	for (size_t i = 0; i < known.n; i++) {
		const struct place *p = &known.places[i];

		if ((p->rules & PLACE_FINE) != 0 && where_beneath(w, &p->where) &&
		    !where_same(w, &p->where) && strlen(p->where.inside) > fine)
			fine = strlen(p->where.inside);
	}
	for (size_t i = 0; i < known.n; i++) {
		const struct place *p = &known.places[i];
		bool beneath = where_beneath(w, &p->where), same = where_same(w, &p->where);
		const char *found = NULL;

		if (same && (p->rules & PLACE_ITSELF) != 0)
			return why("is", p->name, NULL);
		if (beneath && !same && (p->rules & PLACE_BENEATH) != 0 &&
		    strlen(p->where.inside) >= fine)
			return why("lies beneath", p->name, NULL);
		if (!same && (p->rules & PLACE_CONTAINS) != 0 && where_beneath(&p->where, w))
			return why("contains", p->name, NULL);
		if (beneath && !same && (p->rules & PLACE_HOME) != 0)
			found = judge_rest(p->where.inside[1] == '\0'
						   ? w->inside
						   : w->inside + strlen(p->where.inside),
					   p);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static const char *
why_own(enum own_answer answer)
{
	static const char *const how[] = {
		[OWN_IS] = "is", [OWN_BENEATH] = "lies beneath", [OWN_CONTAINS] = "contains"};

	return answer == OWN_APART ? NULL : why(how[answer], "a directory of Loom's own", NULL);
}

/* HOST: all rules, else those for Loom's own only. */
static int
judge(int fd, bool host, const int *ours, size_t n_ours, struct object *chain, const char **ret_why,
      struct error *err)
{
	CLEANUP(where_fini) struct where w = {0};
	enum own_answer answer = OWN_APART;
	const char *found = NULL;
	int n = 0, r;

	r = host ? judge_walk(fd, chain, &n, &found, err) : where_chain(fd, chain, err);
	if (r >= 0 && !host)
		n = r;
	if (r >= 0 && found == NULL && host)
		found = judge_contains(&chain[0]);
	/* What cannot be told is no workspace either, but for a reason that examine knows. */
	if (r >= 0 && found == NULL)
		r = where_find(fd, &w, err);
	if (r == -EXDEV && host)
		r = 0;
	if (r >= 0 && found == NULL && host)
		found = judge_where(&w);
	if (r >= 0 && found == NULL)
		r = own_judge(chain, n, &w, ours, n_ours, &answer, err);
	if (r < 0)
		return r;
	*ret_why = found != NULL ? found : why_own(answer);
	return 0;
}

static int
judge_alone(int fd, bool host, const int *ours, size_t n_ours, const char **ret_why,
	    struct error *err)
{
	struct object *chain = malloc(WHERE_LEVELS_MAX * sizeof(*chain));
	int r;

	if (chain == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = judge(fd, host, ours, n_ours, chain, ret_why, err);
	free(chain);
	return r;
}

int
places_judge(int fd, const int *ours, size_t n_ours, const char **ret_why, struct error *err)
{
	int r = places_refresh(err);

	return r < 0 ? r : judge_alone(fd, true, ours, n_ours, ret_why, err);
}

int
places_judge_own(int fd, const char **ret_why, struct error *err)
{
	return judge_alone(fd, false, NULL, 0, ret_why, err);
}
