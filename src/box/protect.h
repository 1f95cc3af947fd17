/*
 * Paths whose content runs, or steers tools, on the host of whoever works in the workspace: git's
 * own directory, editors' tasks, agents' instructions, hooks, CI. Such a change is taken over only
 * when it was named by itself; the inside of .git never (that is the git broker's to do).
 *
 * Judged by component, and without regard to ASCII case, since file systems and tools that fold
 * case exist. The table is in protect.c and in doc/workspaces.md.
 */
#ifndef LOOM_BOX_PROTECT_H
#define LOOM_BOX_PROTECT_H

enum protection {
	PROTECT_NONE,
	PROTECT_NAMED, /* only when named by itself */
	PROTECT_NEVER, /* .git and all beneath it */
};

/* PATH: relative and normal. *RET_WHY (may be NULL) is the table's entry, e.g. ".vscode/ (editor
 * tasks)". */
enum protection protect_path(const char *path, const char **ret_why);

#endif
