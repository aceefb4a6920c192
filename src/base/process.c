/* SPDX-License-Identifier: Apache-2.0 */
/* process.c: starts child processes by fork and exec, waits for them and kills them.
 *
 * The child reports through a pipe what failed between fork and exec; a successful exec closes the pipe. So a missing
 * program is a failure of the start and not one of 256 exit codes. All memory is allocated before the fork: in a
 * process with several threads a child must not allocate any. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"

extern char **environ;

typedef struct {
    enum { NO_STREAM, NO_FOLDER, NO_PROGRAM } what;
    int problem; /* errno of the step that failed in the child */
} bad_news;

/* ---- starting a child ---- */

static bool is_changed(const char *entry, const char *const *changes)
{
    const size_t n = strcspn(entry, "=");
    for (; *changes; changes++)
        if (strcspn(*changes, "=") == n && !memcmp(*changes, entry, n)) return true;
    return false;
}

/* Returns this process's environment with the changes applied. The caller frees the array, but not the texts. */
static char **environment_of(const char *const *changes)
{
    static const char *const none[] = {NULL};
    size_t n = 0, nchanges = 0, at = 0;
    if (!changes) changes = none;
    while (environ[n]) n++;
    while (changes[nchanges]) nchanges++;
    char **all = tutti_alloc(sizeof *all * (n + nchanges + 1));
    for (size_t i = 0; i < n; i++)
        if (!is_changed(environ[i], changes)) all[at++] = environ[i];
    for (size_t i = 0; i < nchanges; i++)
        if (strchr(changes[i], '='))
            all[at++] = (char *)(uintptr_t)changes[i]; /* safe cast: exec only reads the texts */
    return all;
}

static const char *program_of(const tutti_process_options *o)
{
    return o->program ? o->program : o->argv[0];
}

/* Runs in the child: makes `given` its standard stream `place`. */
static bool set_stream(int given, int place)
{
    if (given == TUTTI_STREAM_SAME) return true;
    if (given != TUTTI_STREAM_NOTHING) return dup2(given, place) == place;
    const int fd = open("/dev/null", place == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (fd < 0 || fd == place) return fd == place;
    return dup2(fd, place) == place && close(fd) == 0;
}

/* Runs in the child, which becomes the program; returns only if that fails. */
static bad_news become(const tutti_process_options *o, char **environment, pid_t parent)
{
    if (o->own_group) setpgid(0, o->group);
    if (o->dies_with) prctl(PR_SET_PDEATHSIG, o->dies_with);
    /* true if the parent ended before prctl took effect */
    if (o->dies_with && getppid() != parent) _exit(TUTTI_ERR_FAILED);
    if (o->mask) sigprocmask(SIG_SETMASK, o->mask, NULL);
    if (!set_stream(o->in, STDIN_FILENO) || !set_stream(o->out, STDOUT_FILENO) || !set_stream(o->err, STDERR_FILENO))
        return (bad_news){NO_STREAM, errno};
    if (o->folder && chdir(o->folder)) return (bad_news){NO_FOLDER, errno};
    environ = environment;
    const int code = o->prepare ? o->prepare(o->prepare_arg) : 0;
    if (code) _exit(code);
    for (int i = 0; i < o->ninherited; i++) fcntl(o->inherited[i], F_SETFD, 0);
    execvp(program_of(o), (char *const *)(uintptr_t)o->argv); /* safe cast: exec only reads the texts */
    return (bad_news){NO_PROGRAM, errno};
}

static tutti_status fail(const tutti_process_options *o, bad_news news, tutti_failure *err)
{
    const char *program = program_of(o), *problem = strerror(news.problem);
    if (news.what == NO_FOLDER)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run in %s: %s", program, o->folder, problem);
    if (news.what == NO_STREAM)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run: its streams: %s", program, problem);
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run: %s%s", program, problem,
                      strcmp(program, TUTTI_PROCESS_SELF) ? "" : "; this program is found by /proc");
}

static bool is_told(int pipe, bad_news *news)
{
    ssize_t n;
    while ((n = read(pipe, news, sizeof *news)) < 0 && errno == EINTR) continue;
    return n == (ssize_t)sizeof *news;
}

