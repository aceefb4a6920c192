/* SPDX-License-Identifier: Apache-2.0 */
/* comm_call.c: the public collective calls (tutti_comm_allreduce and others): each becomes a request on a queue. A
 * blocking call is a request on the stack. While the library still tries which way through memory is fastest, each part
 * of a call is a request of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

enum { PART = 1 << 22 }; /* bytes of a long vector after which the next part may try another way through memory */

/* --- blocks of the caller's memory, in the order of the staging memory --- */

static void add_blocks(tutti_call_block *to, const tutti_request *q, int32_t first, int32_t step, int32_t n,
                       const void *at)
{
    char *next = (char *)(uintptr_t)at;
    for (int32_t k = 0; k < n; k++) {
        to[k] = (tutti_call_block){next, tutti_block_count(&q->call, first + k * step)};
        next += (size_t)to[k].n * q->bytes;
    }
}

/* Lists the blocks of a call; only a staged call has several. */
static void list_blocks(tutti_request *q)
{
    const tutti_comm *comm = q->comm;
    const tutti_call *c = &q->call;
    const int32_t p = comm->nranks, me = comm->rank;
    const bool is_root = me == c->root;
    tutti_call_block *in = TUTTI_ARENA_NEW(&q->arena, tutti_call_block, 2 * p), *out = in + p;
    q->in = in, q->out = out;
    q->nin = q->nout = 1;
    in[0] = (tutti_call_block){(char *)(uintptr_t)c->in, c->count}, out[0] = (tutti_call_block){c->out, c->count};
    switch (c->collective) {
    case TUTTI_BROADCAST: q->nin = is_root; break;
    case TUTTI_REDUCE: q->nout = is_root; break;
    case TUTTI_REDUCE_SCATTER:
        q->nin = p;
        add_blocks(in, q, 0, 1, p, c->in), add_blocks(out, q, me, 0, 1, c->out);
        break;
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER:
        q->nout = c->collective == TUTTI_ALL_GATHER || is_root ? p : 0;
        add_blocks(in, q, me, 0, 1, c->in), add_blocks(out, q, 0, 1, q->nout, c->out);
        break;
    case TUTTI_ALL_TO_ALL:
        q->nin = q->nout = p;
        add_blocks(in, q, me * p, 1, p, c->in), add_blocks(out, q, me, p, p, c->out);
        break;
    default: break;
    }
}

/* Returns the length of a block's pieces: about equal, because a new length means cutting the exchange anew. */
static int64_t even_piece(int64_t length, int64_t most)
{
    enum { STEP = 64 };
    if (length <= most) return length > 0 ? length : 1;
    const int64_t npieces = (length + most - 1) / most, each = (length + npieces - 1) / npieces;
    const int64_t rounded = (each + STEP - 1) / STEP * STEP;
    return rounded < most ? rounded : most;
}

/* Sets the memory that the queue moves. In place, the longer of `in` and `out` is the whole vector. */
static void lay_out(tutti_request *q, const tutti_call_plan *plan)
{
    const tutti_call *c = &q->call;
    const tutti_path path = tutti_way_at((tutti_way)q->queue->key.way)->path;
    const bool in_vector = q->queue->key.in_place;
    char *in = (char *)(uintptr_t)c->in, *out = c->out;
    if (in_vector && c->collective == TUTTI_ALL_GATHER) in = out;
    if (in_vector && c->collective == TUTTI_REDUCE_SCATTER) out = in;
    q->one_in = (tutti_call_block){in, plan->total}, q->one_out = (tutti_call_block){out, plan->total};
    q->length = plan->longest;
    q->piece = q->queue->piece;
    if (path == TUTTI_PATH_SHOWN) q->piece = even_piece(plan->longest, q->queue->piece);
    if (path == TUTTI_PATH_STAGED) list_blocks(q);
}

/* --- life of a request --- */

/* Returns true if the call equals the last one, whose plan then holds: a loop makes the same call again and again.
 * Calls with arrays and names never count as equal, because their content may have changed. */
static bool is_last(const tutti_comm *comm, const tutti_call *call)
{
    if (!comm->has_last || call->counts || memcmp(&comm->last.call, call, sizeof *call)) return false;
    /* the last call left the algorithm to the library, too */
    return tutti_is_auto(call) && !comm->last.notice.algorithm[0];
}

static tutti_status look_at(tutti_comm *comm, const tutti_call *call, tutti_failure *err)
{
    tutti_last *last = &comm->last;
    comm->has_last = false;
    tutti_status st = tutti_plan_call(comm, call, &last->plan, err);
    if (st) return st;
    last->call = *call;
    tutti_notice_of(comm, call, &last->plan, &last->notice);
    comm->has_last = true;
    return TUTTI_OK;
}

