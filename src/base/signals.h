/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h: blocks the signals of a thread for a while, so that signal handlers run in other threads. Cost: two system
 * calls, less than 1 us together. */
#ifndef TUTTI_BASE_SIGNALS_H
#define TUTTI_BASE_SIGNALS_H

#include <signal.h>

/* Blocks all signals of the calling thread but those that its own faults raise (SIGSEGV and the like), and stores the
 * old mask in `before`. Threads that it starts meanwhile inherit the blocked mask. A signal that arrives goes to
 * another thread, or waits until tutti_signals_release. */
void tutti_signals_hold(sigset_t *before);
/* Restores the mask that tutti_signals_hold stored. */
void tutti_signals_release(const sigset_t *before);

#endif
