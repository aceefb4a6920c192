/* SPDX-License-Identifier: Apache-2.0 */
/* visitor.h: how a worker of another host comes by what stands on the board of visits, which it cannot see (visits.h):
 * it asks rank 0, once a local step, and is answered; two exchanges of a few numbers, between the two, by schedules
 * that the plan has proved.
 *
 * An ask says which share the worker wants to begin, that one has ended, with which loss, and whether somebody wants
 * the run to end. An answer says whether the share may be begun, and which one the worker is dealt behind those that it
 * has: it begins with as many as its loader takes ahead, and one more.
 *
 * The ask for the next share goes as soon as all that it says of this one is known: with what the worker brings to the
 * centre, so that rank 0, which takes that first, answers right behind what comes of it; in a step without a visit
 * behind the forward pass. What rank 0 does, and in which order, is what it would do if it were asked when the next
 * share begins; only that no trip there and back is waited for.
 *
 * Threads: owner, but for tutti_visitor_deal: any one at a time. */
#ifndef TUTTI_VISITOR_H
#define TUTTI_VISITOR_H

#include "../../../../collective/exchange/executor.h"
#include "../../../../data/dataset.h"
#include "../../../plan/plan.h"

enum { TUTTI_SHARES_AHEAD = TUTTI_LOADER_AHEAD + 1 };

typedef struct {
    int64_t share;     /* -1 = there is none left: it comes to say what is said below */
    int64_t has_ended; /* the share before */
    double loss;       /* its sum */
    int64_t wants_end;
} tutti_share_question;

typedef struct {
    int64_t may;
    int64_t dealt; /* where it may: a share, -1 = there is none */
} tutti_share_answer;

/* The exchanges of all workers of other hosts. */
typedef struct tutti_asks tutti_asks;
/* Collective. */
tutti_status tutti_asks_create(tutti_group *group, const tutti_plan *plan, tutti_asks **out, tutti_failure *err);
void tutti_asks_destroy(tutti_asks *a); /* NULL is accepted */
/* Of this worker, as this rank has them, which is that worker or rank 0. */
tutti_exchange *tutti_asks_ask(const tutti_asks *a, int worker);
tutti_exchange *tutti_asks_answer(const tutti_asks *a, int worker);
tutti_share_question *tutti_asks_asked(const tutti_asks *a, int worker);
tutti_share_answer *tutti_asks_answered(const tutti_asks *a, int worker);

/* The worker's side. */
typedef struct tutti_visitor tutti_visitor;
tutti_visitor *tutti_visitor_create(const tutti_asks *a, int rank, const int64_t first[TUTTI_SHARES_AHEAD]);
void tutti_visitor_destroy(tutti_visitor *v); /* NULL is accepted */
/* The next share; -1 = there is none. */
int64_t tutti_visitor_deal(tutti_visitor *v);
/* Asks for the share behind the one that was begun last, which ends with this loss; also where there is none. */
void tutti_visitor_ask_ahead(tutti_visitor *v, double loss);
/* Asks, if it has not; the answer. TUTTI_ERR_PEER as a wait for an exchange. */
tutti_status tutti_visitor_begin(tutti_visitor *v, int64_t share, bool *may, tutti_failure *err);
/* What the next ask says. */
void tutti_visitor_end(tutti_visitor *v, double loss);
void tutti_visitor_want_end(tutti_visitor *v);

#endif
