/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c: blocks and restores the signals of the calling thread (signals.h). */
#include "signals.h"

#include <pthread.h>

void tutti_signals_hold(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_SETMASK, &held, before);
}

void tutti_signals_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
