/*
 * A rule is a spelling of one or more components, matched at the root of the workspace or anywhere
 * beneath it: a nested project is somebody's root as well. A rule for a directory covers all in it.
 */
#include "box/protect.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"

struct rule {
	const char *path; /* components, without a slash at either end */
	const char *why;
};

/* clang-format off */
static const struct rule protect_rules[] = {
	/* what git reads as configuration, or runs */
	{".gitmodules", ".gitmodules (git: where submodules come from)"},
	{".gitattributes", ".gitattributes (git: filters and drivers that run commands)"},
	{".gitconfig", ".gitconfig (git configuration)"},
	{".lfsconfig", ".lfsconfig (git LFS: where objects go)"},
	{".githooks", ".githooks/ (git hooks)"},
	{".husky", ".husky/ (git hooks)"},
	{".lefthook", ".lefthook/ (git hooks)"},
	{"lefthook.yml", "lefthook.yml (git hooks)"},
	{".pre-commit-config.yaml", ".pre-commit-config.yaml (git hooks)"},
	/* continuous integration and the forge */
	{".github", ".github/ (workflows and owners)"},
	{".gitlab", ".gitlab/ (workflows and owners)"},
	{".gitlab-ci.yml", ".gitlab-ci.yml (continuous integration)"},
	{".forgejo", ".forgejo/ (workflows)"},
	{".gitea", ".gitea/ (workflows)"},
	{".circleci", ".circleci/ (continuous integration)"},
	{".buildkite", ".buildkite/ (continuous integration)"},
	{".travis.yml", ".travis.yml (continuous integration)"},
	{".woodpecker.yml", ".woodpecker.yml (continuous integration)"},
	{".drone.yml", ".drone.yml (continuous integration)"},
	{"azure-pipelines.yml", "azure-pipelines.yml (continuous integration)"},
	{"bitbucket-pipelines.yml", "bitbucket-pipelines.yml (continuous integration)"},
	{"Jenkinsfile", "Jenkinsfile (continuous integration)"},
	{".ci", ".ci/ (continuous integration)"},
	{"CODEOWNERS", "CODEOWNERS (who has to review)"},
	/* editors: tasks, settings with commands, start-up files */
	{".vscode", ".vscode/ (editor tasks)"},
	{".idea", ".idea/ (editor tasks)"},
	{".fleet", ".fleet/ (editor tasks)"},
	{".zed", ".zed/ (editor tasks)"},
	{".devcontainer", ".devcontainer/ (editor containers)"},
	{".devcontainer.json", ".devcontainer.json (editor containers)"},
	{".exrc", ".exrc (editor start-up)"},
	{".nvimrc", ".nvimrc (editor start-up)"},
	{".nvim.lua", ".nvim.lua (editor start-up)"},
	{".vimrc", ".vimrc (editor start-up)"},
	{".dir-locals.el", ".dir-locals.el (editor start-up)"},
	/* agents: instructions, hooks, tools */
	{".claude", ".claude/ (agent hooks and instructions)"},
	{".cursor", ".cursor/ (agent hooks and instructions)"},
	{".cursorrules", ".cursorrules (agent instructions)"},
	{".codex", ".codex/ (agent hooks and instructions)"},
	{".gemini", ".gemini/ (agent hooks and instructions)"},
	{".windsurf", ".windsurf/ (agent hooks and instructions)"},
	{".windsurfrules", ".windsurfrules (agent instructions)"},
	{".clinerules", ".clinerules (agent instructions)"},
	{".aider.conf.yml", ".aider.conf.yml (agent settings)"},
	{".continue", ".continue/ (agent settings)"},
	{".mcp.json", ".mcp.json (agent tools)"},
	{"AGENTS.md", "AGENTS.md (agent instructions)"},
	{"AGENTS.override.md", "AGENTS.override.md (agent instructions)"},
	{"CLAUDE.md", "CLAUDE.md (agent instructions)"},
	{"CLAUDE.local.md", "CLAUDE.local.md (agent instructions)"},
	{"GEMINI.md", "GEMINI.md (agent instructions)"},
	/* shells and tools that run or reconfigure by being entered */
	{".envrc", ".envrc (direnv: runs on entering)"},
	{".env", ".env (environment of tools)"},
	{".mise.toml", ".mise.toml (runs on entering)"},
	{"mise.toml", "mise.toml (runs on entering)"},
	{".tool-versions", ".tool-versions (which tools run)"},
	{".npmrc", ".npmrc (package registry)"},
	{".yarnrc", ".yarnrc (package registry)"},
	{".yarnrc.yml", ".yarnrc.yml (package registry, plug-ins)"},
	{".pnpmfile.cjs", ".pnpmfile.cjs (runs on install)"},
	{".cargo/config", ".cargo/config (runners and registries)"},
	{".cargo/config.toml", ".cargo/config.toml (runners and registries)"},
	{".bazelrc", ".bazelrc (build settings)"},
	{".gdbinit", ".gdbinit (runs in the debugger)"},
	{".lldbinit", ".lldbinit (runs in the debugger)"},
	{".bashrc", ".bashrc (shell start-up)"},
	{".bash_profile", ".bash_profile (shell start-up)"},
	{".profile", ".profile (shell start-up)"},
	{".zshrc", ".zshrc (shell start-up)"},
	{".zshenv", ".zshenv (shell start-up)"},
	{".ssh", ".ssh/ (keys and hosts)"},
	{".loom", ".loom/ (Loom)"},
};
/* clang-format on */

