/* SPDX-License-Identifier: Apache-2.0 */
/* engines.c: the table of engines (closed form, rounds, events, SimGrid) and how each is asked. */
#include "engines.h"

#include <stdio.h>
#include <string.h>

#include "../events/events.h"
#include "../simulate_impl.h"
#include "simgrid.h"

static const tutti_schedule_header *head_of(const tutti_engine_question *q)
{
    return tutti_schedule_head(q->schedule);
}

static tutti_playing playing_of(const tutti_engine_question *q)
{
    return (tutti_playing){q->schedule, q->topology, q->n};
}

static bool closed_form_can(const tutti_engine_question *q, char why[200])
{
    tutti_closed_form form;
    const tutti_schedule_header *head = head_of(q);
    if (q->late_s)
        snprintf(why, 200, "formulas are for ranks that begin at once");
    else if (!q->algorithm)
        snprintf(why, 200, "a program from elsewhere has no formula");
    else if (q->topology->kind != TUTTI_TOPOLOGY_STAR)
        snprintf(why, 200, "formulas are for a star: one rank a host, a switch that never blocks");
    else if (!tutti_simulate_closed_form(q->algorithm, head->collective, head->nranks, q->n, q->topology, &form))
        snprintf(why, 200, "there is no formula for that algorithm, %s over %d ranks",
                 tutti_collective_name(head->collective), (int)head->nranks);
    else
        return true;
    return false;
}

static tutti_status closed_form_simulate(const tutti_engine_question *q, double *seconds, tutti_failure *err)
{
    tutti_closed_form form;
    (void)err;
    tutti_simulate_closed_form(q->algorithm, head_of(q)->collective, head_of(q)->nranks, q->n, q->topology, &form);
    *seconds = form.seconds;
    return TUTTI_OK;
}

static bool schedule_fits(const tutti_engine_question *q, char why[200])
{
    tutti_failure err = {0};
    if (tutti_simulate_fits(head_of(q), q->topology, &err) == TUTTI_OK) return true;
    snprintf(why, 200, "%.199s", err.text);
    return false;
}

static bool rounds_can(const tutti_engine_question *q, char why[200])
{
    if (!q->late_s) return schedule_fits(q, why);
    snprintf(why, 200, "in rounds all ranks begin at once");
    return false;
}

static tutti_status rounds_simulate(const tutti_engine_question *q, double *seconds, tutti_failure *err)
{
    tutti_simulation sim;
    tutti_status st = tutti_simulate_schedule(q->schedule, q->topology, q->n, &sim, err);
    if (st == TUTTI_OK) *seconds = sim.seconds;
    return st;
}

static bool network_can(const tutti_engine_question *q, char why[200])
{
    const double *figure = q->topology->figure;
    if (q->topology->kind == TUTTI_TOPOLOGY_HOST)
        snprintf(why, 200, "on a host the ranks' cores move the bytes; this plays networks");
    else if (figure[TUTTI_FIGURE_INCAST] > 0 || figure[TUTTI_FIGURE_BURST] > 0)
        snprintf(why, 200,
                 "what several senders to one port cost (incast), and bursts of shaped links, only rounds charge");
    else
        return schedule_fits(q, why);
    return false;
}

static tutti_status events_simulate(const tutti_engine_question *q, double *seconds, tutti_failure *err)
{
    const tutti_playing playing = playing_of(q);
    return tutti_events_run(&playing, q->late_s, seconds, NULL, err);
}

static bool simgrid_can(const tutti_engine_question *q, char why[200])
{
    return network_can(q, why) && tutti_simgrid_found(why);
}

static tutti_status simgrid_simulate(const tutti_engine_question *q, double *seconds, tutti_failure *err)
{
    const tutti_simgrid_options o = {.tcp = false, .limit_s = q->limit_s, .late_s = q->late_s};
    const tutti_playing playing = playing_of(q);
    return tutti_simgrid_run(&playing, &o, seconds, NULL, err);
}

static tutti_status simgrid_tcp_simulate(const tutti_engine_question *q, double *seconds, tutti_failure *err)
{
    const tutti_simgrid_options o = {.tcp = true, .limit_s = q->limit_s, .late_s = q->late_s};
    const tutti_playing playing = playing_of(q);
    return tutti_simgrid_run(&playing, &o, seconds, NULL, err);
}

static const tutti_engine engines[] = {
    {"closed-form", "the formula of the algorithm's paper", closed_form_can, closed_form_simulate},
    {"rounds", "round by round, a barrier after each", rounds_can, rounds_simulate},
    {"events", "no barriers, max-min shares", network_can, events_simulate},
    {"simgrid", "the same, played by SimGrid", simgrid_can, simgrid_simulate},
    {"simgrid-tcp", "SimGrid's model of TCP (LV08)", simgrid_can, simgrid_tcp_simulate},
};

int tutti_engine_count(void)
{
    return sizeof engines / sizeof engines[0];
}

const tutti_engine *tutti_engine_at(int i)
{
    return &engines[i];
}

const tutti_engine *tutti_engine_find(const char *name)
{
    for (int i = 0; i < tutti_engine_count(); i++)
        if (!strcmp(engines[i].name, name)) return &engines[i];
    return NULL;
}

tutti_status tutti_engine_ask(const tutti_engine *e, const tutti_engine_question *q, double *seconds,
                              tutti_failure *err)
{
    char why[200];
    if (!e->can(q, why)) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s", e->name, why);
    return e->simulate(q, seconds, err);
}
