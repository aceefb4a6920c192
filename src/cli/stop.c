/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: receives SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP in a thread and passes them to the run. There is no handler, so
 * the thread may call any function, and no global is needed. */
#include "stop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "../base/signals.h"
#include "../base/stop_request.h"

struct tutti_stop {
    const char *command;
    bool speaks;
    int signals, end; /* descriptors: the thread reads signals from `signals`; `end` makes the thread end */
    pthread_t thread;
    atomic_bool saves;
    tutti_stop_wish wish;
    tutti_stop_request request;
    sigset_t before;
};

/* Ends the process by a signal, as if this program had not caught it. */
static void die_of(int signal_number)
{
    sigset_t one;
    signal(signal_number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    raise(signal_number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + signal_number); /* reached only in the first process of a container, which does not die of a signal */
}

static void take(tutti_stop *s, int signal_number)
{
    if (!atomic_load(&s->saves)) die_of(signal_number);
    switch (tutti_stop_request_take(&s->request, signal_number, tutti_clock_s())) {
    case TUTTI_STOP_ASKED: tutti_run_stop(&s->wish, signal_number); break;
    case TUTTI_STOP_SAME: break;
    case TUTTI_STOP_NOW: die_of(signal_number);
    }
}

static void say_that_it_takes_time(const tutti_stop *s)
{
    char line[200];
    const int n = snprintf(line, sizeof line,
                           "tutti %s: signal %d: saves when the step at hand is done, if that is not held up until the "
                           "deadline; a second SIGTERM ends it at once\n",
                           s->command, tutti_stop_asked(s));
    if (n > 0) (void)!write(STDERR_FILENO, line, (size_t)n);
}

static void *hear(void *arg)
{
    tutti_stop *s = arg;
    struct pollfd ends[] = {{.fd = s->signals, .events = POLLIN}, {.fd = s->end, .events = POLLIN}};
    bool told = !s->speaks;
    while (!(ends[1].revents & POLLIN)) {
        struct signalfd_siginfo came;
        const bool waits = !told && tutti_stop_asked(s);
        const int n = poll(ends, 2, waits ? (int)(1e3 * TUTTI_ONE_REQUEST_S) : -1);
        if (n > 0 && ends[0].revents & POLLIN && read(s->signals, &came, sizeof came) == sizeof came)
            take(s, (int)came.ssi_signo);
        if (n != 0 || !waits) continue;
        say_that_it_takes_time(s);
        told = true;
    }
    return NULL;
}

/* Starts the thread with signals blocked. Otherwise it would get signals that other threads block later, such as
 * SIGQUIT. */
static int start_hearing(tutti_stop *s)
{
    sigset_t before;
    tutti_signals_hold(&before);
    const int problem = pthread_create(&s->thread, NULL, hear, s);
    tutti_signals_release(&before);
    return problem;
}

static void release(tutti_stop *s)
{
    if (s->signals >= 0) close(s->signals);
    if (s->end >= 0) close(s->end);
    free(s);
}

tutti_status tutti_stop_begin(const char *command, bool speaks, tutti_stop **out, tutti_failure *err)
{
    tutti_stop *s = tutti_alloc(sizeof *s);
    struct sigaction now;
    sigset_t heard;
    s->command = command;
    s->speaks = speaks;
    sigemptyset(&heard);
    for (int i = 0; i < TUTTI_NSTOP_SIGNALS; i++) {
        const int number = tutti_stop_signals[i];
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&heard, number);
    }
    s->signals = signalfd(-1, &heard, SFD_CLOEXEC);
    s->end = eventfd(0, EFD_CLOEXEC);
    pthread_sigmask(SIG_BLOCK, &heard, &s->before);
    int problem = s->signals < 0 || s->end < 0 ? errno : 0;
    if (!problem) problem = start_hearing(s);
    if (problem) {
        pthread_sigmask(SIG_SETMASK, &s->before, NULL);
        release(s);
        return tutti_fail(
            err, TUTTI_ERR_FAILED,
            "cannot start the thread that listens for signals: %s (memory, ulimit -v; processes, ulimit -u)",
            strerror(problem));
    }
    *out = s;
    return TUTTI_OK;
}

void tutti_stop_saves(tutti_stop *stop)
{
    atomic_store(&stop->saves, true);
}

tutti_stop_wish *tutti_stop_as_wish(tutti_stop *stop)
{
    return &stop->wish;
}

int tutti_stop_asked(const tutti_stop *stop)
{
    return __atomic_load_n(&stop->wish.signal_number, __ATOMIC_SEQ_CST);
}

void tutti_stop_end(tutti_stop *stop)
{
    if (!stop) return;
    (void)eventfd_write(stop->end, 1);
    pthread_join(stop->thread, NULL);
    if (!tutti_stop_asked(stop)) pthread_sigmask(SIG_SETMASK, &stop->before, NULL);
    release(stop);
}
