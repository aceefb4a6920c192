/* SPDX-License-Identifier: Apache-2.0 */
/* comm_call.c: calls become requests, requests go through lanes. A blocking call is a request on the stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

/* --- blocks of the caller's memory, in the order of the stage --- */

static void add_blocks(tutti_block *to, const tutti_call *call, int32_t first, int32_t step, int32_t n, const void *at,
                       size_t bytes)
{
    char *next = (char *)(uintptr_t)at;
    for (int32_t k = 0; k < n; k++) {
        to[k] = (tutti_block){next, tutti_block_count(call, first + k * step)};
        next += (size_t)to[k].n * bytes;
    }
}

/* Several blocks only where a call is staged. */
static void list_blocks(tutti_request *q)
{
    const tutti_comm *comm = q->comm;
    const tutti_call *c = &q->call;
    const int32_t p = comm->nranks, me = comm->rank;
    const bool is_root = me == c->root;
    tutti_block *in = TUTTI_ARENA_NEW(&q->arena, tutti_block, 2 * p), *out = in + p;
    q->in = in, q->out = out;
    q->nin = q->nout = 1;
    in[0] = (tutti_block){(char *)(uintptr_t)c->in, c->count}, out[0] = (tutti_block){c->out, c->count};
    switch (c->collective) {
    case TUTTI_BROADCAST: q->nin = is_root; break;
    case TUTTI_REDUCE: q->nout = is_root; break;
    case TUTTI_REDUCE_SCATTER:
        q->nin = p;
        add_blocks(in, c, 0, 1, p, c->in, q->bytes), add_blocks(out, c, me, 0, 1, c->out, q->bytes);
        break;
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER:
        q->nout = c->collective == TUTTI_ALL_GATHER || is_root ? p : 0;
        add_blocks(in, c, me, 0, 1, c->in, q->bytes), add_blocks(out, c, 0, 1, q->nout, c->out, q->bytes);
        break;
    case TUTTI_ALL_TO_ALL:
        q->nin = q->nout = p;
        add_blocks(in, c, me * p, 1, p, c->in, q->bytes), add_blocks(out, c, me, p, p, c->out, q->bytes);
        break;
    default: break;
    }
}

/* --- life of a request --- */

static tutti_status open_request(tutti_comm *comm, const tutti_call *call, bool preparing, tutti_request *q,
                                 tutti_failure *err)
{
    tutti_call_plan plan;
    tutti_status s = tutti_group_failure(comm->group, NULL, err);
    if (!s && !comm->board) s = tutti_board_open(comm, err);
    if (!s) s = tutti_plan_call(comm, call, &plan, err);
    if (s) return s;
    *q = (tutti_request){.comm = comm, .call = *call, .bytes = plan.bytes, .length = plan.longest};
    tutti_notice_of(call, &plan, &q->notice);
    q->notice.preparing = preparing;
    q->number = tutti_board_post(comm, &q->notice);
    s = tutti_lane_find(q, &plan, err);
    if (s) return s;
    q->one_in = (tutti_block){(char *)(uintptr_t)call->in, call->count};
    q->one_out = (tutti_block){call->out, call->count};
    if (plan.path == TUTTI_PATH_STAGED) list_blocks(q);
    return TUTTI_OK;
}

/* Where the lane does not say all of a call, the notices of those who were here before are looked at now; later ones look at
 * ours. */
static tutti_status judge(tutti_request *q, tutti_failure *err)
{
    if (q->notice.key.path != TUTTI_PATH_MAPPED) tutti_board_compare(q->comm, q->number);
    return tutti_group_failure(q->comm->group, NULL, err);
}

static tutti_status finish(tutti_request *q, tutti_failure *err)
{
    tutti_group *group = q->comm->group;
    tutti_status s = TUTTI_OK;
    const double before = q->call.deadline_s > 0 ? tutti_group_set_deadline(group, q->call.deadline_s) : 0;
    if (!atomic_load(&q->done)) s = tutti_exchange_wait_for(q->lane->x, &q->done, err);
    if (before > 0) tutti_group_set_deadline(group, before);
    if (!atomic_load(&q->done)) tutti_lane_drop(q->lane);
    q->active = false;
    return s ? s : judge(q, err);
}

