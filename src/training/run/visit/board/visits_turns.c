/* SPDX-License-Identifier: Apache-2.0 */
/* visits_turns.c: gives workers their turns and deals shares in order (visits_turns.h).
 *
 * The lock is a ticket lock whose holder may die. All accesses are sequentially consistent. Invariant: from before a
 * ticket is drawn until after the head has passed it, the line of its owner names the ticket or says that a ticket is
 * being drawn. Suppose that a worker reads the head, and then finds no living worker whose line says one of the two.
 * Then the owner of the head's ticket is dead, or it has ended its visit in between. If it has ended, the head has
 * moved, and the worker's compare-exchange, which would pass the turn on, fails. */
#include "visits_turns.h"

static bool is_gone(const tutti_turns *t, int rank)
{
    return rank != t->rank && t->is_gone(t->arg, rank);
}

size_t tutti_turns_bytes(int nranks)
{
    return sizeof(tutti_turns_board) + sizeof(tutti_turns_line) * (size_t)nranks;
}

/* ---- turns ---- */

int64_t tutti_turns_draw(const tutti_turns *t)
{
    tutti_turns_line *own = &t->board->workers[t->rank];
    atomic_store(&own->ticket, TUTTI_TICKET_DRAWS);
    const int64_t ticket = atomic_fetch_add(&t->board->tail, 1);
    atomic_store(&own->ticket, ticket + 1);
    return ticket;
}

static int64_t next_of(const tutti_turns *t, int rank)
{
    const int64_t head = atomic_load(&t->board->head);
    return head + (rank - head % t->nranks + t->nranks) % t->nranks;
}

/* Returns the worker's next turn. The head cannot pass the turn of a rank that lives and does not rest, so the turn is
 * still to come. */
int64_t tutti_turns_next(const tutti_turns *t)
{
    return next_of(t, t->rank);
}

static void pass_on(const tutti_turns *t, int64_t head)
{
    atomic_compare_exchange_strong(&t->board->head, &head, head + 1);
}

/* Returns the owner of a ticket; -1: no living worker. A worker that is drawing may have drawn this ticket: it will
 * soon say so. */
static int owner_of(const tutti_turns *t, int64_t ticket)
{
    int draws = -1;
    for (int r = 0; r < t->nranks; r++) {
        if (is_gone(t, r)) continue;
        const int64_t says = atomic_load(&t->board->workers[r].ticket);
        if (says == ticket + 1) return r;
        if (says == TUTTI_TICKET_DRAWS) draws = r;
    }
    return draws;
}

int tutti_turns_drawn_by(const tutti_turns *t, int64_t ticket)
{
    for (;;) {
        const int64_t head = atomic_load(&t->board->head);
        if (head >= ticket) return -1;
        const int owner = owner_of(t, head);
        if (owner >= 0) return owner;
        pass_on(t, head);
    }
}

int tutti_turns_awaited(const tutti_turns *t, int64_t ticket)
{
    for (;;) {
        const int64_t head = atomic_load(&t->board->head);
        const int owner = (int)(head % t->nranks);
        if (head >= ticket) return -1;
        if (!tutti_turns_is_out(t, owner)) return owner;
        pass_on(t, head);
    }
}

void tutti_turns_leave(const tutti_turns *t, int64_t ticket)
{
    atomic_store(&t->board->head, ticket + 1);
}

/* True if the rank's vector, for a turn before this ticket, is still to come. The worker with the lowest ticket waits
 * for nobody, and each worker goes on once the worker before it has brought its vector: so no worker waits for ever. */
bool tutti_turns_is_to_bring(const tutti_turns *t, int rank, int64_t ticket)
{
    const int64_t its = next_of(t, rank);
    return its < ticket && atomic_load(&t->board->workers[rank].brought) <= its && !tutti_turns_is_out(t, rank);
}

void tutti_turns_bring(const tutti_turns *t, int64_t ticket)
{
    atomic_store(&t->board->workers[t->rank].brought, ticket + 1);
}

void tutti_turns_rest(const tutti_turns *t, bool rests)
{
    atomic_store(&t->board->workers[t->rank].rests, rests);
}

bool tutti_turns_is_out(const tutti_turns *t, int rank)
{
    return is_gone(t, rank) || atomic_load(&t->board->workers[rank].rests);
}

/* ---- shares ---- */

static const int64_t CLOSED = (int64_t)1 << 62; /* bit of `dealt`: the worker's column of shares is closed */

static bool is_anybody_gone(const tutti_turns *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (is_gone(t, r)) return true;
    return false;
}

/* Closes the columns of all workers (tutti_turns_deal). Returns the first of the common shares: neither it nor any
 * share after it was dealt from a column. All calls return the same share. */
static int64_t close_columns(const tutti_turns *t, int64_t begin)
{
    int64_t common = begin;
    for (int r = 0; r < t->nranks; r++) {
        const int64_t dealt = atomic_fetch_or(&t->board->workers[r].dealt, CLOSED) & ~CLOSED;
        const int64_t next = begin + r + t->nranks * dealt;
        common = next > common ? next : common;
    }
    return common;
}

/* True if another living worker can still be dealt the share. */
static bool can_others_take(const tutti_turns *t, int64_t share)
{
    for (int r = 0; r < t->nranks; r++)
        if (r != t->rank && !is_gone(t, r) && atomic_load(&t->board->workers[r].behind) <= share) return true;
    return false;
}

/* Returns the first share that remains of a worker's closed column and that this worker can take; `end` = none. *left:
 * how many shares of the column were dealt after it was closed and before this share. */
static int64_t left_in(const tutti_turns *t, int column, int64_t begin, int64_t end, int64_t *left)
{
    tutti_turns_line *line = &t->board->workers[column];
    const int64_t dealt = atomic_load(&line->dealt) & ~CLOSED, behind = atomic_load(&t->board->workers[t->rank].behind);
    for (;;) {
        *left = atomic_load(&line->left);
        const int64_t share = begin + column + t->nranks * (dealt + *left);
        if (share >= end) return end;
        if (share >= behind) return share;
        if (can_others_take(t, share)) return end;
        atomic_compare_exchange_strong(&line->left, left, *left + 1); /* no worker can take it any more */
    }
}

/* Deals the lowest share that remains in the worker's own column or in columns of workers that are gone; if none does,
 * a common share, by arrival. */
static int64_t deal_in_common(const tutti_turns *t, int64_t begin, int64_t end)
{
    const int64_t common = close_columns(t, begin), border = common < end ? common : end;
    for (;;) {
        int64_t share = border, left = 0;
        int column = -1;
        for (int r = 0; r < t->nranks; r++) {
            int64_t n = 0;
            const int64_t one = r == t->rank || is_gone(t, r) ? left_in(t, r, begin, border, &n) : border;
            if (one < share) share = one, left = n, column = r;
        }
        if (column < 0) return border < end ? common + atomic_fetch_add(&t->board->common, 1) : end;
        if (atomic_compare_exchange_strong(&t->board->workers[column].left, &left, left + 1)) return share;
    }
}

int64_t tutti_turns_deal(const tutti_turns *t, int64_t begin, int64_t end)
{
    tutti_turns_line *own = &t->board->workers[t->rank];
    int64_t dealt = atomic_load(&own->dealt), share = begin + t->rank + t->nranks * dealt;
    if (dealt & CLOSED || is_anybody_gone(t) || !atomic_compare_exchange_strong(&own->dealt, &dealt, dealt + 1))
        share = deal_in_common(t, begin, end);
    atomic_store(&own->behind, share + 1);
    return share < end ? share : -1;
}
