/* SPDX-License-Identifier: Apache-2.0 */
/* bringing.h: turns in which workers of other hosts send to rank 0, if workers visit in order of arrival. One worker
 * sends its vector at a time, in the order in which workers become ready. So the link into rank 0's host serves one
 * sender at a time, and the first vector arrives as soon as possible. (For visits in rank order see visits.h.)
 *
 * A turn is not a lock: if a turn lasts a second longer than twice the longest turn before, the next worker goes on.
 * Then several workers send at a time. Threads: any. */
#ifndef TUTTI_BRINGING_H
#define TUTTI_BRINGING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tutti_bringing tutti_bringing;

tutti_bringing *tutti_bringing_create(void);
void tutti_bringing_destroy(tutti_bringing *b); /* NULL is accepted */
/* Takes a turn for a worker that is ready. The turn must be ended, whatever becomes of the worker. */
int64_t tutti_bringing_draw(tutti_bringing *b);
/* Waits for that turn. Returns false if gives_up, which is called ten times a second, returned true. */
bool tutti_bringing_await(tutti_bringing *b, int64_t turn, bool (*gives_up)(const void *arg), const void *arg);
/* Ends the turn: the worker's vector has arrived, or never will. */
void tutti_bringing_end(tutti_bringing *b, int64_t turn);

#endif