/* Does what every call needs before its queue: looks at failures, opens the board, validates, posts the notice. */
static tutti_status announce(tutti_comm *comm, const tutti_call *call, bool preparing, tutti_request *q,
                             tutti_call_plan *plan, tutti_failure *err)
{
    tutti_status st = tutti_group_failure(comm->group, NULL, err);
    if (!st && !comm->board) st = tutti_board_open(comm, err);
    if (!st && !call) st = tutti_fail(err, TUTTI_ERR_USAGE, "there is no call");
    if (!st && !is_last(comm, call)) st = look_at(comm, call, err);
    if (st) return st;
    *plan = comm->last.plan;
    q->comm = comm, q->call = *call, q->notice = comm->last.notice;
    q->bytes = plan->bytes;
    q->large = plan->longest * (int64_t)plan->bytes >= (int64_t)1 << 24;
    q->arena = (tutti_arena){0};
    q->notice.preparing = preparing;
    q->number = tutti_board_post(comm, &q->notice);
    return TUTTI_OK;
}

static tutti_status take_queue(tutti_request *q, const tutti_call_plan *plan, tutti_way way, tutti_failure *err)
{
    tutti_call_key key = q->notice.key;
    if (way != plan->first) key = tutti_key_of(q->comm, &q->call, plan, way);
    tutti_status st = tutti_call_queue_find(q->comm, &key, &q->call, &q->notice, &q->queue, err);
    if (!st) lay_out(q, plan);
    return st;
}

static tutti_status wait_for(tutti_request *q, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!atomic_load(&q->done)) st = tutti_exchange_wait_for(q->queue->x, &q->done, err);
    if (!atomic_load(&q->done)) tutti_call_queue_drop(q->queue);
    q->active = false;
    return st;
}

/* --- blocking calls --- */

/* Returns the seconds that count for a call. Waiting until the others begin does not count: their earlier work causes
 * it. But if calls follow at once, the wait is due to the call before, which ended at different times on the ranks:
 * then the whole time counts. */
static double cost_of(tutti_comm *comm, const tutti_exchange_stats *before, const tutti_exchange_stats *after)
{
    enum { AT_ONCE = 4 };
    const int64_t total = after->done_ns - after->told_ns, pause = after->told_ns - comm->timed_ns;
    comm->timed_ns = after->done_ns;
    return pause < total / AT_ONCE ? 1e-9 * (double)total : after->met_s - before->met_s;
}

/* Runs one part [at, at + n) of the vector, or all of it, by the given way through memory. *seconds: the time that
 * counts. */
static tutti_status run_part(tutti_request *q, const tutti_call_plan *plan, tutti_way way, double *seconds,
                             tutti_failure *err)
{
    tutti_exchange_stats before, after;
    tutti_status st = take_queue(q, plan, way, err);
    if (st) return st;
    if (seconds) tutti_exchange_time(q->queue->x, true), tutti_exchange_stats_read(q->queue->x, &before);
    q->at = 0;
    atomic_store(&q->done, false);
    tutti_call_queue_push(q);
    st = wait_for(q, err);
    if (seconds) tutti_exchange_stats_read(q->queue->x, &after), *seconds = cost_of(q->comm, &before, &after);
    tutti_arena_release(&q->arena);
    return st;
}

static tutti_class_key class_key(const tutti_call_plan *plan, const tutti_call *call)
{
    return (tutti_class_key){(int32_t)call->collective,
                             (int32_t)call->type,
                             (int32_t)call->op,
                             plan->in_place,
                             tutti_octave_of(plan->total * (int64_t)plan->bytes),
                             plan->ways};
}

tutti_class *tutti_class_find(const tutti_comm *comm, const tutti_call_plan *plan, const tutti_call *call)
{
    const tutti_class_key key = class_key(plan, call);
    tutti_class *c = comm->classes;
    while (c && memcmp(&c->key, &key, sizeof key)) c = c->next;
    return c;
}

/* Returns the class of the call, made if needed; NULL: there are too many classes. */
static tutti_class *class_of(tutti_comm *comm, const tutti_call_plan *plan, const tutti_call *call)
{
    tutti_class *c = tutti_class_find(comm, plan, call);
    if (c || comm->nclasses == TUTTI_MOST_CLASSES) return c;
    c = tutti_alloc(sizeof *c);
    c->key = class_key(plan, call);
    c->takes_turns = comm->crowded;
    c->number = comm->nclasses++;
    tutti_class_begin_burst(c, plan->first);
    tutti_class_next(c); /* counts the first call of the class, which uses the way `first` */
    c->next = comm->classes;
    comm->classes = c;
    return c;
}

