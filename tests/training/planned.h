/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h: what tests of plans ask of them: a configuration's method, an action, a schedule, actions moved about. */
#ifndef TUTTI_PLANNED_H
#define TUTTI_PLANNED_H

#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "training/method/method.h"
#include "training/plan/plan_impl.h"

/* The same, by this method if it names none. */
static inline tutti_plan_config by_method(tutti_plan_config c, const char *method)
{
    if (!c.method) c.method = tutti_method_find(method)->emitter;
    return c;
}

/* An exchange of the plan by its name; -1 = there is none. */
static inline int find_exchange(const tutti_plan *p, const char *name)
{
    for (int x = 0; x < p->nexchanges; x++)
        if (!strcmp(p->exchanges[x].name, name)) return x;
    return -1;
}

/* "gradients of bucket 1" */
static inline int exchange_of(const tutti_plan *p, const char *what, int bucket)
{
    char name[64];
    snprintf(name, sizeof name, "%s of bucket %d", what, bucket);
    const int x = find_exchange(p, name);
    assert_true(x >= 0);
    return x;
}

static inline const tutti_schedule *lowered_of(const tutti_plan *p, int exchange)
{
    return p->schedules[p->exchanges[exchange].schedule].lowered;
}

/* The first action of a kind that concerns an exchange of this name, and how many there are. */
static inline int find_action(const tutti_loop *l, tutti_action_kind kind, int exchange, int *found)
{
    int at = -1, n = 0;
    for (int i = l->nactions - 1; i >= 0; i--)
        if (l->actions[i].kind == kind && l->actions[i].exchange == exchange) at = i, n++;
    if (found) *found = n;
    return at;
}

/* Of waits those for an end. */
static inline int find_wait(const tutti_loop *l, int exchange, unsigned when)
{
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].kind == TUTTI_DO_WAIT && l->actions[i].exchange == exchange && l->actions[i].when == when)
            return i;
    return -1;
}

static inline int find_on_bucket(const tutti_loop *l, tutti_action_kind kind, int bucket)
{
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].kind == kind && l->actions[i].bucket == bucket) return i;
    return -1;
}

static inline void move_action(tutti_loop *l, int from, int to)
{
    tutti_action *a = l->actions, moved = a[from];
    if (to < from)
        memmove(a + to + 1, a + to, sizeof *a * (size_t)(from - to));
    else
        memmove(a + from, a + from + 1, sizeof *a * (size_t)(to - from));
    a[to] = moved;
}

static inline void remove_action(tutti_loop *l, int at)
{
    move_action(l, at, l->nactions - 1);
    l->nactions--;
}

static inline void expect_proof(const tutti_plan *p)
{
    tutti_failure err = {0};
    if (tutti_plan_check(p, &err)) fail_msg("refused: %s", err.text);
}

static inline void expect_refusal(const tutti_plan *p, const char *why)
{
    tutti_failure err = {0};
    const tutti_status st = tutti_plan_check(p, &err);
    if (st != TUTTI_ERR_FAILED || !strstr(err.text, why)) fail_msg("expected '%s' in: %s", why, err.text);
}

#endif
