/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c: collects from all ranks' parts what a schedule moves and computes in each stage, for one element count.
 *
 * Costs of local work. Network: a reduce of k inputs adds k - 1 times its bytes; a copy counts as one addition. Host:
 * every byte read or written counts. k inputs and m outputs are (k + m) times the bytes in one pass, because that is
 * what a core does; copies have a rate of their own, and so have inputs in other ranks' memory. Network: when a step
 * reads or writes memory of another rank of its host, the bytes take the route of a message between the two ranks. A
 * copy costs nothing else. A signal is a message of no bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../compile/algorithms.h"
#include "step_cost.h"

/* Adds one message, cut into as many parts as the topology has paths. A channel is a FIFO: its messages of one stage go
 * one behind the other, as one flow per path. */
static void flow_add(tutti_traffic *out, tutti_flow flow)
{
    const tutti_flow *last = out->nflows ? &out->flows[out->nflows - out->npaths] : NULL;
    if (!last || last->stage != flow.stage || last->src != flow.src || last->dst != flow.dst ||
        last->channel != flow.channel * out->npaths) {
        if (out->nflows + out->npaths > out->room) {
            out->room = out->room ? out->room * 2 : 1024;
            out->flows = tutti_realloc(out->flows, (size_t)out->room * sizeof *out->flows);
        }
        for (int32_t i = 0; i < out->npaths; i++)
            out->flows[out->nflows++] = (tutti_flow){flow.stage, flow.src, flow.dst, flow.channel * out->npaths + i, 0};
    }
    for (int32_t i = 0; i < out->npaths; i++)
        out->flows[out->nflows - out->npaths + i].bytes +=
            flow.bytes * (i + 1) / out->npaths - flow.bytes * i / out->npaths;
}

static void stages_grow(tutti_traffic *out, int32_t nstages)
{
    if (nstages <= out->nstages) return;
    size_t old = (size_t)out->nstages, now = (size_t)nstages, p = (size_t)out->nseen;
    out->work = tutti_realloc(out->work, now * p * sizeof *out->work);
    out->waits = tutti_realloc(out->waits, now);
    memset(out->work + old * p, 0, (now - old) * p * sizeof *out->work);
    memset(out->waits + old, 0, now - old);
    out->nstages = nstages;
}

/* Returns the number of inputs in memory of ranks on other cores whose lines the step leaves shared: their ranks must
 * fetch the lines back before they write them again. If the step also writes memory of the input's rank, the input
 * moves with its line and costs no more than local memory. */
static int32_t shared_inputs(const tutti_part *part, const tutti_step *step, int32_t ncores)
{
    int32_t n = 0;
    for (int32_t i = 0; i < step->nins; i++) {
        int32_t owner = part->slices[step->first_in + i].rank;
        bool shared = owner % ncores != part->rank % ncores;
        for (int32_t o = 0; o < step->nouts && shared; o++) shared = part->slices[step->first_out + o].rank != owner;
        n += shared;
    }
    return n;
}

static void work_add(const tutti_part *part, const tutti_topology *t, const tutti_step *step, int64_t bytes,
                     tutti_work *work)
{
    bool copies = step->kind == TUTTI_STEP_COPY || step->kind == TUTTI_STEP_PUT;
    double add = t->figure[TUTTI_FIGURE_ADD];
    if (t->kind == TUTTI_TOPOLOGY_HOST) {
        double rate = copies ? t->figure[TUTTI_FIGURE_COPY] : add, traffic = (double)bytes * (step->nins + step->nouts);
        double remote = (double)bytes * shared_inputs(part, step, (int32_t)t->figure[TUTTI_FIGURE_CORES]);
        work->traffic += traffic;
        work->core_s += traffic / rate;
        work->recall_s += fmax(0, remote / t->figure[TUTTI_FIGURE_REMOTE] - remote / rate);
    } else {
        work->traffic += tutti_step_added(step, bytes);
        work->core_s += tutti_step_added(step, bytes) / add;
    }
}

/* Adds the bytes that a step moves between its rank and the memory of others; false: it moves none. */
static bool loads_add(const tutti_part *part, const tutti_step *step, int64_t bytes, tutti_traffic *out)
{
    bool moved = false;
    for (int32_t i = 0; i < step->nins + step->nouts; i++) {
        const bool in = i < step->nins;
        int32_t owner = part->slices[in ? step->first_in + i : step->first_out + i - step->nins].rank;
        if (owner == part->rank) continue;
        flow_add(out, (tutti_flow){step->stage, in ? owner : part->rank, in ? part->rank : owner, 0, bytes});
        moved = true;
    }
    return moved;
}

static void step_collect(const tutti_part *part, const tutti_step *step, const tutti_topology *t, int64_t n,
                         tutti_traffic *out)
{
    tutti_work *work = &out->work[(size_t)step->stage * (size_t)out->nseen + (size_t)part->rank];
    const int64_t bytes = tutti_step_bytes(part, step, n);
    switch (step->kind) {
    case TUTTI_STEP_SEND:
        flow_add(out, (tutti_flow){step->stage, part->rank, step->peer, step->channel, bytes});
        out->nmessages++;
        work->sent++;
        break;
    case TUTTI_STEP_PUT:
        if (t->kind == TUTTI_TOPOLOGY_HOST)
            work_add(part, t, step, bytes, work);
        else
            flow_add(out, (tutti_flow){step->stage, part->rank, step->peer, step->channel, bytes});
        work->sent++;
        break;
    case TUTTI_STEP_SIGNAL:
        if (t->kind != TUTTI_TOPOLOGY_HOST)
            flow_add(out, (tutti_flow){step->stage, part->rank, step->peer, step->channel, 0});
        out->nmessages++;
        break;
    case TUTTI_STEP_RECV:
    case TUTTI_STEP_WAIT:
        out->waits[step->stage] = 1;
        work->received++;
        break;
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY:
        if (t->kind == TUTTI_TOPOLOGY_HOST || !loads_add(part, step, bytes, out) || step->kind == TUTTI_STEP_REDUCE)
            work_add(part, t, step, bytes, work);
        break;
    case TUTTI_STEP_NOP:
    case TUTTI_NSTEP_KINDS: break;
    }
}

