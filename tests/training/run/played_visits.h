/* SPDX-License-Identifier: Apache-2.0 */
/* played_visits.h: jobs whose workers visit a centre, played on ranks that are threads: what they said, and the order
 * of visits that some of whom are held up. */
#ifndef TUTTI_PLAYED_VISITS_H
#define TUTTI_PLAYED_VISITS_H

#include "played_weights.h"

#include "training/run/visit/board/visits_order.h"

enum { HEARD_MOST_STEPS = 64 };

/* What a run said. */
typedef struct {
    double loss[HEARD_MOST_STEPS];
    int64_t last_step;
    char visits[600], cost[1600];
} heard;

static inline void hear(void *arg, const tutti_train_event *e)
{
    heard *h = arg;
    if (e->kind == TUTTI_TRAIN_VISITS) snprintf(h->visits, sizeof h->visits, "%s", e->text);
    if (e->kind == TUTTI_TRAIN_COST) snprintf(h->cost, sizeof h->cost, "%s", e->text);
    if (e->kind != TUTTI_TRAIN_STEP || e->step >= HEARD_MOST_STEPS) return;
    h->loss[e->step] = e->loss;
    h->last_step = e->step;
}

static inline tutti_train_result run(played_job *j, heard *h)
{
    memset(h, 0, sizeof *h);
    j->on_event = hear;
    j->on_event_arg = h;
    play_job(j);
    for (int r = 0; r < j->nranks; r++) {
        if (j->err[r].status) fail_msg("rank %d: %s\n%s", r, j->err[r].text, j->text);
        assert_true(j->result[r].weights_hash == j->result[0].weights_hash);
        assert_int_equal(j->result[r].step, j->result[0].step);
    }
    return j->result[0];
}

static inline void take_folder(char dir[40])
{
    snprintf(dir, 40, "/tmp/tutti-visits-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static inline void drop_folder(const char *dir)
{
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

/* Of a run of `job`, `nsteps` steps by this method on three ranks, with a worker that computes slowly and one that
 * stands still. */
static inline tutti_visits_order held_up(const char *job, int nsteps, const char *method, bool wired)
{
    char dir[40], path[80], text[600];
    heard h;
    tutti_visits_order o;
    take_folder(dir);
    snprintf(path, sizeof path, "%s/order.json", dir);
    snprintf(text, sizeof text, "%smethod: {name: %s}\n", job, method);
    played_job j = {.text = text,
                    .nranks = 3,
                    .wired = wired,
                    .record = path,
                    .handicap = {[1] = {.slowness = 4}, [2] = {0, 0.2, 3}}};
    run(&j, &h);
    assert_int_equal(tutti_visits_order_read(path, &o, NULL), TUTTI_OK);
    assert_int_equal(o.nvisits, 3 * nsteps);
    drop_folder(dir);
    return o;
}

/* Whoever is held up: rank order stays, and bounds of less than nbounds hold. */
static inline void expect_turns_and_bounds(const char *job, int nsteps, bool wired, int nbounds)
{
    tutti_visits_order o = held_up(job, nsteps, "easgd", wired);
    for (int64_t i = 0; i < o.nvisits; i++) assert_int_equal(o.visits[i], i % 3);
    tutti_visits_order_release(&o);
    for (int bound = 0; bound < nbounds; bound++) {
        char method[60];
        int64_t done[3] = {0};
        snprintf(method, sizeof method, "bounded-sgd, staleness: %d", bound);
        o = held_up(job, nsteps, method, wired);
        for (int64_t i = 0; i < o.nvisits; i++) {
            done[o.visits[i]]++;
            for (int r = 0; r < 3; r++) assert_true(done[o.visits[i]] <= done[r] + bound + 1);
        }
        tutti_visits_order_release(&o);
    }
    o = held_up(job, nsteps, "async-sgd", wired); /* who does how much is chance; all is done */
    tutti_visits_order_release(&o);
}

#endif
