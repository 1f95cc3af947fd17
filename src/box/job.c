/* A fork and a pidfd. The child keeps its copies of descriptors, but for the channels to others. */
#include "box/job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "box/box.h"

struct job {
	struct box *box;
	job_done done;
	void *arg;
	struct answer {
		volatile bool answered;
		_Alignas(16) uint8_t data[];
	} * answer;
	size_t size;
	pid_t pid;
	int pidfd;
	sd_event_source *source;
};

static void
job_free(struct job *j)
{
	sd_event_source_unref(j->source);
	fd_closep(&j->pidfd);
	if (j->answer != NULL)
		(void)munmap(j->answer, j->size);
	free(j);
}

static int
on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct job *j = userdata;

	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	j->done(j->box, j->arg, j->answer->data, j->answer->answered);
	job_free(j);
	return 0;
}

static void NORETURN
work_in_child(struct job *j, job_work work, pid_t parent)
{
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
		_exit(1);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	channel_close(&j->box->loomd);
	channel_close(&j->box->authority);
	fd_close(j->box->nursery.channel);
	work(j->arg, j->answer->data);
	j->answer->answered = true;
	_exit(0);
}

int
job_start(struct box *b, job_work work, job_done done, void *arg, size_t answer_size,
	  struct error *err)
{
	struct job *j = calloc(1, sizeof(*j));
	pid_t parent = getpid();
	int r;

	if (j == NULL)
		return error_set(err, -ENOMEM, "no memory for a job");
	*j = (struct job){.box = b, .done = done, .arg = arg, .pidfd = -1};
	j->size = sizeof(struct answer) + answer_size;
	j->answer = mmap(NULL, j->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j->answer == MAP_FAILED) {
		j->answer = NULL;
		job_free(j);
		return error_set(err, -ENOMEM, "no memory for a job");
	}
	j->pid = fork();
	if (j->pid == 0)
		work_in_child(j, work, parent);
	if (j->pid > 0)
		j->pidfd = (int)syscall(__NR_pidfd_open, j->pid, 0);
	r = j->pidfd >= 0 ? sd_event_add_io(b->event, &j->source, j->pidfd, EPOLLIN, on_end, j)
			  : -errno;
	if (r < 0) {
		if (j->pid > 0) {
			(void)kill(j->pid, SIGKILL);
			(void)waitpid(j->pid, NULL, 0);
		}
		job_free(j);
		return error_sys(err, r, "start a job");
	}
	return 0;
}
