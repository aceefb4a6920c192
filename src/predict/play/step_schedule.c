/* SPDX-License-Identifier: Apache-2.0 */
/* step_schedule.c: plays the schedules of a data-parallel step. Each schedule is a row of a table. A step has two
 * lanes, for computing and for messages; both go on at the same time. */
#include "step_schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

static const tutti_step_schedule rows[] = {
    {"bsp", "one thing after the other, a message a layer", false, false, false, TUTTI_MESSAGES_EACH},
    {"bsp-one", "one thing after the other, all gradients in one message", false, false, false, TUTTI_MESSAGES_ONE},
    {"io", "as bsp, the next batch is read beside the step", true, false, false, TUTTI_MESSAGES_EACH},
    {"wfbp", "exchanges begin as gradients come, a message a layer", true, true, false, TUTTI_MESSAGES_EACH},
    {"mg-wfbp", "as wfbp, neighbours merged so that the step ends soonest", true, true, false, TUTTI_MESSAGES_BEST},
    {"priority", "as wfbp, what is needed first goes first, the next forward pass waits for each layer alone", true,
     true, true, TUTTI_MESSAGES_EACH},
};

int tutti_step_schedule_count(void)
{
    return (int)(sizeof rows / sizeof rows[0]);
}

const tutti_step_schedule *tutti_step_schedule_at(int i)
{
    return &rows[i];
}

const tutti_step_schedule *tutti_step_schedule_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

/* The gradients that are exchanged, in the order in which they become ready. */
typedef struct {
    tutti_merge_item *items; /* for each gradient: when it is ready, from the beginning of the backward pass */
    int *layer;              /* index of the layer of each item */
    bool *starts;
    int n;
    int64_t forward_ns, backward_ns, bytes;
} travel;

static void open_travel(const tutti_step_work *w, travel *t)
{
    *t = (travel){0};
    t->items = tutti_alloc(sizeof *t->items * (size_t)(w->nlayers + 1));
    t->layer = tutti_alloc(sizeof *t->layer * (size_t)(w->nlayers + 1));
    t->starts = tutti_alloc(sizeof *t->starts * (size_t)(w->nlayers + 1));
    for (int l = w->nlayers - 1; l >= 0; l--) {
        t->forward_ns += w->layers[l].forward_ns;
        t->backward_ns += w->layers[l].backward_ns;
        if (w->layers[l].bytes == 0) continue;
        t->items[t->n] = (tutti_merge_item){t->backward_ns, w->layers[l].bytes};
        t->layer[t->n++] = l;
        t->bytes += w->layers[l].bytes;
    }
}

static void close_travel(travel *t)
{
    free(t->items);
    free(t->layer);
    free(t->starts);
}

/* Decides which gradients travel in one message: marks the first item of each message. */
static void group(const tutti_step_schedule *s, const tutti_exchange_cost *cost, travel *t)
{
    if (s->messages == TUTTI_MESSAGES_BEST) (void)tutti_merge_best(t->items, t->n, cost, t->starts);
    for (int i = 0; i < t->n && s->messages != TUTTI_MESSAGES_BEST; i++)
        t->starts[i] = i == 0 || s->messages == TUTTI_MESSAGES_EACH;
}

/* Plays all messages in the order in which they become ready. Returns when the last ends, from the beginning of the
 * backward pass. */
static int64_t play_in_order(const travel *t, const tutti_exchange_cost *cost, tutti_step_times *out)
{
    tutti_merge_group *groups = tutti_alloc(sizeof *groups * (size_t)(t->n + 1));
    const int64_t end_ns = tutti_merge_play(t->items, t->n, cost, t->starts, groups, &out->nmessages);
    for (int g = 0; g < out->nmessages; g++) out->exchange_ns += tutti_exchange_cost_ns(cost, groups[g].bytes);
    free(groups);
    return end_ns;
}

/* Sends gradients by need: among the gradients that are ready, that of the layer next to the input goes first.
 * *there_ns: when each layer's gradient has arrived; *own_ns: the time that the ranks' own cores spend on messages. */