/* Sorts by counting, because stages are small numbers and a ring has millions of messages. */
static void flows_sort(tutti_traffic *out)
{
    int64_t *at = tutti_alloc(((size_t)out->nstages + 1) * sizeof *at);
    tutti_flow *sorted = tutti_alloc((size_t)out->nflows * sizeof *sorted);
    for (int64_t i = 0; i < out->nflows; i++) at[out->flows[i].stage + 1]++;
    for (int32_t s = 0; s < out->nstages; s++) at[s + 1] += at[s];
    for (int64_t i = 0; i < out->nflows; i++) sorted[at[out->flows[i].stage]++] = out->flows[i];
    free(out->flows);
    free(at);
    out->flows = sorted;
    out->room = out->nflows;
}

/* Returns the bytes of a rank's buffers; `out` of a schedule in place is `in`. */
static double part_footprint(const tutti_part *part, bool in_place, int64_t n)
{
    double bytes = 0;
    for (int32_t i = 0; i < part->nbuffers; i++) {
        const tutti_buffer *b = &part->buffers[i];
        if (!in_place || b->role != TUTTI_BUFFER_OUT) bytes += (double)tutti_slice_bytes(&b->window, n) * b->banks;
    }
    return bytes;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Enlarges the unit so that all slices of this part are whole, too. */
static void unit_grow(const tutti_part *part, tutti_traffic *out)
{
    enum { MOST_BITS = 36 };
    int32_t last = 0;
    for (int32_t i = 0; i < part->nslices && out->unit; i++) {
        const int32_t of = part->slices[i].of;
        /* skips a denominator that was handled just before: most slices of a part have the same */
        if (of == last) continue;
        last = of;
        out->unit = out->unit / common_divisor(out->unit, of) * of;
        if (out->unit >> MOST_BITS) out->unit = 0;
    }
}

void tutti_traffic_collect(const tutti_schedule *s, const tutti_topology *t, int64_t n, int32_t nseen,
                           tutti_traffic *out)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    const tutti_algorithm *row = tutti_algorithm_find(head->algorithm);
    *out = (tutti_traffic){.nranks = head->nranks,
                           .nseen = nseen,
                           .by_bits = row && row->rotates == TUTTI_BY_BITS,
                           .unit = 1,
                           .npaths = tutti_topology_npaths(t)};
    for (int32_t rank = 0; rank < nseen; rank++) {
        tutti_part part;
        tutti_schedule_part(s, rank, &part);
        unit_grow(&part, out);
        out->footprint += part_footprint(&part, head->in_place, n);
        for (int32_t i = 0; i < part.nsteps; i++) {
            stages_grow(out, part.steps[i].stage + 1);
            step_collect(&part, &part.steps[i], t, n, out);
        }
        tutti_part_release(&part);
    }
    out->nmessages *= out->nranks / nseen;
    out->unit *= out->npaths;
    flows_sort(out);
}

/* Returns q if every host has q consecutive ranks, else the number of ranks. */
static int32_t ranks_a_host(const tutti_schedule_header *head)
{
    int32_t q = 0;
    while (q < head->nranks && head->host_of[q] == 0) q++;
    for (int32_t r = 0; r < head->nranks; r++)
        if (head->nranks % q || head->host_of[r] != r / q) return head->nranks;
    return q;
}

/* Returns the distance in ranks at which parts of the schedule's algorithm are alike (tutti_rotation); the number of
 * all ranks: none are alike. */
static int32_t rotation_of(const tutti_schedule_header *head)
{
    const tutti_algorithm *row = tutti_algorithm_find(head->algorithm);
    int32_t param[TUTTI_MAX_PARAMETERS];
    if (!row || head->slots || tutti_collective_has_root(head->collective)) return head->nranks;
    switch (row->rotates) {
    case TUTTI_BY_RANK: return 1;
    case TUTTI_BY_GROUP:
        if (!tutti_algorithm_read(row, head->algorithm, param, NULL) && param[0] > 0) return param[0];
        break;
    case TUTTI_BY_BITS:
        return head->collective != TUTTI_REDUCE_SCATTER && !(head->nranks & (head->nranks - 1)) ? 1 : head->nranks;
    case TUTTI_NO_ROTATION: break;
    }
    return head->nranks;
}

int32_t tutti_traffic_alike(const tutti_schedule *s)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    const int64_t by = rotation_of(head);
    int64_t a_host = 1;
    if (head->wire == TUTTI_WIRE_MAPPED) return head->nranks;
    if (head->wire == TUTTI_WIRE_MIXED) a_host = ranks_a_host(head);
    const int64_t both = by / common_divisor(by, a_host) * a_host;
    return both < head->nranks && head->nranks % both == 0 ? (int32_t)both : head->nranks;
}

void tutti_traffic_release(tutti_traffic *traffic)
{
    free(traffic->flows);
    free(traffic->work);
    free(traffic->waits);
    *traffic = (tutti_traffic){0};
}
