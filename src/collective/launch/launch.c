/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c: fork, exec, wait.
 *
 * The first failure in time is the cause; what others do because of it is not. Since a lost peer shows as exit code 4, a rank
 * with that code is blamed only if no other rank failed on its own. Where rank 0 has told that it does without the others (launch_borne.c)
 * their failures are told, and blamed for nothing. */
#include "launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "open_files.h"

typedef struct {
    pid_t pid; /* 0 = never started, or reaped */
    pid_t was;
    int code, signal; /* how it ended */
    int order;        /* 1 = the first that failed; 0 = it did not fail */
    bool borne;       /* ... and the others went on */
    bool killed;      /* by us, after the grace */
} rank_process;

typedef struct {
    const tutti_launch_options *options;
    rank_process *ranks;
    int nranks, nrunning, nfailed;
    pid_t group;
    int listener, port;
    int from_zero[2]; /* a pipe: rank 0 says that ends of others are borne */
    bool bears;
    char cookie[33];
    sigset_t watched, before;
    struct sigaction child_before;
    int interrupts;
    unsigned sent;  /* signals passed on: a bit each */
    double kill_at; /* 0 = not yet */
} launcher;

static const int forwarded[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGQUIT, SIGHUP};
enum { NFORWARDED = sizeof forwarded / sizeof forwarded[0] };

/* --- before --- */

static tutti_status open_socket(launcher *l, tutti_failure *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    l->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->listener < 0 || bind(l->listener, (struct sockaddr *)&address, sizeof address) ||
        listen(l->listener, 1024) || getsockname(l->listener, (struct sockaddr *)&address, &length)) {
        tutti_fail(err, TUTTI_ERR_FAILED, "launch: cannot listen on 127.0.0.1: %s", strerror(errno));
        if (l->listener >= 0) close(l->listener);
        return TUTTI_ERR_FAILED;
    }
    l->port = ntohs(address.sin_port);
    return TUTTI_OK;
}

static tutti_status open_pipe(launcher *l, tutti_failure *err)
{
    if (pipe2(l->from_zero, O_CLOEXEC | O_NONBLOCK) == 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "launch: no pipe: %s", strerror(errno));
}

static void close_pipe(const launcher *l)
{
    for (int i = 0; i < 2; i++)
        if (l->from_zero[i] >= 0) close(l->from_zero[i]);
}

/* Its ranks inherit the limit, so all of them would meet it: said once, before there are any. */
static tutti_status allow_files(int nranks, tutti_failure *err)
{
    char who[64];
    snprintf(who, sizeof who, "launch: each of %d ranks on one host", nranks);
    return tutti_open_files_allow(TUTTI_FILES_OF_A_RANK + (TUTTI_FILES_A_PEER + 1) * nranks, who, err);
}

static void make_cookie(char text[33])
{
    uint64_t words[2] = {(uint64_t)tutti_clock_ns(), (uint64_t)getpid()};
    (void)!getrandom(words, sizeof words, 0); /* without it: time and pid are still a neighbour's others */
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)words[0], (unsigned long long)words[1]);
}

static void block_signals(launcher *l)
{
    sigemptyset(&l->watched);
    sigaddset(&l->watched, SIGCHLD);
    for (int i = 0; i < NFORWARDED; i++) sigaddset(&l->watched, forwarded[i]);
    sigprocmask(SIG_BLOCK, &l->watched, &l->before);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL},
              &l->child_before); /* ignored = nothing to wait for */
}

/* --- one rank --- */

static void set_number(const char *name, long value)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

static void set_environment(const launcher *l, int rank)
{
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", l->nranks);
    set_number("LOCAL_WORLD_SIZE", l->nranks);
    set_number("MASTER_PORT", l->port);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("TUTTI_COOKIE", l->cookie, 1);
    setenv("OMP_WAIT_POLICY", "passive", 0); /* idle OpenMP threads must not spin against other ranks */
    unsetenv("TORCHELASTIC_USE_AGENT_STORE");
    unsetenv("TUTTI_MASTER_FD");
    unsetenv("TUTTI_LAUNCHER_FD");
    if (rank) return;
    set_number("TUTTI_MASTER_FD", l->listener);
    set_number("TUTTI_LAUNCHER_FD", l->from_zero[1]);
}