tutti_status tutti_process_start(const tutti_process_options *o, tutti_process *out, tutti_failure *err)
{
    int ends[2];
    bad_news news;
    *out = (tutti_process){0};
    if (pipe2(ends, O_CLOEXEC))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run: no pipe: %s", program_of(o), strerror(errno));
    char **environment = environment_of(o->environment);
    const pid_t parent = getpid(), pid = fork();
    const int problem = errno;
    if (pid == 0) {
        news = become(o, environment, parent);
        (void)!write(ends[1], &news, sizeof news);
        _exit(TUTTI_ERR_FAILED);
    }
    free(environment);
    close(ends[1]);
    const bool failed = pid > 0 && is_told(ends[0], &news);
    close(ends[0]);
    if (pid < 0)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run: %s%s", program_of(o), strerror(problem),
                          problem == EAGAIN ? " (ulimit -u, or pids.max of the control group)" : "");
    *out = (tutti_process){.pid = pid, .runs = true};
    if (!failed) return TUTTI_OK;
    tutti_process_kill(out);
    *out = (tutti_process){0};
    return fail(o, news, err);
}

/* ---- the end of a child ---- */

static bool has_ended(tutti_process *p, int flags)
{
    int status = 0;
    pid_t done;
    while ((done = waitpid(p->pid, &status, flags)) < 0 && errno == EINTR) continue;
    if (done == 0) return false;
    p->runs = false;
    if (done > 0 && WIFSIGNALED(status)) p->signal = WTERMSIG(status);
    p->code = done < 0 ? -1 : p->signal ? 128 + p->signal : WEXITSTATUS(status);
    return true;
}

int tutti_process_wait_any(tutti_process *list, int n, double limit_s)
{
    const double end = tutti_clock_s() + limit_s;
    for (double nap = 0.0005;; nap = nap < 0.02 ? 1.5 * nap : nap) {
        int nrunning = 0;
        for (int i = 0; i < n; i++) {
            if (list[i].runs && has_ended(&list[i], WNOHANG)) return i;
            nrunning += list[i].runs;
        }
        if (!nrunning || tutti_clock_s() >= end) return -1;
        tutti_clock_sleep_s(nap);
    }
}

bool tutti_process_wait(tutti_process *p, double limit_s)
{
    (void)tutti_process_wait_any(p, 1, limit_s);
    return !p->runs;
}

void tutti_process_signal(const tutti_process *p, int signal)
{
    if (p->runs) kill(p->pid, signal);
}

void tutti_process_kill(tutti_process *p)
{
    tutti_process_signal(p, SIGKILL);
    if (p->runs) has_ended(p, 0);
}

void tutti_process_words(const tutti_process *p, char words[TUTTI_PROCESS_WORDS])
{
    if (p->runs)
        snprintf(words, TUTTI_PROCESS_WORDS, "still runs");
    else if (p->signal)
        snprintf(words, TUTTI_PROCESS_WORDS, "was killed by signal %d (%.40s)", p->signal, strsignal(p->signal));
    else if (p->code < 0)
        snprintf(words, TUTTI_PROCESS_WORDS, "ended unseen, because SIGCHLD is ignored");
    else
        snprintf(words, TUTTI_PROCESS_WORDS, "ended with %d", p->code);
}

tutti_status tutti_process_status(const tutti_process *p)
{
    return p->code >= 0 && p->code <= TUTTI_ERR_RENDEZVOUS ? (tutti_status)p->code : TUTTI_ERR_FAILED;
}

/* ---- waiting for children and signals ---- */

void tutti_process_watch_begin(const int *signals, int nsignals, tutti_process_watch *out)
{
    sigemptyset(&out->watched);
    sigaddset(&out->watched, SIGCHLD);
    for (int i = 0; i < nsignals; i++) sigaddset(&out->watched, signals[i]);
    sigprocmask(SIG_BLOCK, &out->watched, &out->before);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL},
              /* because if SIGCHLD were ignored, the system would not send it, and no wait would see it */
              &out->child_before);
}

int tutti_process_watch_next(const tutti_process_watch *w, double limit_s)
{
    const time_t s = (time_t)limit_s;
    const struct timespec limit = {.tv_sec = s, .tv_nsec = (long)((limit_s - (double)s) * 1e9)};
    const int signal = sigtimedwait(&w->watched, NULL, &limit);
    return signal > 0 && signal != SIGCHLD ? signal : 0;
}

void tutti_process_watch_end(const tutti_process_watch *w)
{
    sigaction(SIGCHLD, &w->child_before, NULL);
    sigprocmask(SIG_SETMASK, &w->before, NULL);
}
