/* SPDX-License-Identifier: Apache-2.0 */
/* predict_wait.h: a line on stderr, every five seconds, that says how long a prediction has taken and what is
 * predicted. A thread prints it, so that the code that predicts need not look at the clock. Threads: one at a time;
 * tutti_predict_wait_at: the thread that predicts. */
#ifndef TUTTI_CLI_PREDICT_WAIT_H
#define TUTTI_CLI_PREDICT_WAIT_H

#include <stdio.h>

typedef struct tutti_predict_wait tutti_predict_wait;

/* Begins to print lines during a long wait. after_s: seconds before the first line and between lines (5). Returns NULL
 * if no thread can be started; the other functions accept NULL. */
tutti_predict_wait *tutti_predict_wait_begin(FILE *to, double after_s);
/* Called when prediction i of n begins, with `nranks` ranks; arg is the wait. */
void tutti_predict_wait_at(void *arg, int nranks, int i, int n);
void tutti_predict_wait_end(tutti_predict_wait *w);

#endif
