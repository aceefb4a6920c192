/* SPDX-License-Identifier: Apache-2.0 */
/* predict_wait.h: a line on stderr, every five seconds, that says how long a prediction has taken and what is
 * predicted. A thread says it, so that no part of a prediction need ask for the time. Threads: owner;
 * tutti_predict_wait_at by the one that predicts. */
#ifndef TUTTI_CLI_PREDICT_WAIT_H
#define TUTTI_CLI_PREDICT_WAIT_H

#include <stdio.h>

typedef struct tutti_predict_wait tutti_predict_wait;

/* after_s: 5; NULL where no thread can be had, which the others take too. */
tutti_predict_wait *tutti_predict_wait_begin(FILE *to, double after_s);
/* arg is the wait: count i of n, of so many ranks, is next. */
void tutti_predict_wait_at(void *arg, int nranks, int i, int n);
void tutti_predict_wait_end(tutti_predict_wait *w);

#endif