tutti_status tutti_comm_run(tutti_comm *comm, const tutti_call *call, tutti_failure *err)
{
    tutti_request q;
    tutti_status s = open_request(comm, call, false, &q, err);
    if (s) return s;
    tutti_lane_push(&q);
    s = finish(&q, err);
    tutti_arena_release(&q.arena);
    return s;
}

tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_call *call, tutti_request **out, tutti_failure *err)
{
    tutti_request *q = tutti_alloc(sizeof *q);
    tutti_status s = open_request(comm, call, true, q, err);
    if (s) {
        free(q);
        return s;
    }
    q->call.counts = NULL, q->call.algorithm = NULL; /* the caller's; not needed any more */
    q->notice.preparing = 0;
    *out = q;
    return TUTTI_OK;
}

tutti_status tutti_request_start(tutti_request *q, tutti_failure *err)
{
    tutti_status s = tutti_group_failure(q->comm->group, NULL, err);
    if (s) return s;
    if (q->active) return tutti_fail(err, TUTTI_ERR_USAGE, "the request is in flight already");
    q->number = tutti_board_post(q->comm, &q->notice);
    q->at = 0;
    atomic_store(&q->done, false);
    q->active = true;
    tutti_lane_push(q);
    return TUTTI_OK;
}

tutti_status tutti_request_test(tutti_request *q, bool *done, tutti_failure *err)
{
    bool idle;
    tutti_status s = TUTTI_OK;
    if (q->active && !atomic_load(&q->done)) s = tutti_exchange_test(q->lane->x, &idle, err);
    if (q->active && !s && atomic_load(&q->done)) {
        q->active = false;
        s = judge(q, err);
    }
    if (s && q->active) { /* over, and not done */
        tutti_lane_drop(q->lane);
        q->active = false;
    }
    *done = !s && !q->active;
    return s;
}

tutti_status tutti_request_wait(tutti_request *q, tutti_failure *err)
{
    return q->active ? finish(q, err) : tutti_group_failure(q->comm->group, NULL, err);
}

void tutti_request_free(tutti_request *q)
{
    if (!q) return;
    if (q->active) finish(q, NULL);
    tutti_arena_release(&q->arena);
    free(q);
}

/* --- the common calls --- */

tutti_status tutti_comm_allreduce(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                  tutti_operation op, tutti_failure *err)
{
    const tutti_call call = {
        .collective = TUTTI_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_reduce_scatter(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                       tutti_operation op, tutti_failure *err)
{
    const tutti_call call = {
        .collective = TUTTI_REDUCE_SCATTER, .in = in, .out = out, .count = count, .type = type, .op = op};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_all_gather(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                   tutti_failure *err)
{
    const tutti_call call = {.collective = TUTTI_ALL_GATHER, .in = in, .out = out, .count = count, .type = type};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_all_to_all(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                   tutti_failure *err)
{
    const tutti_call call = {.collective = TUTTI_ALL_TO_ALL, .in = in, .out = out, .count = count, .type = type};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_broadcast(tutti_comm *comm, void *data, int64_t count, tutti_dtype type, int root,
                                  tutti_failure *err)
{
    const tutti_call call = {
        .collective = TUTTI_BROADCAST, .in = data, .out = data, .count = count, .type = type, .root = root};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_reduce(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                               tutti_operation op, int root, tutti_failure *err)
{
    const tutti_call call = {
        .collective = TUTTI_REDUCE, .in = in, .out = out, .count = count, .type = type, .op = op, .root = root};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_gather(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type, int root,
                               tutti_failure *err)
{
    const tutti_call call = {
        .collective = TUTTI_GATHER, .in = in, .out = out, .count = count, .type = type, .root = root};
    return tutti_comm_run(comm, &call, err);
}

tutti_status tutti_comm_barrier(tutti_comm *comm, tutti_failure *err)
{
    const tutti_call call = {.collective = TUTTI_BARRIER};
    return tutti_comm_run(comm, &call, err);
}
