/*
 * The schema of kind Profile, read from the inside out: an object's members stand above the object.
 * What has no place in struct profile is checked, digested and kept, and acted on by nobody here.
 */
#include "model/profile.h"

#include <stddef.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define NOWHERE .offset = FIELD_NOWHERE
#define IN(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define AT(member) IN(struct profile, member)
#define MANY(member, count)                                                                        \
	.offset = offsetof(struct profile, member),                                                \
	.size = sizeof(((struct profile *)0)->member[0]),                                          \
	.count_offset = offsetof(struct profile, count)
#define LAST                                                                                       \
	{                                                                                          \
		.key = NULL                                                                        \
	}
#define ID_MAX 48 /* bytes of a rule's id: it has to fit a verdict */

/* Tables read best one field a line. */
/* clang-format off */

static const char *const W_CAPABILITY[] = {
#define CAPABILITY(constant, name, implemented) name,
#include "model/capability.def"
#undef CAPABILITY
	NULL,
};
static const char *const W_REASON[] = {
#define REASON(constant, code, sentence) code,
#include "model/reason.def"
#undef REASON
	NULL,
};
static const char *const W_EFFECT[] = {"deny", "escalate", "allow", NULL};
static const char *const W_API_VERSION[] = {"loom/v1", NULL};
static const char *const W_KIND[] = {"Profile", NULL};
static const char *const W_RUNTIME[] = {"namespaces", "gvisor", "microvm", NULL};
static const char *const W_MODE[] = {"overlay", "direct", "read-only", NULL};
static const char *const W_WORKSPACE_AT[] = {"/workspace", "host", NULL};
static const char *const W_DEBUG[] = {"none", "ptrace", NULL};
static const char *const W_TLS[] = {"inspect", "passthrough", NULL};
static const char *const W_FETCH[] = {"deny", "allow", NULL};

/* Elements of the lists below. */
static const struct field E_HOST[] = {
	{"host", "A host name in lower case; a leading * stands for one label, ** for one or more.",
	 FIELD_TEXT, FORMAT_HOSTS, .min = 1, .max = 253, NOWHERE}, LAST};
static const struct field E_PORT[] = {
	{"port", "A TCP port.", FIELD_INT, .min = 1, .max = 65535, NOWHERE}, LAST};
static const struct field E_METHOD[] = {
	{"method", "An HTTP method in upper case.", FIELD_TEXT, FORMAT_METHOD, .min = 1, .max = 32,
	 NOWHERE}, LAST};
static const struct field E_URL_GLOB[] = {
	{"path", "A glob over the path of a URL: * within one segment, ** across.", FIELD_TEXT,
	 FORMAT_URL_GLOB, .min = 1, .max = 512, NOWHERE}, LAST};
static const struct field E_TREE_GLOB[] = {
	{"path", "A glob over relative paths: * within one segment, ** across.", FIELD_TEXT,
	 FORMAT_TREE_GLOB, .min = 1, .max = 512, NOWHERE}, LAST};
static const struct field E_ANY_GLOB[] = {
	{"path", "A glob over the path of a URL (net.http) or in the workspace (workspace.accept).",
	 FIELD_TEXT, .min = 1, .max = 512, NOWHERE}, LAST};
static const struct field E_REF[] = {
	{"ref", "A glob over refs, beneath refs/heads/.", FIELD_TEXT, FORMAT_REF_GLOB, .min = 1,
	 .max = 255, NOWHERE}, LAST};
static const struct field E_REPOSITORY[] = {
	{"repository", "https://HOST/PATH.", FIELD_TEXT, FORMAT_REPOSITORY, .min = 1, .max = 512,
	 NOWHERE}, LAST};
static const struct field E_CIDR[] = {
	{"network", "An address range such as 10.20.0.0/16.", FIELD_TEXT, FORMAT_CIDR, .min = 1,
	 .max = 64, NOWHERE}, LAST};
static const struct field E_ARGUMENT[] = {
	{"argument", "One argument.", FIELD_TEXT, FORMAT_ARGUMENT, .min = 1, .max = 4096, NOWHERE},
	LAST};
static const struct field E_ANY_ARGUMENT[] = {
	{"argument", "One argument.", FIELD_TEXT, .min = 0, .max = 65536, NOWHERE}, LAST};
