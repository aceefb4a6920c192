/* SPDX-License-Identifier: Apache-2.0 */
/* visits_turns.h: whose turn it is to visit, and who is dealt which share where shares come in order, among workers
 * that may be lost at any point.
 *
 * Both lie in memory that all workers map, and each word says enough for another worker to go on from it: of a ticket,
 * who has drawn it or is about to; of a worker, how many of its shares have been dealt. There is nothing to repair: who
 * waits in vain sees that nobody who lives has the turn, and passes it on.
 *
 * is_gone must be true only of a worker that touches this memory no more, and stay true. Threads: the owner of each
 * rank's view; deal: any one at a time of a rank. */
#ifndef TUTTI_VISITS_TURNS_H
#define TUTTI_VISITS_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TUTTI_TICKET_DRAWS = -1 };

/* What one worker writes, but for `dealt` and `left`. Zeros at first. */
typedef struct {
    _Alignas(64) _Atomic int64_t ticket; /* 1 + the one that it drew last, or TUTTI_TICKET_DRAWS: it draws one */
    _Atomic int64_t brought; /* in rank order: 1 + the ticket for which what it brings from another host is there */
    _Atomic bool rests;      /* at a stop: it comes to no turn before the next stretch */
    _Alignas(64) _Atomic int64_t dealt; /* shares of its column, to itself, as long as nobody is gone */
    _Atomic int64_t left;               /* shares of its column that were dealt since */
    _Atomic int64_t behind;             /* the last share that it was dealt, and one: none below comes to it any more */
} tutti_turns_line;

typedef struct {
    _Alignas(64) _Atomic int64_t tail;   /* tickets drawn */
    _Alignas(64) _Atomic int64_t head;   /* who may come in */
    _Alignas(64) _Atomic int64_t common; /* shares that were dealt to whoever came */
    _Alignas(64) tutti_turns_line workers[];
} tutti_turns_board;

size_t tutti_turns_bytes(int nranks);

/* One worker's view. */
typedef struct {
    tutti_turns_board *board;
    int rank, nranks;
    bool (*is_gone)(const void *arg, int rank);
    const void *arg;
} tutti_turns;

/* By arrival: the next ticket. In rank order: this worker's next turn. */
int64_t tutti_turns_draw(const tutti_turns *t);
int64_t tutti_turns_next(const tutti_turns *t);
/* Who has the turn before this ticket's; -1: it is this ticket's turn. Turns of which nobody makes use are passed
 * on. */
int tutti_turns_drawn_by(const tutti_turns *t, int64_t ticket);
int tutti_turns_awaited(const tutti_turns *t, int64_t ticket);
/* After it: the visit has ended. */
void tutti_turns_leave(const tutti_turns *t, int64_t ticket);
/* In rank order: whether what that worker brings from another host to a turn before this ticket's is still to come.
 * Then: what this worker brings is there. */
bool tutti_turns_is_to_bring(const tutti_turns *t, int rank, int64_t ticket);
void tutti_turns_bring(const tutti_turns *t, int64_t ticket);

/* Where all meet (true) and before they go on (false). */
void tutti_turns_rest(const tutti_turns *t, bool rests);
/* Whether others need not wait for what this worker does next. */
bool tutti_turns_is_out(const tutti_turns *t, int rank);

/* Worker r is dealt shares begin + r, begin + r + nranks, .., its column, until somebody is gone. Then all that come
 * after those are dealt in common, by arrival, and what is left of the columns goes to its owner, or to the first who
 * comes and has been dealt none behind it. So a worker's shares always ascend, and when it is dealt one behind a stop
 * it has all before. What nobody can be dealt any more is played by nobody. -1: there is none. */
int64_t tutti_turns_deal(const tutti_turns *t, int64_t begin, int64_t end);

#endif
