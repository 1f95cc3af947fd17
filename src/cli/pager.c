/*
 * Whether the program could be executed is known before anything is written: a close-on-exec pipe
 * tells. SIGPIPE is ignored while it runs, so that leaving the pager is an error of a write.
 */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"

#define WORDS_MAX 8
#define TEXT_MAX 256

static void NORETURN
become_pager(int text, int failed, char *const *words)
{
	char byte = 0;

	signal(SIGPIPE, SIG_DFL);
	/* F: leave when it fits the screen; R: colours; X: do not clear. No shell from within. */
	setenv("LESS", "FRX", 0);
	setenv("LESSSECURE", "1", 1);
	if (dup2(text, STDIN_FILENO) >= 0)
		execvp(words[0], words);
	if (write(failed, &byte, 1) < 0)
		_exit(126);
	_exit(127);
}

static bool
spawn(struct pager *p, char *const *words)
{
	int text[2] = {-1, -1}, failed[2] = {-1, -1};
	bool ok = false;
	char byte;

	if (pipe2(text, O_CLOEXEC) == 0 && pipe2(failed, O_CLOEXEC) == 0) {
		p->pid = fork();
		if (p->pid == 0)
			become_pager(text[0], failed[1], words);
		fd_closep(&failed[1]);
		ok = p->pid > 0 && read(failed[0], &byte, 1) == 0;
	}
	if (ok) {
		p->fd = text[1];
		text[1] = -1;
	} else if (p->pid > 0) {
		waitpid(p->pid, NULL, 0);
	}
	fd_closep(&text[0]);
	fd_closep(&text[1]);
	fd_closep(&failed[0]);
	fd_closep(&failed[1]);
	return ok;
}

void
pager_start(struct pager *p, bool wanted)
{
	const char *pager = getenv("PAGER");
	char text[TEXT_MAX], *rest = NULL, *words[WORDS_MAX + 1] = {NULL};
	size_t n = 0;

	*p = (struct pager){.fd = STDOUT_FILENO, .pid = -1};
	if (pager == NULL)
		pager = "less";
	if (!wanted || strlen(pager) >= sizeof(text) || strcmp(pager, "cat") == 0)
		return;
	memcpy(text, pager, strlen(pager) + 1);
	for (char *word = strtok_r(text, " ", &rest); word != NULL && n < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	if (n == 0)
		return;
	signal(SIGPIPE, SIG_IGN);
	p->running = spawn(p, words);
}

void
pager_end(struct pager *p)
{
	if (!p->running)
		return;
	fd_close(p->fd);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->running = false;
}