/* Returns the way through memory of this call, which rank 0 wrote at the beginning of the previous call (comm_way.h).
 * On rank 0 it also writes the way of the next call. */
static tutti_way take_way(tutti_comm *comm, tutti_class *c, tutti_way first)
{
    const int64_t call = c->calls++;
    const uint32_t said = atomic_load_explicit(tutti_board_choice(comm, c->number, call % 2), memory_order_acquire);
    if (comm->rank == 0)
        atomic_store_explicit(tutti_board_choice(comm, c->number, (call + 1) % 2), 1 + (uint32_t)tutti_class_next(c),
                              memory_order_release);
    return said >= 1 && said <= TUTTI_NWAYS ? (tutti_way)(said - 1) : first;
}

static tutti_status run_choosing(tutti_request *q, const tutti_call_plan *plan, tutti_failure *err)
{
    tutti_comm *comm = q->comm;
    tutti_class *c = class_of(comm, plan, &q->call);
    if (!c) return run_part(q, plan, plan->first, NULL, err);
    const tutti_way way = take_way(comm, c, plan->first);
    double seconds = 0;
    tutti_status st = run_part(q, plan, way, comm->rank == 0 ? &seconds : NULL, err);
    if (!st && comm->rank == 0) tutti_class_record(c, way, plan->total * (int64_t)plan->bytes, seconds);
    return st;
}

int64_t tutti_part_of(const tutti_call *call, const tutti_call_plan *plan)
{
    const int64_t most = PART / (int64_t)plan->bytes;
    if (call->collective != TUTTI_ALLREDUCE || plan->total <= most) return plan->total;
    const int64_t nparts = (plan->total + most - 1) / most;
    return even_piece(plan->total, (plan->total + nparts - 1) / nparts);
}

/* Runs a long vector in parts, so that the times of the ways through memory are known before the end. */
static tutti_status run_in_parts(tutti_request *q, const tutti_call_plan *plan, tutti_failure *err)
{
    const int64_t each = tutti_part_of(&q->call, plan);
    const tutti_call whole = q->call;
    tutti_call_plan part = *plan;
    tutti_status st = TUTTI_OK;
    for (int64_t at = 0; at < plan->total && !st; at += each) {
        const size_t skip = (size_t)at * plan->bytes;
        part.total = part.longest = plan->total - at < each ? plan->total - at : each;
        q->call.in = (const char *)whole.in + skip, q->call.out = (char *)whole.out + skip;
        q->call.count = part.total;
        st = run_choosing(q, &part, err);
    }
    return st;
}

static bool is_settled(const tutti_call_plan *plan)
{
    return !(plan->ways & (plan->ways - 1));
}

static tutti_status run(tutti_comm *comm, const tutti_call *call, tutti_failure *err)
{
    tutti_request q;
    tutti_call_plan plan;
    tutti_status st = announce(comm, call, false, &q, &plan, err);
    if (st) return st;
    if (is_settled(&plan))
        st = run_part(&q, &plan, plan.first, NULL, err);
    else if (tutti_part_of(call, &plan) < plan.total)
        st = run_in_parts(&q, &plan, err);
    else
        st = run_choosing(&q, &plan, err);
    return st;
}

/* The deadline holds for the whole call, including the making of its queue. */
tutti_status tutti_comm_run(tutti_comm *comm, const tutti_call *call, tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    const double before = call && call->deadline_s > 0 ? tutti_group_set_deadline(comm->group, call->deadline_s) : 0;
    st = run(comm, call, err);
    if (before > 0) tutti_group_set_deadline(comm->group, before);
    tutti_comm_leave(comm);
    return st;
}

/* --- requests --- */

/* Agrees with all ranks on a way through memory for a request, which then starts without waiting for other ranks. */
static tutti_status settle(tutti_request *q, const tutti_call_plan *plan, tutti_way *way, tutti_failure *err)
{
    tutti_comm *comm = q->comm;
    int32_t said = (int32_t)plan->first;
    *way = plan->first;
    if (is_settled(plan)) return TUTTI_OK;
    tutti_call_plan part = *plan;
    part.total = tutti_part_of(&q->call, plan);
    const tutti_class *c = tutti_class_find(comm, &part, &q->call);
    if (c && comm->rank == 0) said = (int32_t)tutti_class_best(c, plan->first);
    tutti_status st = tutti_group_broadcast(comm->group, "way of a request", 0, &said, sizeof said, err);
    if (!st) *way = (tutti_way)said;
    return st;
}

