/* SPDX-License-Identifier: Apache-2.0 */
/* compile_parameter_servers.c: parameter servers: some ranks keep a slice of the vector each; all others send them
 * their inputs and fetch the sum (Li et al., OSDI 2014).
 *
 *   push every rank sends slice j of S to server j (rank floor(j p / S)), beginning with the next server; the server
 *          sums the values of all p ranks in one ordered reduce, a balanced tree over the ranks (canonical sums: over
 *          the roots of algorithms.h);
 *   pull the server sends its slice to all ranks.
 * Two rounds in which a server's link carries (p - 1) / S of the vector each way. With as many servers as ranks this is
 * `direct`. Servers are spread over the ranks, so that with as many servers as hosts each host has one. Servers on
 * machines of their own would be ranks without inputs, which no allreduce has.
 *
 * Why two invocations do not race. A rank's first message to a server says READY and FREE, and the server writes the
 * rank's output only after that message. A rank completes after every server has written its output. By then every
 * server has read its input, so no message need be acknowledged. Inboxes: the server reads them in its reduce, before
 * it sends the message that the rank needs to complete. */
#include <stdlib.h>

#include "../compile_impl.h"

static const uint32_t PUSHED = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK;

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, out, nservers;
    int32_t mine;              /* number of this rank among the servers; nservers = this rank is no server */
    const int32_t *first_root; /* for each rank: number of input buffers of the ranks before it */
} servers;

static int32_t rank_of(const servers *v, int32_t server)
{
    return (int32_t)((int64_t)server * v->q->nranks / v->nservers);
}

static int32_t server_of(const servers *v, int32_t rank)
{
    int32_t j = (int32_t)(((int64_t)rank * v->nservers + v->q->nranks - 1) / v->q->nranks);
    return j < v->nservers && rank_of(v, j) == rank ? j : v->nservers;
}

/* Return the k-th server after this rank, or before it, never this rank itself. All ranks go round the same way, so
 * that they never wait in a circle. */
static int32_t server_after(const servers *v, int32_t k)
{
    const int64_t up_to_here = ((int64_t)(v->r + 1) * v->nservers + v->q->nranks - 1) / v->q->nranks;
    return (int32_t)((up_to_here + k) % v->nservers);
}

static int32_t server_before(const servers *v, int32_t k)
{
    return server_after(v, v->nservers - 1 - k);
}

static int32_t roots_of(const servers *v, int32_t rank)
{
    return v->first_root[rank + 1] - v->first_root[rank];
}

static tutti_slice slice(const servers *v, int32_t rank, int32_t buffer, int32_t server)
{
    return tutti_slice_at(rank, buffer, server, 1, v->nservers);
}

/* Returns the buffer in which a server receives that rank's values: one scratch buffer for each input buffer of that
 * rank. A server has none for its own inputs. */
static int32_t inbox(const servers *v, int32_t server, int32_t from)
{
    const int32_t at = rank_of(v, server);
    return tutti_compile_first_scratch(v->q, at) + v->first_root[from] - (from > at ? roots_of(v, at) : 0);
}

static void push(const servers *v)
{
    const tutti_message m = {.when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE, .hint = PUSHED};
    for (int32_t k = 0; k < v->nservers; k++) {
        const int32_t j = server_after(v, k);
        for (int32_t i = 0; i < v->out && j != v->mine; i++)
            tutti_compile_send(v->b, &m, slice(v, v->r, i, j), slice(v, rank_of(v, j), inbox(v, j, v->r) + i, j));
    }
}

/* Receives the slices that all ranks push to this server, beginning with the rank before it. */
static void take_pushed(const servers *v)
{
    const tutti_message m = {.sequence = 1, .hint = PUSHED};
    const int32_t p = v->q->nranks, others = v->first_root[p] - v->out;
    for (int32_t i = 0; i < others; i++) tutti_compile_scratch(v->b, slice(v, v->r, 0, v->mine), 1);
    for (int32_t k = 1; k < p; k++) {
        const int32_t s = tutti_rank_at(v->q, (int64_t)v->r - k), to = inbox(v, v->mine, s);
        for (int32_t i = 0; i < roots_of(v, s); i++)
            tutti_compile_recv(v->b, &m, slice(v, v->r, to + i, v->mine), slice(v, s, i, v->mine));
    }
}

/* Sums all inputs of all ranks in the order of their leaves. Returns the step. */
static int32_t sum(const servers *v)
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    tutti_balance tree = {0};
    const int32_t p = v->q->nranks;
    const tutti_step reduce = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    const int32_t step = tutti_part_step(v->b, &reduce);
    for (int32_t s = 0; s < p; s++) {
        const int nroots = tutti_compile_roots(v->q, s, roots);
        const int32_t buffer = s == v->r ? 0 : inbox(v, v->mine, s);
        for (int i = 0; i < nroots; i++)
            tutti_part_fold(v->b, slice(v, v->r, buffer + i, v->mine),
                            tutti_balance_push(&tree, roots[i].count, s == p - 1 && i == nroots - 1));
    }
    tutti_part_out(v->b, slice(v, v->r, v->out, v->mine));
    return step;
}

/* Sends this server's sum, made by step `made`, to all ranks. */
static void hand_out(const servers *v, int32_t made)
{
    const tutti_message m = {.stage = 1, .hint = TUTTI_HINT_NO_ACK};
    for (int32_t k = 1; k < v->q->nranks; k++) {
        const int32_t to = tutti_rank_at(v->q, (int64_t)v->r + k), out = tutti_compile_out(v->q, to);
        tutti_compile_send(v->b, &m, slice(v, v->r, v->out, v->mine), slice(v, to, out, v->mine));
        if (k == 1) tutti_part_dep(v->b, made);
    }
}

static void pull(const servers *v)
{
    const tutti_message m = {.sequence = 1, .stage = 1, .hint = TUTTI_HINT_NO_ACK, .when = TUTTI_WHEN_FREE};
    for (int32_t k = 0; k < v->nservers; k++) {
        const int32_t j = server_before(v, k), from = rank_of(v, j);
        if (j != v->mine)
            tutti_compile_recv(v->b, &m, slice(v, v->r, v->out, j), slice(v, from, tutti_compile_out(v->q, from), j));
    }
}

static void parameter_servers_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t *first_root = tutti_compile_first_roots(q);
    servers v = {.q = q, .b = b, .r = r, .out = tutti_compile_out(q, r), .nservers = q->param[0]};
    v.first_root = first_root;
    v.mine = server_of(&v, r);
    tutti_compile_buffers(q, r, b);
    push(&v);
    if (v.mine < v.nservers) {
        take_pushed(&v);
        hand_out(&v, sum(&v));
    }
    pull(&v);
    free(first_root);
}

static tutti_status parameter_servers_accept(const tutti_compile_request *q, tutti_failure *err)
{
    if (q->param[0] <= q->nranks) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "ps: %d servers among %d ranks; 1 to %d are possible", q->param[0],
                      q->nranks, q->nranks);
}

const tutti_algorithm tutti_algorithm_parameter_servers = {
    .name = "ps",
    .summary = "some ranks are servers of a slice each: all bring theirs and fetch the sum (Li et al.)",
    .collectives = 1u << TUTTI_ALLREDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .sums_once = true,
    .accept = parameter_servers_accept,
    .part = parameter_servers_part,
    .parameters = {{"servers", 1, 1, 1 << 20, "ranks that keep a slice each, spread over all"}},
    .variants = {"servers=2", "servers=4", NULL},
};