static const struct field E_ANY_NAME[] = {
	{"name", "A variable's name.", FIELD_TEXT, .min = 0, .max = 4096, NOWHERE}, LAST};
static const struct field E_ANY_PATH[] = {
	{"path", "A path in the workspace.", FIELD_TEXT, .min = 1, .max = 4096, NOWHERE}, LAST};
static const struct field E_CREDENTIAL[] = {
	{"credential", "The name of a credential.", FIELD_NAME, .min = 1, .max = ID_MAX, NOWHERE},
	LAST};
static const struct field E_PERSON[] = {
	{"approver", "An identity's name, or group:NAME.", FIELD_TEXT, FORMAT_PERSON, .min = 1,
	 .max = 80, NOWHERE}, LAST};

/* ---- metadata ---- */
static const struct field METADATA[] = {
	{"name", "What --profile calls it.", FIELD_NAME, .min = 1, .max = NAME_MAX_LEN,
	 .flags = FIELD_REQUIRED, AT(name)},
	{"description", "One line for people.", FIELD_TEXT, .max = 255, .fallback = "",
	 AT(description)},
	LAST};

/* ---- filesystem ---- */
static const struct field WORKSPACE[] = {
	{"at", "Where the workspace appears; host: at the path it has on the host.", FIELD_WORD,
	 .words = W_WORKSPACE_AT, .fallback = "/workspace", AT(workspace_at)},
	{"mode", "overlay: changes are kept apart until accepted; direct: written through; "
	 "read-only: not writable.", FIELD_ENUM, .words = W_MODE, .fallback = "overlay",
	 AT(workspace_mode)},
	{"max", "The most an overlay's changes may take; absent: no bound.", FIELD_SIZE,
	 .min = MIB, .max = 16 * TIB, .flags = FIELD_OPTIONAL, AT(workspace_max)},
	LAST};
static const struct field TMP[] = {
	{"max", "Size of /tmp.", FIELD_SIZE, .min = MIB, .max = TIB, .fallback = "256MiB",
	 AT(tmp_max)},
	LAST};
static const struct field MOUNT[] = {
	{"host", "A directory of the host's.", FIELD_TEXT, FORMAT_MOUNT_HOST, .min = 1,
	 .max = PROFILE_PATH_MAX - 1, .flags = FIELD_REQUIRED, IN(struct profile_mount, host)},
	{"at", "Where it appears, read-only.", FIELD_TEXT, FORMAT_MOUNT_AT, .min = 1,
	 .max = PROFILE_PATH_MAX - 1, .flags = FIELD_REQUIRED, IN(struct profile_mount, at)},
	LAST};
static const struct field E_MOUNT[] = {
	{"mount", "A read-only mount.", FIELD_OBJECT, .members = MOUNT, NOWHERE}, LAST};
static const struct field FILESYSTEM[] = {
	{"root", "host: the host's system directories, read-only; or image:NAME@sha256:DIGEST.",
	 FIELD_TEXT, FORMAT_ROOT, .min = 1, .max = PROFILE_PATH_MAX - 1, .fallback = "host",
	 AT(root)},
	{"workspace", "The directory that is worked on.", FIELD_OBJECT, .members = WORKSPACE, NOWHERE},
	{"tmp", "The private /tmp.", FIELD_OBJECT, .members = TMP, NOWHERE},
	{"readOnly", "More directories of the host's, read-only.", FIELD_LIST, .members = E_MOUNT,
	 .max = PROFILE_MOUNTS_MAX, .flags = FIELD_SORTED, .sort_by = "at", MANY(mounts, n_mounts)},
	LAST};

/* ---- limits ---- */
static const struct field LIMITS[] = {
	{"cpu", "CPUs' worth of time.", FIELD_CPU, .min = 10, .max = 1024 * 1000, .fallback = "2",
	 AT(cpu_milli)},
	{"memory", "Memory of all processes together; there is no swap.", FIELD_SIZE,
	 .min = 16 * MIB, .max = 16 * TIB, .fallback = "2GiB", AT(memory)},
	{"pids", "Processes and threads at one time.", FIELD_INT, .min = 4, .max = 4194304,
	 .fallback = "256", AT(pids)},
	{"openFiles", "Open descriptors of one process.", FIELD_INT, .min = 16, .max = 1048576,
	 .fallback = "1024", AT(open_files)},
	{"timeout", "Wall time of one command.", FIELD_DURATION, .min = SECOND, .max = 30 * DAY,
	 .fallback = "30m", AT(timeout_ms)},
	{"output", "Bytes that are passed on of each of stdout and stderr.", FIELD_SIZE, .min = KIB,
	 .max = TIB, .fallback = "16MiB", AT(output)},
	LAST};