static void send_by_need(const travel *t, const tutti_exchange_cost *cost, int64_t *there_ns, int64_t *own_ns)
{
    bool *sent = tutti_alloc(sizeof *sent * (size_t)(t->n + 1));
    int64_t lane_ns = 0;
    for (int left = t->n, first = 0; left > 0; left--) {
        while (sent[first]) first++;
        if (t->items[first].ready_ns > lane_ns) lane_ns = t->items[first].ready_ns;
        int next = first;
        for (int i = first; i < t->n && t->items[i].ready_ns <= lane_ns; i++)
            /* takes the last ready item, because later gradients are of layers nearer to the input */
            if (!sent[i]) next = i;
        const int64_t whole = tutti_exchange_cost_ns(cost, t->items[next].bytes),
                      hidden = llround(cost->overlap * (double)whole);
        lane_ns += hidden;
        *own_ns += whole - hidden;
        there_ns[next] = lane_ns;
        sent[next] = true;
    }
    free(sent);
}

/* Plays from the beginning of a backward pass to that of the next. When a backward pass begins, all earlier messages
 * have arrived, so every step is like the one before. A layer's share of the update, by its bytes, is done before its
 * forward pass. */
static int64_t play_by_need(const tutti_step_work *w, const travel *t, const tutti_exchange_cost *cost)
{
    int64_t *there_ns = tutti_alloc(sizeof *there_ns * (size_t)(t->n + 1)), now_ns = t->backward_ns, own_ns = 0,
            bytes = 0;
    int next = t->n - 1;
    send_by_need(t, cost, there_ns, &own_ns);
    for (int l = 0; l < w->nlayers; l++) {
        if (next >= 0 && t->layer[next] == l) {
            if (there_ns[next] > now_ns) now_ns = there_ns[next];
            const int64_t before = llround((double)w->update_ns * ((double)bytes / (double)t->bytes));
            bytes += t->items[next--].bytes;
            now_ns += llround((double)w->update_ns * ((double)bytes / (double)t->bytes)) - before;
        }
        now_ns += w->layers[l].forward_ns;
    }
    free(there_ns);
    return now_ns + own_ns;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Plays a step without the time of reading and copying samples. */
static int64_t play_exchanges(const tutti_step_schedule *s, const tutti_step_work *w, const tutti_exchange_cost *cost,
                              tutti_step_times *out)
{
    travel t;
    int64_t ns = out->compute_ns;
    open_travel(w, &t);
    group(s, cost, &t);
    const int64_t end_ns = play_in_order(&t, cost, out);
    if (s->by_need)
        ns = longer(ns, play_by_need(w, &t, cost));
    else if (s->exchanges_beside && cost->overlap > 0)
        ns += longer(end_ns - t.backward_ns, 0);
    else
        ns += out->exchange_ns;
    close_travel(&t);
    return ns;
}

void tutti_step_schedule_play(const tutti_step_schedule *s, const tutti_step_work *work,
                              const tutti_exchange_cost *cost, tutti_step_times *out)
{
    tutti_step_times o = {.io_ns = work->read_ns + work->copy_ns, .compute_ns = work->update_ns};
    for (int l = 0; l < work->nlayers; l++) o.compute_ns += work->layers[l].forward_ns + work->layers[l].backward_ns;
    const int64_t busy_ns = cost ? play_exchanges(s, work, cost, &o) : o.compute_ns;
    const int64_t alone_ns = s->reads_beside ? longer(o.io_ns, o.compute_ns) : o.io_ns + o.compute_ns;
    o.step_ns = s->reads_beside ? longer(o.io_ns, busy_ns) : o.io_ns + busy_ns;
    o.exposed_ns = o.step_ns - alone_ns;
    o.lower_ns = longer(longer(o.compute_ns, o.exchange_ns), o.io_ns);
    o.upper_ns = o.io_ns + o.compute_ns + o.exchange_ns;
    *out = o;
}