static void prepare(const launcher *l, int rank)
{
    tutti_failure err = {0};
    if (!l->options->prepare || !l->options->prepare(l->options->prepare_arg, rank, &err)) return;
    fprintf(stderr, "tutti: cannot start rank %d: %s\n", rank, err.text);
    _exit(err.status);
}

static void become_rank(const launcher *l, int rank, pid_t parent, char *const *argv)
{
    setpgid(0, l->group);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died before we asked to die with it */
    sigprocmask(SIG_SETMASK, &l->before, NULL);
    set_environment(l, rank);
    prepare(l, rank);
    if (rank == 0) fcntl(l->listener, F_SETFD, 0), fcntl(l->from_zero[1], F_SETFD, 0);
    const char *program = l->options->program ? l->options->program : "/proc/self/exe";
    execv(program, argv);
    fprintf(stderr, "tutti: cannot start rank %d: %s: %s%s\n", rank, program, strerror(errno),
            l->options->program ? "" : "; ranks are this program, which is found by /proc");
    _exit(TUTTI_ERR_FAILED);
}

static tutti_status start_ranks(launcher *l, char *const *argv, tutti_failure *err)
{
    pid_t parent = getpid();
    for (int r = 0; r < l->nranks; r++) {
        pid_t pid = fork();
        if (pid == 0) become_rank(l, r, parent, argv);
        if (pid < 0)
            return tutti_fail(err, TUTTI_ERR_FAILED, "launch: cannot start rank %d of %d: %s%s", r, l->nranks,
                              strerror(errno), errno == EAGAIN ? " (ulimit -u, or pids.max of the control group)" : "");
        if (r == 0) l->group = pid;
        setpgid(pid, l->group); /* both sides do it: whoever comes first */
        l->ranks[r].pid = l->ranks[r].was = pid;
        l->nrunning++;
    }
    return TUTTI_OK;
}

/* --- watching --- */

static void send_all(launcher *l, int signal)
{
    for (int r = 0; r < l->nranks; r++)
        if (l->ranks[r].pid) kill(l->ranks[r].pid, signal);
}

static void kill_all(launcher *l)
{
    for (int r = 0; r < l->nranks; r++) l->ranks[r].killed |= l->ranks[r].pid != 0;
    send_all(l, SIGKILL);
}

/* As long as rank 0 lives, or when it has ended well: then those that are left end as it did, or are in nobody's way. Who says that the
 * input is to blame has ended them all. */
static bool is_borne(launcher *l, int rank)
{
    const int code = l->ranks[rank].code;
    char word;
    while (read(l->from_zero[0], &word, 1) == 1) l->bears = true;
    return l->bears && rank > 0 && !l->ranks[0].order && code != TUTTI_ERR_USAGE && code != TUTTI_ERR_DATA;
}

static void reap(launcher *l)
{
    for (int r = 0; r < l->nranks; r++) {
        rank_process *p = &l->ranks[r];
        int status;
        if (!p->pid || waitpid(p->pid, &status, WNOHANG) != p->pid) continue;
        p->pid = 0;
        l->nrunning--;
        if (WIFEXITED(status)) p->code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) p->signal = WTERMSIG(status), p->code = 128 + p->signal;
        if (p->code) p->borne = is_borne(l, r), p->order = ++l->nfailed;
        const bool hurries = (p->code && !p->borne) || (l->nfailed && !l->ranks[0].pid);
        const double grace = l->options->grace_s > 0 ? l->options->grace_s : 5;
        if (hurries && l->kill_at == 0) l->kill_at = tutti_clock_s() + grace;
    }
}

static void handle_signal(launcher *l, int signal)
{
    if (signal == SIGCHLD) return;
    if (signal == SIGINT && ++l->interrupts > 1) {
        kill_all(l);
        return;
    }
    l->sent |= 1U << signal;
    send_all(l, signal);
}