/* ---- network ---- */
static const struct field EGRESS[] = {
	{"id", "The rule's name in verdicts.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"hosts", "Hosts that may be reached; an empty list allows nothing.", FIELD_LIST,
	 .members = E_HOST, .max = 1024, .flags = FIELD_REQUIRED | FIELD_SORTED, NOWHERE},
	{"ports", "Ports that may be reached.", FIELD_LIST, .members = E_PORT, .max = 256,
	 .flags = FIELD_SORTED, .fallback = "443", NOWHERE},
	{"addresses", "Private address ranges the hosts may resolve to.", FIELD_LIST,
	 .members = E_CIDR, .max = 64, .flags = FIELD_SORTED, NOWHERE},
	{"tls", "inspect: requests are judged one by one; passthrough: only host and port are.",
	 FIELD_WORD, .words = W_TLS, .fallback = "inspect", NOWHERE},
	{"methods", "With inspect: the methods that may be used.", FIELD_LIST, .members = E_METHOD,
	 .max = 32, .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},
	{"paths", "With inspect: the paths that may be asked for.", FIELD_LIST,
	 .members = E_URL_GLOB, .max = 1024, .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},
	LAST};
static const struct field E_EGRESS[] = {
	{"egress", "A way out.", FIELD_OBJECT, .members = EGRESS, NOWHERE}, LAST};
static const struct field NETWORK[] = {
	{"egress", "Where a session may connect to; empty: nowhere.", FIELD_LIST,
	 .members = E_EGRESS, .max = 10000, NOWHERE},
	LAST};

