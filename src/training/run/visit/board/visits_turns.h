/* SPDX-License-Identifier: Apache-2.0 */
/* visits_turns.h: decides which worker may visit next, and which share it is dealt where shares are dealt in order. Any
 * worker may be lost at any point.
 *
 * Turns and shares lie in memory that all workers map. From each word alone another worker knows how to continue: which
 * worker has drawn a ticket or is drawing one, and how many of a worker's shares have been dealt. Nothing needs repair:
 * a worker that waits in vain sees that no living worker has the turn, and passes it on.
 *
 * is_gone must be true only for a worker that uses this memory no more, and must stay true. Threads: the owner of each
 * rank's view; deal: any one thread of a rank at a time. */
#ifndef TUTTI_VISITS_TURNS_H
#define TUTTI_VISITS_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TUTTI_TICKET_DRAWS = -1 };

/* Words that one worker writes; others may write `dealt` and `left` too. Zeros at first. */
typedef struct {
    _Alignas(64) _Atomic int64_t ticket; /* 1 + the ticket that the worker drew last, or TUTTI_TICKET_DRAWS while it
                                          * draws a ticket */
    /* in rank order: 1 + the ticket for which the worker's vector has arrived from another host */
    _Atomic int64_t brought;
    _Atomic bool rests;                 /* the worker is at a stop (where all ranks meet) and takes no turn before it
                                         * goes on */
    _Alignas(64) _Atomic int64_t dealt; /* shares of the worker's column that were dealt to the worker before any was
                                         * gone */
    _Atomic int64_t left;               /* shares of the worker's column that were dealt after a worker was gone */
    _Atomic int64_t behind;             /* 1 + the last share that the worker was dealt; it is dealt no share below this
                                         * number any more */
} tutti_turns_line;

typedef struct {
    _Alignas(64) _Atomic int64_t tail;   /* tickets drawn */
    _Alignas(64) _Atomic int64_t head;   /* the ticket whose worker may visit */
    _Alignas(64) _Atomic int64_t common; /* shares that were dealt by arrival */
    _Alignas(64) tutti_turns_line workers[];
} tutti_turns_board;

size_t tutti_turns_bytes(int nranks);

/* One worker's view of the board. */
typedef struct {
    tutti_turns_board *board;
    int rank, nranks;
    bool (*is_gone)(const void *arg, int rank);
    const void *arg;
} tutti_turns;

/* tutti_turns_draw: returns the next ticket, for visits by arrival. tutti_turns_next: returns this worker's next turn,
 * for visits in rank order. */
int64_t tutti_turns_draw(const tutti_turns *t);
int64_t tutti_turns_next(const tutti_turns *t);
/* tutti_turns_drawn_by: the worker that has the turn before this ticket; -1: it is this ticket's turn. Turns that
 * nobody uses are passed on. */
int tutti_turns_drawn_by(const tutti_turns *t, int64_t ticket);
int tutti_turns_awaited(const tutti_turns *t, int64_t ticket);
/* Ends the visit with this ticket. */
void tutti_turns_leave(const tutti_turns *t, int64_t ticket);
/* In rank order. tutti_turns_is_to_bring: true if that worker's vector from another host, for a turn before this
 * ticket, has still to arrive. tutti_turns_bring: this worker's vector has arrived. */
bool tutti_turns_is_to_bring(const tutti_turns *t, int rank, int64_t ticket);
void tutti_turns_bring(const tutti_turns *t, int64_t ticket);

/* Tells the others whether this worker rests. Call it with true where all ranks meet, and with false before they go
 * on. */
void tutti_turns_rest(const tutti_turns *t, bool rests);
/* True if no worker need wait for this worker: it is gone or rests. */
bool tutti_turns_is_out(const tutti_turns *t, int rank);

/* Returns the next share for this worker; -1 = there is none. Worker r is dealt shares begin + r, begin + r + nranks,
 * .., its column, until a worker is gone. From then on the shares after those dealt already are dealt by arrival, and
 * the rest of a column goes to its owner, or to the first worker that comes and has been dealt no later share. So a
 * worker's shares always ascend, and a worker that is dealt a share behind a stop has got all its shares before it.
 * Shares that can be dealt to no worker any more are not played. */
int64_t tutti_turns_deal(const tutti_turns *t, int64_t begin, int64_t end);

#endif
