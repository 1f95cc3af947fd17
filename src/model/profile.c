/*
 * A profile goes through its canonical bytes: whoever builds one (policy/ from YAML, a test from C)
 * ends with the bytes, and their digest is the profile. The box starts from the bytes alone. Every
 * walk uses PROFILE_FIELDS, so what one side writes the other side reads.
 *
 * The places a mount may not show are judged here as well as in policy/, because the box reads
 * profiles out of grants whose sender it does not trust.
 */
#include "model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"

static const char *const MODES[] = {
	[WORKSPACE_OVERLAY] = "overlay",
	[WORKSPACE_DIRECT] = "direct",
	[WORKSPACE_READ_ONLY] = "read-only",
};
static const char *const RUNTIMES[] = {
	[RUNTIME_NAMESPACES] = "namespaces",
	[RUNTIME_GVISOR] = "gvisor",
	[RUNTIME_MICROVM] = "microvm",
};

/* Never shown: these, what lies beneath them, and what holds them. */
static const char *const HOST_NEVER[] = {
	"/proc",
	"/sys",
	"/dev",
	"/run",
	"/var/run",
	"/boot",
	"/etc/loom",
	"/etc/ssh",
	"/etc/ssl/private",
	"/etc/shadow",
	"/etc/gshadow",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/kubernetes",
	"/etc/krb5.keytab",
	"/var/lib/loom",
	"/var/lib/docker",
	"/var/lib/containerd",
	"/var/lib/containers",
	"/var/lib/kubelet",
	"/var/lib/libvirt",
	"/var/lib/systemd",
	"/var/log",
	"/var/mail",
	"/var/spool",
	"/var/backups",
	"/lost+found",
};
/* A directory of people's homes, and homes. What is hidden in a home is where its keys are. */
static const char *const HOMES[] = {"/home"};
static const char *const HOME[] = {"/root"};
/* As a component anywhere. */
static const char *const NAMES_NEVER[] = {
	".ssh",	       ".gnupg",	  ".aws",	 ".azure",    ".kube",
	".docker",     ".config",	  ".mozilla",	 ".netrc",    ".password-store",
	"docker.sock", "containerd.sock", "podman.sock", "loom.sock", "cli.sock",
};
/* Where nothing may appear: the sandbox has its own there. */
static const char *const AT_NEVER[] = {
	"/workspace", "/proc", "/sys",	"/dev", "/run",	  "/var/run", "/tmp",	 "/etc",
	"/usr",	      "/bin",  "/sbin", "/lib", "/lib32", "/lib64",   "/libx32",
};

const char *
workspace_mode_name(enum workspace_mode m)
{
	return (unsigned int)m < ARRAY_LEN(MODES) ? MODES[m] : "unknown";
}

bool
workspace_mode_find(const char *name, enum workspace_mode *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(MODES); i++) {
		if (strcmp(MODES[i], name) != 0)
			continue;
		*ret = (enum workspace_mode)i;
		return true;
	}
	return false;
}

const char *
runtime_name(enum runtime r)
{
	return (unsigned int)r < ARRAY_LEN(RUNTIMES) ? RUNTIMES[r] : "unknown";
}

static bool
has_component(const char *path, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = path; *p == '/'; p += strcspn(p, "/")) {
		p++;
		if (strcspn(p, "/") == len && memcmp(p, name, len) == 0)
			return true;
	}
	return false;
}

static const char *
home_refused(const char *path)
{
	const char *rest = NULL;

	for (size_t i = 0; i < ARRAY_LEN(HOMES); i++) {
		if (path_is_beneath(HOMES[i], path))
			return "it holds the homes of people";
		if (!path_is_beneath(path, HOMES[i]))
			continue;
		rest = strchr(path + strlen(HOMES[i]) + 1, '/');
		if (rest == NULL)
			return "it is the home of a person";
	}
	for (size_t i = 0; i < ARRAY_LEN(HOME); i++) {
		if (path_is_beneath(HOME[i], path))
			return "it is or holds a home";
		if (path_is_beneath(path, HOME[i]))
			rest = path + strlen(HOME[i]);
	}
	if (rest != NULL && strstr(rest, "/.") != NULL)
		return "it is hidden in a home, where keys and tokens are";
	return NULL;
}

const char *
profile_mount_host_refused(const char *path)
{
	if (strcmp(path, "/") == 0)
		return "it is the whole host";
	for (size_t i = 0; i < ARRAY_LEN(HOST_NEVER); i++) {
		if (path_is_beneath(path, HOST_NEVER[i]))
			return "it lies in a place that no sandbox may see";
		if (path_is_beneath(HOST_NEVER[i], path))
			return "it holds a place that no sandbox may see";
	}
	for (size_t i = 0; i < ARRAY_LEN(NAMES_NEVER); i++)
		if (has_component(path, NAMES_NEVER[i]))
			return "it has the name of a place for keys or sockets";
	return home_refused(path);
}

const char *
profile_mount_at_refused(const char *path)
{
	if (strcmp(path, "/") == 0)
		return "it would hide the whole sandbox";
	for (size_t i = 0; i < ARRAY_LEN(AT_NEVER); i++) {
		if (path_is_beneath(path, AT_NEVER[i]))
			return "the sandbox has its own there";
		if (path_is_beneath(AT_NEVER[i], path))
			return "it would hide something of the sandbox's own";
	}
	return NULL;
}

