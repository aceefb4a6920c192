/* SPDX-License-Identifier: Apache-2.0 */
/* bringing.h: turns in which workers of other hosts send to rank 0. Which worker of another host brings its vector to
 * rank 0 next, where they come by arrival: who is ready first, and one at a time, so that the port into rank 0's host
 * has one sender, and who was ready first is there as soon as can be. (In rank order: visits.h.)
 *
 * A turn is no lock: who stands still with it is gone past when it has lasted a second longer than twice the longest
 * one before. Then several bring at a time. Threads: shared. */
#ifndef TUTTI_BRINGING_H
#define TUTTI_BRINGING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tutti_bringing tutti_bringing;

tutti_bringing *tutti_bringing_create(void);
void tutti_bringing_destroy(tutti_bringing *b); /* NULL is accepted */
/* A worker is ready: its turn, which must be ended, whatever becomes of the worker. */
int64_t tutti_bringing_draw(tutti_bringing *b);
/* Until that turn has come. False: gives_up, which is asked ten times a second, said so. */
bool tutti_bringing_await(tutti_bringing *b, int64_t turn, bool (*gives_up)(const void *arg), const void *arg);
/* What it has brought is there, or never will be. */
void tutti_bringing_end(tutti_bringing *b, int64_t turn);

#endif
