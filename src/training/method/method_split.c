/* SPDX-License-Identifier: Apache-2.0 */
/* method_split.c: synchronous SGD where groups of ranks share some layers (hybrid parallelism, PCL-DNN). It is sharded,
 * as method_sync_sgd.c describes. The difference: a part of a split layer is summed, updated and gathered by the ranks
 * that have that part, one rank of each group.
 *
 * A split layer's data are exchanged inside the group where the graph says, and are waited for at once, because the
 * next kernel reads them. With a single group each part is on one rank only, so its gradients are not exchanged. A rank
 * has room for whole parameters and keeps its own part of them current; before a test or a checkpoint the group gathers
 * all parts. */
#include <stdio.h>

#include "method_impl.h"

enum { MOST_NAME = 96 };

typedef struct {
    tutti_method_handles shared;
    int parts, ngroups; /* number of ranks in a group; number of groups */
    /* Numbers of exchanges, of which each entry holds the first of several with consecutive numbers. For each bucket:
     * sums of gradients and gathers of weights, one for each part (both -1 with a single group), and gathers of whole
     * parameters, one for each group. For each node: its travels, one for each group. */
    int *sums, *gathers, *wholes, *travels;
} handles;

/* Returns, of a bucket's sums or of its gathers, the exchange that this rank takes part in; -1 = none. */
static int of_rank(const tutti_plan_builder *b, const int *first, int bucket)
{
    const tutti_plan *p = tutti_builder_plan(b);
    if (p->buckets[bucket].parts == 1 || first[bucket] < 0) return first[bucket];
    return first[bucket] + tutti_plan_position(p, tutti_builder_rank(b));
}

/* ---- declaring memories and exchanges ---- */

/* Returns the ranks first, first + step, ...: members of the exchanges that are declared next. */
static const int32_t *members_of(tutti_arena *work, int first, int step, int n)
{
    int32_t *members = TUTTI_ARENA_NEW(work, int32_t, n);
    for (int i = 0; i < n; i++) members[i] = first + i * step;
    return members;
}

static tutti_plan_exchange of_bucket(const tutti_plan *p, const char *name, int bucket, int memory, int schedule)
{
    return (tutti_plan_exchange){.name = name,
                                 .schedule = schedule,
                                 .bucket = bucket,
                                 .first = p->buckets[bucket].offset,
                                 .count = p->buckets[bucket].count,
                                 .in = {memory, 0},
                                 .out = {memory, 0},
                                 .turn = p->config.by_need ? p->buckets[bucket].turn : 0};
}

/* One exchanged quantity of a bucket: its name, the vector in which it lies, the schedule, and the array that receives
 * the number of the first exchange of each bucket. */
typedef struct {
    const char *what;
    int memory;
    const tutti_builder_request *request;
    int *first;
} exchanged;

/* Declares the exchange of a bucket's part, between the ranks that have the part. */
static tutti_status declare_part(tutti_plan_builder *b, const exchanged *e, int bucket, int part, tutti_failure *err)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_arena work = {0};
    char name[MOST_NAME];
    snprintf(name, sizeof name, "%s of bucket %d, part %d", e->what, bucket, part);
    tutti_plan_exchange x = of_bucket(p, name, bucket, e->memory, 0);
    x.members = members_of(&work, part, h->parts, h->ngroups);
    x.nmembers = h->ngroups;
    tutti_plan_part(p, p->order[p->buckets[bucket].first_param], part, &x.first, &x.count);
    const tutti_status st = tutti_builder_schedule_among(b, e->request, x.members, x.nmembers, &x.schedule, err);
    if (!st) tutti_builder_exchange(b, &x);
    tutti_arena_release(&work);
    return st;
}

static tutti_status declare_buckets(tutti_plan_builder *b, const exchanged *e, tutti_failure *err)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < p->nbuckets && !st; i++) {
        int schedule;
        char name[MOST_NAME];
        const bool split = p->buckets[i].parts > 1;
        e->first[i] = split && h->ngroups == 1 ? -1 : p->nexchanges;
        for (int j = 0; split && e->first[i] >= 0 && j < p->buckets[i].parts && !st; j++)
            st = declare_part(b, e, i, j, err);
        if (split || st) continue;
        st = tutti_builder_schedule(b, e->request, &schedule, err);
        snprintf(name, sizeof name, "%s of bucket %d", e->what, i);
        const tutti_plan_exchange x = of_bucket(p, name, i, e->memory, schedule);
        if (!st) tutti_builder_exchange(b, &x);
    }
    return st;
}