bool
profile_root_valid(const char *root)
{
	static const char IMAGE[] = "image:", SHA256[] = "@sha256:";
	char name[NAME_MAX_LEN + 1];
	const char *at;
	size_t len;

	if (strcmp(root, "host") == 0)
		return true;
	if (strncmp(root, IMAGE, sizeof(IMAGE) - 1) != 0)
		return false;
	root += sizeof(IMAGE) - 1;
	at = strchr(root, '@');
	if (at == NULL || (size_t)(at - root) >= sizeof(name) ||
	    strncmp(at, SHA256, sizeof(SHA256) - 1) != 0)
		return false;
	len = (size_t)(at - root);
	memcpy(name, root, len);
	name[len] = '\0';
	at += sizeof(SHA256) - 1;
	return name_valid(name) && strlen(at) == 2 * SHA256_LEN &&
	       strspn(at, "0123456789abcdef") == 2 * SHA256_LEN;
}

/* What the table cannot say, for the parts that are acted on. */
static int
profile_check(const struct profile *p, struct error *err)
{
	int r;

	if (p->n_mounts > PROFILE_MOUNTS_MAX || p->n_env > PROFILE_ENV_MAX)
		return error_set(err, -ERANGE, "%u mounts and %u variables", p->n_mounts, p->n_env);
	if (memchr(p->root, '\0', sizeof(p->root)) == NULL || !profile_root_valid(p->root))
		return error_set(err, -EINVAL,
				 "filesystem.root is neither 'host' nor an image "
				 "with its digest");
	if (p->workspace_max > 0 && p->workspace_mode != WORKSPACE_OVERLAY)
		return error_set(err, -EINVAL, "filesystem.workspace.max needs mode: overlay");
	for (uint32_t i = 0; i < p->n_mounts; i++) {
		const struct profile_mount *m = &p->mounts[i];
		const char *why;

		r = path_absolute_check(m->host, err);
		if (r == 0)
			r = path_absolute_check(m->at, err);
		if (r < 0)
			return error_prefix(err, "filesystem.readOnly element %u", i);
		why = profile_mount_host_refused(m->host);
		if (why == NULL)
			why = profile_mount_at_refused(m->at);
		if (why != NULL)
			return error_set(err, -EPERM, "filesystem.readOnly: %s at %s: %s", m->host,
					 m->at, why);
		for (uint32_t j = 0; j < i; j++)
			if (path_is_beneath(m->at, p->mounts[j].at) ||
			    path_is_beneath(p->mounts[j].at, m->at))
				return error_set(err, -EINVAL,
						 "filesystem.readOnly: %s and %s "
						 "overlap",
						 p->mounts[j].at, m->at);
	}
	return 0;
}

void
profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	json_decref(p->json);
	free(p);
}

void
profile_freep(struct profile **p)
{
	profile_free(*p);
	*p = NULL;
}

int
profile_read_canonical(const void *data, size_t len, struct profile **ret, struct error *err)
{
	CLEANUP(profile_freep) struct profile *p = NULL;
	int r;

	if (len > PROFILE_CANONICAL_MAX)
		return error_set(err, -EMSGSIZE, "a profile of %zu bytes; at most %d", len,
				 PROFILE_CANONICAL_MAX);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = json_read_canonical(data, len, &p->json, err);
	if (r == 0)
		r = field_load(&PROFILE_FIELDS, p->json, p, err);
	if (r == 0)
		r = profile_check(p, err);
	if (r < 0)
		return error_prefix(err, "profile");
	sha256_of(data, len, p->digest);
	*ret = TAKE_PTR(p);
	return 0;
}

int
profile_seal(struct profile *p, json_t *extra, struct error *err)
{
	CLEANUP(json_decrefp) json_t *kept = NULL, *json = NULL;
	struct buf b;
	int r;

	kept = extra != NULL ? json_pack("{s:O}", "spec", extra) : json_object();
	if (kept == NULL)
		return error_set(err, -ENOMEM, "out of memory");
	r = profile_check(p, err);
	if (r == 0)
		r = field_store(&PROFILE_FIELDS, p, kept, &json, err);
	/* Read back by the reader's rules: a structure may hold what no document may say. */
	if (r == 0)
		r = field_load(&PROFILE_FIELDS, json, NULL, err);
	if (r < 0)
		return error_prefix(err, "profile");
	buf_init(&b, PROFILE_CANONICAL_MAX);
	r = json_write_canonical(json, &b, err);
	if (r == 0)
		r = buf_check(&b, err);
	if (r == 0) {
		sha256_of(b.data, b.len, p->digest);
		json_decref(p->json);
		p->json = TAKE_PTR(json);
	}
	buf_fini(&b);
	return r;
}

int
profile_write_canonical(const struct profile *p, struct buf *out, struct error *err)
{
	int r;

	if (p->json == NULL)
		return error_set(err, -EINVAL, "a profile that was not sealed");
	r = json_write_canonical(p->json, out, err);
	return r < 0 ? r : buf_check(out, err);
}
