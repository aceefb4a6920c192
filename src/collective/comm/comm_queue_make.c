/* SPDX-License-Identifier: Apache-2.0 */
/* comm_queue_make.c: makes the queue of a kind of call: chooses the algorithm, proves the schedule, creates the
 * exchange. Collective. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

tutti_own_schedule *tutti_find_schedule(const tutti_comm *comm, const char *name)
{
    tutti_own_schedule *s = comm->schedules;
    while (s && strcmp(s->name, name)) s = s->next;
    return s;
}

static tutti_compile_request request_of(const tutti_comm *comm, const tutti_call_key *key)
{
    return (tutti_compile_request){.collective = (tutti_collective)key->collective,
                                   .nranks = comm->nranks,
                                   .root = tutti_collective_has_root((tutti_collective)key->collective) ? key->root : 0,
                                   .in_place = key->in_place};
}

/* Finds the topology of the ranks, once for each communicator, because looking at a machine takes milliseconds. */
static tutti_status find_out_where(tutti_comm *comm, tutti_failure *err)
{
    if (comm->here) return TUTTI_OK;
    tutti_topology *t = tutti_alloc(sizeof *t);
    const bool between_hosts = tutti_group_nhosts(comm->group) > 1;
    const tutti_status st = between_hosts ? tutti_topology_parse("star", t, err)
                                          : tutti_topology_of_cores(tutti_group_ncores(comm->group), t, NULL, err);
    if (st)
        free(t);
    else
        comm->here = t;
    return st;
}

tutti_status tutti_call_queue_candidates(tutti_comm *comm, const tutti_call_key *key, tutti_choice *out,
                                         tutti_failure *err)
{
    const tutti_compile_request q = request_of(comm, key);
    const int64_t bytes = (int64_t)tutti_element_bytes((tutti_dtype)key->type, (tutti_operation)key->op);
    const tutti_status st = find_out_where(comm, err);
    /* the chooser counts elements of 4 bytes (f32) */
    if (!st) tutti_choose_algorithm(&q, key->n * bytes / 4, comm->here, out);
    return st;
}

static tutti_status choose(tutti_comm *comm, const tutti_call_key *key, char out[TUTTI_ALGORITHM_TEXT],
                           tutti_failure *err)
{
    const char *fixed = tutti_way_at((tutti_way)key->way)->algorithm;
    snprintf(out, TUTTI_ALGORITHM_TEXT, "%s", fixed ? fixed : "");
    if (fixed) return TUTTI_OK;
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_status st = tutti_call_queue_candidates(comm, key, choice, err);
    if (st) {
        free(choice);
        return st;
    }
    if (choice->best < 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no algorithm can do %s on %d ranks",
                        tutti_collective_name((tutti_collective)key->collective), comm->nranks);
    else
        snprintf(out, TUTTI_ALGORITHM_TEXT, "%s", choice->candidates[choice->best].algorithm);
    free(choice);
    return st;
}

/* Rank 0 chooses, because the figures of two hosts may differ. */
static tutti_status name_algorithm(tutti_call_queue *l, const tutti_call *call, tutti_failure *err)
{
    struct {
        uint32_t status;
        char text[500];
    } said = {0};
    if (!tutti_is_auto(call)) {
        snprintf(l->algorithm, sizeof l->algorithm, "%s", call->algorithm);
        return TUTTI_OK;
    }
    if (l->comm->rank == 0) {
        tutti_failure why = {0};
        said.status = choose(l->comm, &l->key, l->algorithm, &why);
        snprintf(said.text, sizeof said.text, "%.490s", said.status ? why.text : l->algorithm);
    }
    tutti_status st = tutti_group_broadcast(l->comm->group, "algorithm", 0, &said, sizeof said, err);
    if (!st && said.status) st = tutti_fail(err, (tutti_status)said.status, "%s", said.text);
    if (!st) snprintf(l->algorithm, sizeof l->algorithm, "%.63s", said.text);
    return st;
}

static tutti_status use_own(tutti_call_queue *l, const tutti_own_schedule *own, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(own->lowered);
    const tutti_compile_request q = request_of(l->comm, &l->key);
    l->lowered = own->lowered;
    if (h->collective == q.collective && h->root == q.root && h->in_place == q.in_place && h->slots == 0)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "schedule '%s' is for %s, root %d, %s; this call is %s, root %d, %s (calls on plain memory copy in and "
        "out and are never in place)",
        own->name, tutti_collective_name(h->collective), h->root, h->in_place ? "in place" : "out of place",
        tutti_collective_name(q.collective), q.root, q.in_place ? "in place" : "out of place");
}

static tutti_status make_schedule(tutti_call_queue *l, tutti_failure *err)
{
    const tutti_own_schedule *own = tutti_find_schedule(l->comm, l->algorithm);
    const tutti_compile_request q = request_of(l->comm, &l->key);
    return own ? use_own(l, own, err) : tutti_made_schedule_find(l->comm, l->algorithm, &q, &l->lowered, err);
}

static tutti_status make_stage(tutti_call_queue *l, tutti_failure *err)
{
    const tutti_collective c = (tutti_collective)l->key.collective;
    const int64_t nblocks = l->key.n / l->piece, ranks = l->comm->nranks;
    const size_t block = (size_t)l->piece * tutti_element_bytes((tutti_dtype)l->key.type, (tutti_operation)l->key.op);
    const size_t whole = block * (size_t)(c == TUTTI_ALL_TO_ALL ? ranks : nblocks);
    size_t in = c == TUTTI_ALL_GATHER || c == TUTTI_GATHER ? block : whole;
    const size_t out = c == TUTTI_REDUCE_SCATTER ? block : whole;
    in = (in + 63) / 64 * 64;
    tutti_status st = tutti_region_create(l->comm->group, "stage of plain memory", in + out, &l->stage, err);
    if (st) return st;
    l->stage_in = tutti_region_base(l->stage, l->comm->rank);
    l->stage_out = l->stage_in + in;
    return TUTTI_OK;
}