static void watch(launcher *l)
{
    while (l->nrunning > 0) {
        double left = l->kill_at > 0 ? l->kill_at - tutti_clock_s() : 1;
        if (left <= 0) {
            kill_all(l);
            left = 1;
        }
        const struct timespec wait = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        int signal = sigtimedwait(&l->watched, NULL, &wait);
        if (signal > 0) handle_signal(l, signal);
        reap(l);
    }
}

/* --- after --- */

static bool is_own_failure(const rank_process *p)
{
    return p->order && !p->killed && p->code != TUTTI_ERR_PEER;
}

static const rank_process *find_cause(const launcher *l)
{
    const rank_process *cause = NULL;
    for (int pass = 0; pass < 2 && !cause; pass++)
        for (int r = 0; r < l->nranks; r++) {
            const rank_process *p = &l->ranks[r];
            if (p->order && !p->borne && (pass || is_own_failure(p)) && (!cause || p->order < cause->order)) cause = p;
        }
    return cause;
}

static void describe_end(const launcher *l, const rank_process *p, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "rank %d (pid %d) ", (int)(p - l->ranks), (int)p->was);
    if (p->killed)
        tutti_strbuf_printf(out, "was still running and has been killed\n");
    else if (p->signal)
        tutti_strbuf_printf(out, "was killed by signal %d (%s)\n", p->signal, strsignal(p->signal));
    else if (p->code <= TUTTI_ERR_RENDEZVOUS)
        tutti_strbuf_printf(out, "ended with %d (%s)\n", p->code, tutti_status_name((tutti_status)p->code));
    else
        tutti_strbuf_printf(out, "ended with %d\n", p->code);
}

/* It ended as rank 0 did, by what was asked of all. */
static bool was_asked(const launcher *l, const rank_process *p)
{
    return p->code == l->ranks[0].code && (!p->signal || l->sent & 1U << p->signal);
}

static void describe_all(const launcher *l, tutti_launch_result *out)
{
    tutti_strbuf words = {0}, lost = {0};
    const rank_process *cause = find_cause(l);
    out->exit_code = cause ? cause->code : 0;
    if (l->interrupts > 1) out->exit_code = 128 + SIGINT;
    if (cause) describe_end(l, cause, &words);
    for (int order = 1; order <= l->nfailed; order++)
        for (int r = 0; r < l->nranks; r++) {
            const rank_process *p = &l->ranks[r];
            if (p->order != order || p == cause) continue;
            if (!p->borne)
                describe_end(l, p, &words);
            else if (!was_asked(l, p))
                describe_end(l, p, &lost);
        }
    out->words = tutti_strbuf_detach(&words);
    out->lost = lost.length ? tutti_strbuf_detach(&lost) : NULL;
}

tutti_status tutti_launch(const tutti_launch_options *options, char *const *argv, tutti_launch_result *out,
                          tutti_failure *err)
{
    launcher l = {.options = options, .nranks = options->nranks, .listener = -1, .from_zero = {-1, -1}};
    if (options->nranks < 1) return tutti_fail(err, TUTTI_ERR_USAGE, "launch: %d ranks", options->nranks);
    tutti_status st = allow_files(options->nranks, err);
    if (!st) st = open_pipe(&l, err);
    if (!st) st = open_socket(&l, err);
    if (st) {
        close_pipe(&l);
        return st;
    }
    l.ranks = tutti_alloc(sizeof *l.ranks * (size_t)l.nranks);
    make_cookie(l.cookie);
    fflush(NULL); /* or each rank would print what we have buffered */
    block_signals(&l);
    st = start_ranks(&l, argv, err);
    close(l.listener);
    if (st) kill_all(&l);
    watch(&l);
    /* A helper that a failed rank left behind goes too. An empty group is no target. */
    if (l.nfailed && l.group > 0) kill(-l.group, SIGKILL);
    sigaction(SIGCHLD, &l.child_before, NULL);
    sigprocmask(SIG_SETMASK, &l.before, NULL);
    if (!st) describe_all(&l, out);
    close_pipe(&l);
    free(l.ranks);
    return st;
}
