/* SPDX-License-Identifier: Apache-2.0 */
/* engine_local.c: the engine `local`: attempts run on this machine, each beside a keeper that outlives the server. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/process.h"
#include "engine.h"
#include "lease.h"

/* The keepers that this server has started and whose end it has not seen yet: to reap them, and to tell an attempt that
 * is about to begin from one that nobody has begun. */
typedef struct {
    tutti_process process;
    int64_t job;
    int number;
} keeper_child;

typedef struct {
    tutti_engine_options options;
    keeper_child *children;
    int n, capacity;
} local_engine;

static tutti_status open_engine(const tutti_engine_options *options, void **self, tutti_failure *err)
{
    (void)err;
    local_engine *e = tutti_alloc(sizeof *e);
    e->options = *options;
    *self = e;
    return TUTTI_OK;
}

static void close_engine(void *self)
{
    local_engine *e = self; /* the keepers go on */
    free(e->children);
    free(e);
}

static void reap(local_engine *e)
{
    int kept = 0;
    for (int i = 0; i < e->n; i++)
        if (!tutti_process_wait(&e->children[i].process, 0)) e->children[kept++] = e->children[i];
    e->n = kept;
}

static bool is_beginning(local_engine *e, const tutti_attempt *a)
{
    reap(e);
    for (int i = 0; i < e->n; i++)
        if (e->children[i].job == a->job && e->children[i].number == a->number) return true;
    return false;
}

static tutti_status start(void *self, const tutti_attempt *a, tutti_strbuf *handle, tutti_failure *err)
{
    local_engine *e = self;
    int nargs = 0;
    sigset_t none;
    (void)handle; /* the folder says all */
    while (a->argv[nargs]) nargs++;
    const char *head[] = {"tutti-server", "keep", a->is_train ? "--gentle" : "--blunt", a->folder, a->working, "--"};
    const int nhead = sizeof head / sizeof *head;
    const char **argv = tutti_alloc(sizeof *argv * (size_t)(nhead + nargs + 1));
    for (int i = 0; i < nhead; i++) argv[i] = head[i];
    for (int i = 0; i < nargs; i++) argv[nhead + i] = a->argv[i];
    sigemptyset(&none);
    const tutti_process_options options = {
        .argv = argv,
        .program = e->options.keeper,
        .in = TUTTI_STREAM_NOTHING,
        .out = TUTTI_STREAM_NOTHING,
        .err = TUTTI_STREAM_NOTHING,
        .mask = &none,
        .folder = "/",
    };
    reap(e);
    e->children = tutti_grow(e->children, e->n, &e->capacity, sizeof *e->children);
    keeper_child *child = &e->children[e->n];
    *child = (keeper_child){.job = a->job, .number = a->number};
    tutti_status st = tutti_process_start(&options, &child->process, err);
    if (!st) e->n++;
    free(argv);
    return st;
}

static void look(void *self, const tutti_attempt *a, tutti_attempt_view *out)
{
    static const tutti_attempt_state states[] = {
        [TUTTI_LEASE_NEVER] = TUTTI_ATTEMPT_NEVER,
        [TUTTI_LEASE_HELD] = TUTTI_ATTEMPT_ALIVE,
        [TUTTI_LEASE_ENDED] = TUTTI_ATTEMPT_ENDED,
        [TUTTI_LEASE_LOST] = TUTTI_ATTEMPT_LOST,
    };
    tutti_lease_view view;
    tutti_failure err = {0};
    /* asked before the folder is looked at: a keeper that ends in between has made it by then */
    const bool begins = is_beginning(self, a);
    *out = (tutti_attempt_view){.state = TUTTI_ATTEMPT_UNKNOWN};
    if (tutti_lease_look(a->folder, &view, &err)) {
        snprintf(out->words, sizeof out->words, "%.199s", err.text);
        return;
    }
    out->state = view.state == TUTTI_LEASE_NEVER && begins ? TUTTI_ATTEMPT_WAITING : states[view.state];
    out->code = view.code;
    out->at = view.at;
    out->nasked = view.nasked;
    if (view.state == TUTTI_LEASE_HELD) out->seen = tutti_clock_wall_s();
    if (view.state == TUTTI_LEASE_LOST)
        snprintf(out->words, sizeof out->words,
                 "its keeper has ended without a word: it was killed, or this machine "
                 "has started again");
}

static tutti_status send_signal(void *self, const tutti_attempt *a, int signal_number, tutti_failure *err)
{
    bool sent;
    (void)self;
    return tutti_lease_signal(a->folder, signal_number, &sent, err);
}

static tutti_status give_up(void *self, const tutti_attempt *a, bool *revoked, tutti_failure *err)
{
    (void)self;
    return tutti_lease_revoke(a->folder, revoked, err);
}

const tutti_job_engine tutti_job_engine_local = {
    .name = "local",
    .open = open_engine,
    .close = close_engine,
    .start = start,
    .poll = look,
    .signal = send_signal,
    .revoke = give_up,
};