static tutti_place place_at(const tutti_comm *comm, int64_t token)
{
    const tutti_allocation *a = comm->allocations;
    while (a && a->number != token >> 48) a = a->next;
    return (tutti_place){a ? a->region : NULL, (size_t)(token & (((int64_t)1 << 48) - 1))};
}

/* Sets where the exchange finds its memory. In place, the blocks lie in the whole vector; otherwise input and output
 * hold only their own blocks. */
static void bind_places(const tutti_call_queue *l, const tutti_call *call, tutti_place *in, tutti_exchange_binding *b)
{
    const tutti_collective c = call->collective;
    const tutti_path path = tutti_way_at((tutti_way)l->key.way)->path;
    const bool out_is_whole = c == TUTTI_ALL_GATHER || c == TUTTI_GATHER || c == TUTTI_BROADCAST;
    b->plain = path == TUTTI_PATH_SHOWN || path == TUTTI_PATH_REACHED;
    b->past_caches = tutti_way_at((tutti_way)l->key.way)->past_caches;
    if (path == TUTTI_PATH_STAGED) {
        *in = (tutti_place){l->stage, 0};
        b->out = (tutti_place){l->stage, (size_t)(l->stage_out - l->stage_in)};
        b->in_window = b->out_window = true;
    } else if (path == TUTTI_PATH_MAPPED && c != TUTTI_BARRIER) {
        *in = place_at(l->comm, l->key.in_place && out_is_whole ? l->key.out : l->key.in);
        b->out = place_at(l->comm, l->key.out);
    }
    if ((path == TUTTI_PATH_MAPPED && c != TUTTI_BARRIER) || path == TUTTI_PATH_REACHED) {
        b->in_window = b->out_window = !l->key.in_place;
        b->counts = call->counts;
    }
}

static tutti_status make_exchange(tutti_call_queue *l, const tutti_call *call, tutti_failure *err)
{
    tutti_place in = {NULL, 0};
    char name[64];
    snprintf(name, sizeof name, "%s", tutti_collective_name(call->collective));
    tutti_exchange_binding b = {.name = name,
                                .n = l->key.n,
                                .type = call->type,
                                .op = call->op,
                                .in = &in,
                                .nin = 1,
                                .device = l->comm->device};
    bind_places(l, call, &in, &b);
    tutti_status st = tutti_exchange_create(l->comm->group, l->lowered, &b, &l->x, err);
    if (!st) tutti_exchange_on_done(l->x, tutti_call_queue_turn, l);
    return st;
}

/* Compares the call on all ranks first, so that ranks that would make different queues fail with a message. */
static tutti_status agree(const tutti_comm *comm, const tutti_notice *notice, tutti_failure *err)
{
    tutti_notice *all = tutti_alloc(sizeof *all * (size_t)comm->nranks);
    tutti_status st = tutti_group_all_gather(comm->group, "kind of call", notice, all, sizeof *notice, err);
    for (int r = 0; r < comm->nranks && !st; r++) {
        char first[260], other[260];
        if (!memcmp(&all[0], &all[r], sizeof *all)) continue;
        tutti_notice_text(&all[0], first, sizeof first), tutti_notice_text(&all[r], other, sizeof other);
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "the ranks disagree on a call: %s: %s; %s: %s",
                        tutti_comm_describe(comm, 0), first, tutti_comm_describe(comm, r), other);
    }
    free(all);
    return st;
}

static int64_t piece_of(const tutti_comm *comm, const tutti_call_key *key)
{
    switch (tutti_way_at((tutti_way)key->way)->path) {
    case TUTTI_PATH_SHOWN: return key->n;
    case TUTTI_PATH_STAGED: return key->n / tutti_block_number((tutti_collective)key->collective, comm->nranks);
    default: return INT64_MAX;
    }
}

static tutti_status make_queue(tutti_comm *comm, const tutti_call_key *key, const tutti_call *call,
                               const tutti_notice *notice, tutti_call_queue **out, tutti_failure *err)
{
    tutti_call_queue *l = tutti_alloc(sizeof *l);
    l->comm = comm;
    l->key = *key;
    l->piece = piece_of(comm, key);
    tutti_status st = agree(comm, notice, err);
    if (!st) st = name_algorithm(l, call, err);
    if (!st) st = make_schedule(l, err);
    if (!st && tutti_way_at((tutti_way)key->way)->path == TUTTI_PATH_STAGED) st = make_stage(l, err);
    if (!st) st = make_exchange(l, call, err);
    if (st)
        tutti_call_queue_destroy(l);
    else
        *out = l;
    return st;
}

void tutti_call_queue_destroy(tutti_call_queue *l)
{
    tutti_exchange_destroy(l->x);
    tutti_region_destroy(l->stage);
    free(l);
}

tutti_status tutti_call_queue_find(tutti_comm *comm, const tutti_call_key *key, const tutti_call *call,
                                   const tutti_notice *notice, tutti_call_queue **out, tutti_failure *err)
{
    tutti_call_queue **at = &comm->queues, *l;
    while (*at && memcmp(&(*at)->key, key, sizeof *key)) at = &(*at)->next;
    l = *at;
    if (l) {
        *at = l->next;
    } else {
        tutti_status st = make_queue(comm, key, call, notice, &l, err);
        if (st) return st;
    }
    l->next = comm->queues;
    comm->queues = *out = l;
    return TUTTI_OK;
}