/* Declares an exchange in each group; *first: the number of the first. */
static tutti_status declare_in_groups(tutti_plan_builder *b, const char *name, tutti_plan_exchange x,
                                      const tutti_builder_request *r, int *first, tutti_failure *err)
{
    const handles *h = tutti_builder_kept(b);
    tutti_status st = TUTTI_OK;
    tutti_arena work = {0};
    *first = tutti_builder_plan(b)->nexchanges;
    for (int q = 0; q < h->ngroups && !st; q++) {
        char own[MOST_NAME];
        snprintf(own, sizeof own, h->ngroups > 1 ? "%s, group %d" : "%s", name, q);
        x.name = own;
        x.members = members_of(&work, q * h->parts, 1, h->parts);
        x.nmembers = h->parts;
        st = tutti_builder_schedule_among(b, r, x.members, x.nmembers, &x.schedule, err);
        if (!st) tutti_builder_exchange(b, &x);
    }
    tutti_arena_release(&work);
    return st;
}

/* Declares the travels. They use algorithms with at most two passes over memory: the rank waits for a travel at once,
 * so nothing hides further rounds. */
static tutti_status declare_travels(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request gather = {TUTTI_ALL_GATHER, "direct", true, false},
                                       sum = {TUTTI_REDUCE_SCATTER, "direct", true, false},
                                       swap = {TUTTI_ALL_TO_ALL, "direct", false, false};
    const tutti_plan *p = tutti_builder_plan(b);
    const tutti_graph *g = p->graph;
    const handles *h = tutti_builder_kept(b);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < g->nnodes && !st; i++) {
        const tutti_node *n = &g->nodes[i];
        if (n->kind != TUTTI_NODE_TRAVEL) continue;
        char name[MOST_NAME];
        snprintf(name, sizeof name, "%s of %.40s", tutti_hop_name(n->hop), g->model->layers[n->layer].name);
        const tutti_plan_exchange x = {.bucket = TUTTI_NO_BUCKET,
                                       .is_travel = true,
                                       .node = i,
                                       .count = tutti_plan_travel_count(p, i),
                                       .in = {tutti_plan_split_memory(p, n->reads[0].index), 0},
                                       .out = {tutti_plan_split_memory(p, n->writes[0].index), 0},
                                       .turn = -1}; /* this exchange goes before all exchanges that have time until the
                                                     * next step */
        st = declare_in_groups(b, name, x,
                               n->hop == TUTTI_HOP_GATHER_INPUTS ? &gather
                               : n->hop == TUTTI_HOP_SUM_GRADS   ? &sum
                                                                 : &swap,
                               &h->travels[i], err);
    }
    return st;
}

/* Returns the elements of a split parameter, without the padding behind it. */
static int64_t whole_count(const tutti_plan *p, int bucket)
{
    return p->graph->params[p->order[p->buckets[bucket].first_param]].count;
}

static tutti_status declare_wholes(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request gather = {TUTTI_ALL_GATHER, "direct", true, false};
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < p->nbuckets && !st; i++) {
        if (p->buckets[i].parts == 1) continue;
        char name[MOST_NAME];
        snprintf(name, sizeof name, "all parts of bucket %d", i);
        tutti_plan_exchange x = of_bucket(p, name, i, h->shared.weights, 0);
        x.count = whole_count(p, i);
        st = declare_in_groups(b, name, x, &gather, &h->wholes[i], err);
    }
    return st;
}

/* Gathers slices of states to rank 0 in the order in which they lie: part after part, and for each part the groups'
 * slices. */
static tutti_status declare_saves(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request gather = {TUTTI_GATHER, "direct", true, false};
    const tutti_plan *p = tutti_builder_plan(b);
    const int nranks = p->config.nranks;
    handles *h = tutti_builder_kept(b);
    tutti_arena work = {0};
    int32_t *by_part = TUTTI_ARENA_NEW(&work, int32_t, nranks);
    tutti_status st = TUTTI_OK;
    h->shared.saves = p->nexchanges;
    for (int i = 0; i < nranks; i++) by_part[i] = i % h->ngroups * h->parts + i / h->ngroups;
    for (int i = 0; i < p->config.nstates * p->nbuckets && !st; i++) {
        const int state = i / p->nbuckets, bucket = i % p->nbuckets;
        const bool split = p->buckets[bucket].parts > 1;
        char name[MOST_NAME];
        snprintf(name, sizeof name, "%.30s of bucket %d", p->config.states[state], bucket);
        tutti_plan_exchange x = of_bucket(p, name, bucket, tutti_plan_find_memory(p, TUTTI_ROLE_STATE, state), 0);
        x.members = split ? by_part : NULL;
        x.nmembers = nranks;
        if (split) x.count = whole_count(p, bucket);
        st = tutti_builder_schedule_among(b, &gather, x.members, nranks, &x.schedule, err);
        if (!st) tutti_builder_exchange(b, &x);
    }
    tutti_arena_release(&work);
    return st;
}