/* The first bytes of the rules, in either case: most components are none, and are done with. */
static bool
may_start_a_rule(char c)
{
	static bool initials[256], made;

	for (size_t i = 0; !made && i < ARRAY_LEN(protect_rules); i++) {
		unsigned char first = (unsigned char)protect_rules[i].path[0];

		initials[tolower(first)] = initials[toupper(first)] = true;
	}
	made = true;
	return initials[(unsigned char)c];
}

/* Is the component at P, up to a slash or the end, NAME but for ASCII case? */
static bool
component_is(const char *p, const char *name, size_t len)
{
	return strncasecmp(p, name, len) == 0 && (p[len] == '/' || p[len] == '\0');
}

/*
 * Names that a file system may take for ".git": NTFS drops trailing dots and spaces and knows it as
 * "git~1"; HFS+ ignores some characters that Unicode calls ignorable.
 */
static bool
component_is_git(const char *p)
{
	size_t len = strcspn(p, "/"), n = 0;
	char folded[8];

	if (len == 5 && strncasecmp(p, "git~1", 5) == 0)
		return true;
	for (size_t i = 0; i < len; i++) {
		const unsigned char *u = (const unsigned char *)p + i;

		/* U+200C..F, U+202A..E, U+206A..F, U+FEFF */
		if (len - i >= 3 &&
		    ((u[0] == 0xe2 && ((u[1] == 0x80 && ((u[2] >= 0x8c && u[2] <= 0x8f) ||
							 (u[2] >= 0xaa && u[2] <= 0xae))) ||
				       (u[1] == 0x81 && u[2] >= 0xaa && u[2] <= 0xaf))) ||
		     (u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf))) {
			i += 2;
			continue;
		}
		if (n == 4 && (p[i] == '.' || p[i] == ' '))
			continue;
		if (n == 4 && p[i] == ':') /* a stream of it */
			break;
		if (n == sizeof(folded) - 1)
			return false;
		folded[n++] = p[i];
	}
	return n == 4 && strncasecmp(folded, ".git", 4) == 0;
}

enum protection
protect_path(const char *path, const char **ret_why)
{
	const char *found = NULL;

	for (const char *p = path; p != NULL; p = strchr(p, '/')) {
		if (*p == '/')
			p++;
		if (component_is_git(p)) {
			if (ret_why != NULL)
				*ret_why = ".git (git's own directory)";
			return PROTECT_NEVER;
		}
		if (found != NULL || !may_start_a_rule(*p))
			continue;
		for (size_t i = 0; found == NULL && i < ARRAY_LEN(protect_rules); i++)
			if (component_is(p, protect_rules[i].path, strlen(protect_rules[i].path)))
				found = protect_rules[i].why;
	}
	if (found == NULL)
		return PROTECT_NONE;
	if (ret_why != NULL)
		*ret_why = found;
	return PROTECT_NAMED;
}