static void list(tutti_request *q)
{
    tutti_comm *comm = q->comm;
    q->next_prepared = comm->prepared;
    q->prepared_at = &comm->prepared;
    if (comm->prepared) comm->prepared->prepared_at = &q->next_prepared;
    comm->prepared = q;
}

static tutti_status prepare(tutti_comm *comm, const tutti_call *call, tutti_request *q, tutti_failure *err)
{
    tutti_call_plan plan;
    tutti_way way;
    tutti_status st = announce(comm, call, true, q, &plan, err);
    if (!st) st = settle(q, &plan, &way, err);
    return st ? st : take_queue(q, &plan, way, err);
}

tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_call *call, tutti_request **out, tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    tutti_request *q = tutti_alloc(sizeof *q);
    const double before = call && call->deadline_s > 0 ? tutti_group_set_deadline(comm->group, call->deadline_s) : 0;
    st = prepare(comm, call, q, err);
    if (before > 0) tutti_group_set_deadline(comm->group, before);
    tutti_comm_leave(comm);
    if (st) {
        tutti_arena_release(&q->arena);
        free(q);
        return st;
    }
    q->call.counts = NULL, q->call.algorithm = NULL; /* the caller owns these two arrays; the request does not need them
                                                      * any more */
    q->notice.preparing = 0;
    list(q);
    *out = q;
    return TUTTI_OK;
}

static tutti_status enter(tutti_request *q, tutti_failure *err)
{
    if (!q) return tutti_fail(err, TUTTI_ERR_USAGE, "there is no request");
    if (!q->comm) return tutti_fail(err, TUTTI_ERR_USAGE, "the communicator of this request has been destroyed");
    return tutti_comm_enter(q->comm, err);
}

static tutti_status start(tutti_request *q, tutti_failure *err)
{
    tutti_status st = tutti_group_failure(q->comm->group, NULL, err);
    if (st) return st;
    if (q->active) return tutti_fail(err, TUTTI_ERR_USAGE, "the request is in flight already");
    if (!q->queue)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "the memory that this request was prepared on has been given up (tutti_comm_free, "
                          "tutti_comm_forget)");
    q->number = tutti_board_post(q->comm, &q->notice);
    q->at = 0;
    atomic_store(&q->done, false);
    q->active = true;
    tutti_call_queue_push(q);
    return TUTTI_OK;
}

tutti_status tutti_request_start(tutti_request *q, tutti_failure *err)
{
    tutti_status st = enter(q, err);
    if (st) return st;
    st = start(q, err);
    tutti_comm_leave(q->comm);
    return st;
}

static tutti_status test(tutti_request *q, bool *done, tutti_failure *err)
{
    bool idle;
    tutti_status st = TUTTI_OK;
    if (q->active && !atomic_load(&q->done)) st = tutti_exchange_test(q->queue->x, &idle, err);
    if (q->active && !st && atomic_load(&q->done)) {
        q->active = false;
    }
    if (st && q->active) { /* after a failure the request has ended without a result */
        tutti_call_queue_drop(q->queue);
        q->active = false;
    }
    *done = !st && !q->active;
    return st;
}

tutti_status tutti_request_test(tutti_request *q, bool *done, tutti_failure *err)
{
    *done = false;
    tutti_status st = enter(q, err);
    if (st) return st;
    st = test(q, done, err);
    tutti_comm_leave(q->comm);
    return st;
}

static tutti_status finish(tutti_request *q, tutti_failure *err)
{
    tutti_group *group = q->comm->group;
    if (!q->active) return tutti_group_failure(group, NULL, err);
    const double before = q->call.deadline_s > 0 ? tutti_group_set_deadline(group, q->call.deadline_s) : 0;
    const tutti_status st = wait_for(q, err);
    if (before > 0) tutti_group_set_deadline(group, before);
    return st;
}

tutti_status tutti_request_wait(tutti_request *q, tutti_failure *err)
{
    tutti_status st = enter(q, err);
    if (st) return st;
    st = finish(q, err);
    tutti_comm_leave(q->comm);
    return st;
}

void tutti_request_free(tutti_request *q)
{
    if (!q) return;
    if (q->comm && q->active && !enter(q, NULL)) {
        finish(q, NULL);
        tutti_comm_leave(q->comm);
    }
    if (q->comm) {
        *q->prepared_at = q->next_prepared;
        if (q->next_prepared) q->next_prepared->prepared_at = q->prepared_at;
    }
    tutti_arena_release(&q->arena);
    free(q);
}

/* --- the common collectives, one function each --- */

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