static void declare_places(tutti_plan_builder *b)
{
    const tutti_graph *g = tutti_builder_plan(b)->graph;
    enum { LINE = 16 };
    for (int i = 0; i < g->nsplit_places; i++)
        tutti_builder_memory(b, &(tutti_plan_memory){.name = g->split_places[i].name,
                                                     .role = TUTTI_ROLE_TRAVELLING,
                                                     .type = TUTTI_F32,
                                                     .elements = (g->split_places[i].elements + LINE - 1) / LINE * LINE,
                                                     .copies = 1,
                                                     .is_region = true});
}

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request sums = {TUTTI_REDUCE_SCATTER, NULL, true, false},
                                       gathers = {TUTTI_ALL_GATHER, NULL, true, false};
    const tutti_method_vectors vectors = {.weights_hold = TUTTI_HOLDS_ALL, .keeps = sizeof(handles)};
    const tutti_plan *p = tutti_builder_plan(b);
    handles *h = tutti_method_declare_vectors(b, &vectors);
    h->parts = tutti_graph_parts(p->graph);
    h->ngroups = p->config.nranks / h->parts;
    h->sums = tutti_builder_keep(b, sizeof *h->sums * (size_t)p->nbuckets);
    h->gathers = tutti_builder_keep(b, sizeof *h->gathers * (size_t)p->nbuckets);
    h->wholes = tutti_builder_keep(b, sizeof *h->wholes * (size_t)p->nbuckets);
    h->travels = tutti_builder_keep(b, sizeof *h->travels * (size_t)p->graph->nnodes);
    tutti_status st = declare_buckets(b, &(exchanged){"gradients", h->shared.gradients, &sums, h->sums}, err);
    if (!st) st = declare_buckets(b, &(exchanged){"weights", h->shared.weights, &gathers, h->gathers}, err);
    if (!st) st = tutti_method_declare_control(b, err);
    declare_places(b);
    if (!st) st = declare_travels(b, err);
    if (!st) st = declare_wholes(b, err);
    return st ? st : declare_saves(b, err);
}

/* ---- a rank's loops ---- */

static void wait_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    const int x = of_rank(b, h->gathers, bucket);
    if (x >= 0) tutti_builder_wait(b, x);
}

static void start_sums(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    const int x = of_rank(b, h->sums, bucket);
    if (x >= 0) tutti_builder_start(b, x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

static void free_weights(tutti_plan_builder *b, int bucket)
{
    const handles *h = tutti_builder_kept(b);
    const int x = of_rank(b, h->gathers, bucket);
    if (x >= 0) tutti_builder_start(b, x, TUTTI_WHEN_FREE);
}

static void travel(tutti_plan_builder *b, int node)
{
    const handles *h = tutti_builder_kept(b);
    const int x = h->travels[node] + tutti_plan_group(tutti_builder_plan(b), tutti_builder_rank(b));
    tutti_builder_start(b, x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_builder_wait(b, x);
}

static void update(tutti_plan_builder *b, int bucket)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    const int sum = of_rank(b, h->sums, bucket), gather = of_rank(b, h->gathers, bucket);
    tutti_action a = tutti_method_update(p, bucket, h->shared.gradients, h->shared.weights);
    tutti_plan_own_slice(p, bucket, tutti_builder_rank(b), &a.first, &a.count);
    if (sum >= 0) tutti_builder_wait(b, sum);
    tutti_builder_do(b, &a);
    if (gather >= 0) tutti_builder_tell(b, gather, TUTTI_WHEN_READY);
}

/* Gathers whole parameters in each group. */
static void list_wholes(tutti_plan_builder *b)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const handles *h = tutti_builder_kept(b);
    const int group = tutti_plan_group(p, tutti_builder_rank(b));
    for (int i = 0; i < p->nbuckets; i++) wait_weights(b, i);
    for (int i = 0; i < p->nbuckets; i++)
        if (p->buckets[i].parts > 1) tutti_builder_start(b, h->wholes[i] + group, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < p->nbuckets; i++)
        if (p->buckets[i].parts > 1) tutti_builder_wait(b, h->wholes[i] + group);
}

static void list(tutti_plan_builder *b)
{
    static const tutti_walk walk = {wait_weights, start_sums, free_weights, tutti_method_start_control};
    const handles *h = tutti_builder_kept(b);
    tutti_builder_loop(b, TUTTI_EACH_STEP);
    tutti_builder_on_travel(b, travel);
    tutti_builder_walk(b, &walk);
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets; i++) update(b, tutti_builder_bucket_in_turn(b, i));
    tutti_builder_wait(b, h->shared.control);
    tutti_builder_loop(b, TUTTI_EACH_TEST);
    list_wholes(b);
    tutti_method_list_saves(b);
}

const tutti_emitter tutti_method_split_emitter = {declare, list};