/* ---- credentials ---- */
static const struct field SOURCE[] = {
	{"file", "A file of the vault's.", FIELD_TEXT, FORMAT_PATH, .min = 1, .max = 512,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"command", "A command that prints it.", FIELD_LIST, .members = E_ARGUMENT, .min = 1,
	 .max = 64, .flags = FIELD_OPTIONAL, NOWHERE},
	{"vault", "A name in a configured vault.", FIELD_TEXT, FORMAT_ARGUMENT, .min = 1, .max = 512,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	LAST};
static const struct field INJECT[] = {
	{"header", "The request header that carries it.", FIELD_TEXT, FORMAT_HEADER, .min = 1,
	 .max = 64, .flags = FIELD_REQUIRED, NOWHERE},
	{"format", "The header's value, with {secret} in it.", FIELD_TEXT, FORMAT_INJECT, .min = 8,
	 .max = 256, .fallback = "{secret}", NOWHERE},
	LAST};
static const struct field USE[] = {
	{"host", "One host, no pattern.", FIELD_TEXT, FORMAT_HOST, .min = 1, .max = 253,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"ports", "Ports.", FIELD_LIST, .members = E_PORT, .max = 256, .flags = FIELD_SORTED,
	 .fallback = "443", NOWHERE},
	{"methods", "Methods.", FIELD_LIST, .members = E_METHOD, .max = 32,
	 .flags = FIELD_REQUIRED | FIELD_SORTED, NOWHERE},
	{"paths", "Paths.", FIELD_LIST, .members = E_URL_GLOB, .max = 1024,
	 .flags = FIELD_REQUIRED | FIELD_SORTED, NOWHERE},
	LAST};
static const struct field E_USE[] = {
	{"use", "Where it may be used.", FIELD_OBJECT, .members = USE, NOWHERE}, LAST};
static const struct field LEASE[] = {
	{"ttl", "How long a lease holds.", FIELD_DURATION, .min = SECOND, .max = 30 * DAY,
	 .fallback = "10m", NOWHERE},
	{"maxTtl", "How long renewals may keep it.", FIELD_DURATION, .min = SECOND, .max = 30 * DAY,
	 .fallback = "1h", NOWHERE},
	{"maxUses", "How often it may be used.", FIELD_INT, .min = 1, .max = 1000000,
	 .fallback = "200", NOWHERE},
	LAST};
static const struct field CREDENTIAL[] = {
	{"name", "What rules call it.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"source", "Where the vault reads it; it never enters a sandbox.", FIELD_OBJECT,
	 .members = SOURCE, .flags = FIELD_REQUIRED | FIELD_ONE_OF, NOWHERE},
	{"inject", "How a gateway puts it into a request.", FIELD_OBJECT, .members = INJECT,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"to", "The requests it may be put into; an empty list allows none.", FIELD_LIST,
	 .members = E_USE, .max = 64, .flags = FIELD_REQUIRED, NOWHERE},
	{"lease", "Bounds of its use.", FIELD_OBJECT, .members = LEASE, NOWHERE},
	LAST};
static const struct field E_CREDENTIALS[] = {
	{"credential", "A credential.", FIELD_OBJECT, .members = CREDENTIAL, NOWHERE}, LAST};

/* ---- git ---- */
static const struct field PUSH[] = {
	{"refs", "Branches that may be pushed; an empty list allows none.", FIELD_LIST,
	 .members = E_REF, .max = 256, .flags = FIELD_REQUIRED | FIELD_SORTED, NOWHERE},
	{"maxPack", "The largest pack.", FIELD_SIZE, .min = KIB, .max = 64 * GIB,
	 .fallback = "64MiB", NOWHERE},
	{"protectedPaths", "A commit that touches these needs a person.", FIELD_LIST,
	 .members = E_TREE_GLOB, .max = 256, .flags = FIELD_SORTED,
	 .fallback = ".github/**,.gitmodules,.gitattributes,CODEOWNERS", NOWHERE},
	LAST};
static const struct field GIT[] = {
	{"repository", "https://HOST/PATH.", FIELD_TEXT, FORMAT_REPOSITORY, .min = 1, .max = 512,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"credential", "The credential to use there.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"fetch", "May it be fetched from?", FIELD_WORD, .words = W_FETCH, .fallback = "deny",
	 NOWHERE},
	{"push", "What may be pushed; absent: nothing.", FIELD_OBJECT, .members = PUSH,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	LAST};
static const struct field E_GIT[] = {
	{"git", "A repository.", FIELD_OBJECT, .members = GIT, NOWHERE}, LAST};

/* ---- rules: what they look at is the same for `rules` and `protected` ---- */
#define SELECTORS                                                                                  \
	{"hosts", "net.*: only these hosts.", FIELD_LIST, .members = E_HOST, .max = 1024,          \
	 .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},                                         \
	{"ports", "net.*: only these ports.", FIELD_LIST, .members = E_PORT, .max = 256,           \
	 .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},                                         \
	{"methods", "net.http: only these methods.", FIELD_LIST, .members = E_METHOD, .max = 32,   \
	 .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},                                         \
	{"paths", "net.http, workspace.accept: only these paths.", FIELD_LIST,                     \
	 .members = E_ANY_GLOB, .max = 1024, .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},     \
	{"repositories", "git.*: only these repositories.", FIELD_LIST, .members = E_REPOSITORY,   \
	 .max = 256, .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},                             \
	{"refs", "git.push: only these branches.", FIELD_LIST, .members = E_REF, .max = 256,       \
	 .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE},                                         \
	{"credentials", "credential.use: only these.", FIELD_LIST, .members = E_CREDENTIAL,        \
	 .max = 256, .flags = FIELD_OPTIONAL | FIELD_SORTED, NOWHERE}

static const struct field PROTECTED[] = {
	{"id", "The rule's name in verdicts.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"capability", "What it is about.", FIELD_WORD, .words = W_CAPABILITY,
	 .flags = FIELD_REQUIRED, NOWHERE},
	SELECTORS,
	LAST};
static const struct field RULE[] = {
	{"id", "The rule's name in verdicts.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"effect", "Deny beats escalate beats allow.", FIELD_WORD, .words = W_EFFECT,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"capability", "What it is about.", FIELD_WORD, .words = W_CAPABILITY,
	 .flags = FIELD_REQUIRED, NOWHERE},
	SELECTORS,
	LAST};
static const struct field E_PROTECTED[] = {
	{"protected", "An operation that needs a person.", FIELD_OBJECT, .members = PROTECTED,
	 NOWHERE}, LAST};
static const struct field E_RULE[] = {
	{"rule", "A rule.", FIELD_OBJECT, .members = RULE, NOWHERE}, LAST};

/* ---- approvals, audit, caches ---- */
static const struct field APPROVALS[] = {
	{"quorum", "How many people.", FIELD_INT, .min = 1, .max = 16, .fallback = "1", NOWHERE},
	{"approvers", "Who may.", FIELD_LIST, .members = E_PERSON, .max = 256,
	 .flags = FIELD_SORTED, NOWHERE},
	{"ownerMayApprove", "May the owner of the requesting agent?", FIELD_BOOL,
	 .fallback = "false", NOWHERE},
	{"requireTouch", "Only keys whose touch is checked.", FIELD_BOOL, .fallback = "false",
	 NOWHERE},
	{"approveWithin", "How long an approval may be waited for.", FIELD_DURATION, .min = MINUTE,
	 .max = 30 * DAY, .fallback = "12h", NOWHERE},
	{"executeWithin", "How long it holds once given.", FIELD_DURATION, .min = MINUTE,
	 .max = 30 * DAY, .fallback = "15m", NOWHERE},
	LAST};
static const struct field AUDIT[] = {
	{"retention", "How long the record is kept.", FIELD_DURATION, .min = DAY,
	 .max = 36500 * DAY, .fallback = "400d", NOWHERE},
	LAST};
static const struct field CACHE[] = {
	{"name", "The cache's name.", FIELD_NAME, .min = 1, .max = ID_MAX, .flags = FIELD_REQUIRED,
	 NOWHERE},
	{"at", "Where it appears.", FIELD_TEXT, FORMAT_MOUNT_AT, .min = 1,
	 .max = PROFILE_PATH_MAX - 1, .flags = FIELD_REQUIRED, NOWHERE},
	{"max", "Its size.", FIELD_SIZE, .min = MIB, .max = 16 * TIB, .flags = FIELD_REQUIRED,
	 NOWHERE},
	LAST};
static const struct field E_CACHE[] = {
	{"cache", "A directory that outlives a session.", FIELD_OBJECT, .members = CACHE, NOWHERE},
	LAST};

/* ---- requests and tests ---- */
static const struct field REQUEST[] = {
	{"capability", "What is asked for.", FIELD_WORD, .words = W_CAPABILITY,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"workflow", "Under which workflow.", FIELD_NAME, .min = 1, .max = NAME_MAX_LEN,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"command", "exec: the program, escaped as records have it (a backslash twice, \\xNN).", FIELD_TEXT, .min = 0, .max = 4095, .flags = FIELD_OPTIONAL,
	 NOWHERE},
	{"args", "exec: what follows the program.", FIELD_LIST, .members = E_ANY_ARGUMENT,
	 .max = 40000, .flags = FIELD_OPTIONAL, NOWHERE},
	{"env", "exec: names of variables.", FIELD_LIST, .members = E_ANY_NAME, .max = 4096,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"cwd", "exec: beneath the workspace.", FIELD_TEXT, .min = 0, .max = 4095,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"timeout", "exec: wall time.", FIELD_DURATION, .min = 0, .max = 36500 * DAY,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"url", "net.http: scheme, host, port and path in one.", FIELD_TEXT, .min = 1, .max = 4096,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"method", "net.http.", FIELD_TEXT, .min = 1, .max = 32, .flags = FIELD_OPTIONAL, NOWHERE},
	{"host", "net.*: instead of url.", FIELD_TEXT, .min = 1, .max = 253,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"port", "net.*: instead of url.", FIELD_INT, .min = 1, .max = 65535,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"path", "net.http: instead of url; workspace.*: a path beneath it.", FIELD_TEXT, .min = 1, .max = 4096,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	{"paths", "workspace.accept: what is taken over; absent: all.", FIELD_LIST,
	 .members = E_ANY_PATH, .max = 4096, .flags = FIELD_OPTIONAL, NOWHERE},
	{"repository", "git.*.", FIELD_TEXT, .min = 1, .max = 512, .flags = FIELD_OPTIONAL, NOWHERE},
	{"ref", "git.push.", FIELD_TEXT, .min = 1, .max = 255, .flags = FIELD_OPTIONAL, NOWHERE},
	{"credential", "credential.use.", FIELD_NAME, .min = 1, .max = ID_MAX,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	LAST};
static const struct field TEST[] = {
	{"request", "What is asked for.", FIELD_OBJECT, .members = REQUEST,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"expect", "What has to come of it.", FIELD_WORD, .words = W_EFFECT,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"reason", "And with which reason code.", FIELD_WORD, .words = W_REASON,
	 .flags = FIELD_OPTIONAL, NOWHERE},
	LAST};
static const struct field E_TEST[] = {
	{"test", "A test, run when the profile is loaded.", FIELD_OBJECT, .members = TEST, NOWHERE},
	LAST};

/* ---- environment ---- */
static const struct field VARIABLE[] = {
	{"name", "A variable's name.", FIELD_TEXT, .min = 1,
	 .max = sizeof(((struct profile_env *)0)->name) - 1, IN(struct profile_env, name)},
	{"value", "Its value.", FIELD_TEXT, .max = sizeof(((struct profile_env *)0)->value) - 1,
	 IN(struct profile_env, value)},
	LAST};

static const struct field SPEC[] = {
	{"runtime", "What holds the session; one that is not here refuses it.", FIELD_ENUM,
	 .words = W_RUNTIME, .fallback = "namespaces", AT(runtime)},
	{"capabilities", "All that a session may ask for; an empty list allows nothing.",
	 FIELD_BITS, .words = W_CAPABILITY, .flags = FIELD_REQUIRED | FIELD_SORTED,
	 AT(capabilities)},
	{"filesystem", "What it sees.", FIELD_OBJECT, .members = FILESYSTEM, NOWHERE},
	{"limits", "What it may use.", FIELD_OBJECT, .members = LIMITS, NOWHERE},
	{"env", "Variables that are set.", FIELD_MAP, .members = VARIABLE, .max = PROFILE_ENV_MAX,
	 MANY(env, n_env)},
	{"debug", "ptrace: a session may trace its own children.", FIELD_ENUM, .words = W_DEBUG,
	 .fallback = "none", AT(debug_ptrace)},
	{"network", "Ways out.", FIELD_OBJECT, .members = NETWORK, NOWHERE},
	{"credentials", "Secrets brokers may use.", FIELD_LIST, .members = E_CREDENTIALS, .max = 64,
	 NOWHERE},
	{"git", "Repositories.", FIELD_LIST, .members = E_GIT, .max = 256, NOWHERE},
	{"caches", "Directories that outlive a session.", FIELD_LIST, .members = E_CACHE, .max = 16,
	 NOWHERE},
	{"protected", "Operations that need a person.", FIELD_LIST, .members = E_PROTECTED,
	 .max = 1000, NOWHERE},
	{"approvals", "Who may say yes.", FIELD_OBJECT, .members = APPROVALS, NOWHERE},
	{"rules", "Deny beats escalate beats allow; nothing matching is a denial.", FIELD_LIST,
	 .members = E_RULE, .max = 10000, NOWHERE},
	{"audit", "The record.", FIELD_OBJECT, .members = AUDIT, NOWHERE},
	{"tests", "Requests with the verdict they must get; one failing refuses the profile.",
	 FIELD_LIST, .members = E_TEST, .max = 1000, NOWHERE},
	LAST};

static const struct field TOP[] = {
	{"apiVersion", "The version of this schema.", FIELD_WORD, .words = W_API_VERSION,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"kind", "What the document is.", FIELD_WORD, .words = W_KIND, .flags = FIELD_REQUIRED,
	 NOWHERE},
	{"metadata", "What it is called.", FIELD_OBJECT, .members = METADATA,
	 .flags = FIELD_REQUIRED, NOWHERE},
	{"spec", "What a session under it may be.", FIELD_OBJECT, .members = SPEC,
	 .flags = FIELD_REQUIRED, NOWHERE},
	LAST};
/* clang-format on */

const struct field PROFILE_FIELDS = {
	"profile", "What a Sandbox Loom session may be.", FIELD_OBJECT, .members = TOP, NOWHERE,
};
const struct field REQUEST_FIELDS = {
	"request", "What is asked for.", FIELD_OBJECT, .members = REQUEST, NOWHERE,
};
