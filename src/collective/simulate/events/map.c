/* SPDX-License-Identifier: Apache-2.0 */
/* map.c: the mapper: places ranks on seats so that the busiest links carry less. Simulated annealing over swaps of two
 * seats (a seat may be empty). The search lowers the sum over stages and links of (load / lower bound)^4: it is close
 * to the fullest link, yet every swap that relieves one of several full links counts. A swap changes the routes of two
 * ranks' messages only, so it costs only a pass over these routes. Worse seatings are accepted with a probability that
 * falls to nothing (Kirkpatrick, Gelatt and Vecchi 1983); the best one seen is kept. Stages with equal messages (a
 * ring's) are one pattern with a weight. */
#include "../simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/hash.h"
#include "../../../base/rng.h"
#include "../simulate_impl.h"

typedef struct {
    tutti_topology plain; /* the topology with a rank on every seat: it has the routes from seat to seat */
    tutti_fabric net;
    tutti_traffic traffic;
    int32_t npatterns, nseats, *pattern_of; /* numbers of patterns and seats; pattern_of: for each stage its pattern, -1
                                             * = nothing moves */
    double *weight;                         /* for each pattern: its number of stages */
    double *lower;                          /* for each pattern: lower bound of its time, seconds */
    tutti_flow *flows;                      /* the messages of each pattern once; flow.stage is the pattern */
    int64_t nflows, *first, *mine;          /* flows of rank r: mine[first[r] .. first[r + 1]) */
    int32_t *seat, *rank_of;                /* seat: for each rank its seat; rank_of: for each seat its rank, -1 =
                                             * empty */
    double *load;                           /* load in seconds: [pattern * nlinks + link] */
    double cost;
} board;

static double fourth(double x)
{
    return x * x * x * x;
}

/* Groups the stages with equal messages into patterns. */
static void patterns_find(board *b)
{
    uint64_t *hash = tutti_alloc((size_t)b->traffic.nstages * sizeof *hash);
    b->pattern_of = tutti_alloc((size_t)b->traffic.nstages * sizeof *b->pattern_of);
    b->weight = tutti_alloc((size_t)b->traffic.nstages * sizeof *b->weight);
    b->flows = tutti_alloc((size_t)b->traffic.nflows * sizeof *b->flows);
    int64_t at = 0;
    for (int32_t s = 0; s < b->traffic.nstages; s++) {
        tutti_hasher *h = tutti_hasher_create();
        int64_t end = at;
        for (; end < b->traffic.nflows && b->traffic.flows[end].stage == s; end++) {
            tutti_flow f = b->traffic.flows[end];
            const int64_t words[] = {f.src, f.dst, f.bytes, f.channel};
            tutti_hasher_add(h, words, sizeof words);
        }
        uint64_t value = tutti_hasher_finish(h);
        int32_t p = 0;
        while (p < b->npatterns && hash[p] != value) p++;
        b->pattern_of[s] = end > at ? p : -1;
        if (end > at) b->weight[p]++;
        if (end > at && p == b->npatterns) {
            hash[b->npatterns++] = value;
            for (int64_t i = at; i < end; i++) {
                b->flows[b->nflows] = b->traffic.flows[i];
                b->flows[b->nflows++].stage = p;
            }
        }
        at = end;
    }
    free(hash);
}

/* Lists flows by rank, and computes the lower bound of each pattern. */
static void ranks_index(board *b)
{
    int32_t p = b->traffic.nranks;
    double fastest = 0, *leaves = tutti_alloc((size_t)b->net.nnodes * sizeof *leaves);
    double widest = 0; /* a message travels over one route, so the widest link bounds it */
    for (int32_t l = 0; l < b->net.nlinks; l++) {
        leaves[b->net.links[l].src] += b->net.links[l].bytes_per_s;
        if (b->net.links[l].src < b->nseats) widest = fmax(widest, b->net.links[l].bytes_per_s);
    }
    for (int32_t s = 0; s < b->nseats; s++) fastest = fmax(fastest, leaves[s]);
    b->first = tutti_alloc(((size_t)p + 2) * sizeof *b->first);
    b->mine = tutti_alloc(2 * (size_t)b->nflows * sizeof *b->mine);
    b->lower = tutti_alloc((size_t)b->npatterns * sizeof *b->lower);
    double *sent = tutti_alloc((size_t)b->npatterns * (size_t)p * sizeof *sent);
    for (int64_t i = 0; i < b->nflows; i++) {
        b->first[b->flows[i].src + 1]++, b->first[b->flows[i].dst + 1]++;
        double *own = &sent[(size_t)b->flows[i].stage * (size_t)p + (size_t)b->flows[i].src];
        *own += (double)b->flows[i].bytes / fastest;
        double alone = (double)b->flows[i].bytes / widest;
        b->lower[b->flows[i].stage] = fmax(b->lower[b->flows[i].stage], fmax(*own, alone));
    }
    for (int32_t r = 0; r < p; r++) b->first[r + 1] += b->first[r];
    int64_t *next = tutti_alloc((size_t)p * sizeof *next);
    memcpy(next, b->first, (size_t)p * sizeof *next);
    for (int64_t i = 0; i < b->nflows; i++) {
        b->mine[next[b->flows[i].src]++] = i;
        b->mine[next[b->flows[i].dst]++] = i;
    }
    free(leaves), free(sent), free(next);
}

/* Adds a flow to the links of its route, or removes it. */
static void flow_put(board *b, const tutti_flow *f, double sign)
{
    int32_t links[TUTTI_MAX_HOPS];
    int n = tutti_topology_route(&b->plain, b->seat[f->src], b->seat[f->dst], f->channel, links);
    double lower = b->lower[f->stage];
    for (int h = 0; h < n; h++) {
        double *load = &b->load[(size_t)f->stage * (size_t)b->net.nlinks + (size_t)links[h]], before = *load;
        *load = fmax(0, before + sign * (double)f->bytes / b->net.links[links[h]].bytes_per_s);
        b->cost += b->weight[f->stage] * (fourth(*load / lower) - fourth(before / lower));
    }
}

/* Adds or removes the flows of ranks r and q (-1: none), each flow between the two only once. */
static void ranks_put(board *b, int32_t r, int32_t q, double sign)
{
    for (int64_t i = b->first[r]; i < b->first[r + 1]; i++) flow_put(b, &b->flows[b->mine[i]], sign);
    if (q < 0) return;
    for (int64_t i = b->first[q]; i < b->first[q + 1]; i++) {
        const tutti_flow *f = &b->flows[b->mine[i]];
        if (f->src != r && f->dst != r) flow_put(b, f, sign);
    }
}

static void seats_swap(board *b, int32_t r, int32_t seat)
{
    int32_t q = b->rank_of[seat], old = b->seat[r];
    ranks_put(b, r, q, -1);
    b->seat[r] = seat, b->rank_of[seat] = r;
    b->rank_of[old] = q;
    if (q >= 0) b->seat[q] = old;
    ranks_put(b, r, q, 1);
}

static void board_fill(board *b)
{
    memset(b->load, 0, (size_t)b->npatterns * (size_t)b->net.nlinks * sizeof *b->load);
    b->cost = 0;
    for (int64_t i = 0; i < b->nflows; i++) flow_put(b, &b->flows[i], 1);
}

/* Computes the exact load of the present seating. */
static tutti_map_load board_load(board *b)
{
    tutti_map_load out = {0, 0};
    int32_t *count = tutti_alloc((size_t)b->net.nlinks * sizeof *count), links[TUTTI_MAX_HOPS];
    bool switches = false;
    for (int32_t l = 0; l < b->net.nlinks; l++)
        switches |= b->net.links[l].src >= b->nseats && b->net.links[l].dst >= b->nseats;
    board_fill(b);
    int64_t at = 0;
    for (int32_t p = 0; p < b->npatterns; p++) {
        double most = 0;
        for (int32_t l = 0; l < b->net.nlinks; l++)
            most = fmax(most, b->load[(size_t)p * (size_t)b->net.nlinks + (size_t)l]);
        out.seconds += b->weight[p] * most;
        memset(count, 0, (size_t)b->net.nlinks * sizeof *count);
        for (; at < b->nflows && b->flows[at].stage == p; at++) {
            const tutti_flow *f = &b->flows[at];
            int n = tutti_topology_route(&b->plain, b->seat[f->src], b->seat[f->dst], f->channel, links);
            for (int h = 0; h < n; h++) {
                const tutti_link *link = &b->net.links[links[h]];
                if (switches && (link->src < b->nseats || link->dst < b->nseats)) continue;
                if (++count[links[h]] > out.messages) out.messages = count[links[h]];
            }
        }
    }
    free(count);
    return out;
}

static void board_release(board *b)
{
    tutti_fabric_release(&b->net);
    tutti_traffic_release(&b->traffic);
    free(b->pattern_of), free(b->weight), free(b->lower), free(b->flows), free(b->first), free(b->mine);
    free(b->seat), free(b->rank_of), free(b->load);
}

static void seats_set(board *b, const int32_t *seat)
{
    for (int32_t s = 0; s < b->nseats; s++) b->rank_of[s] = -1;
    for (int32_t r = 0; r < b->traffic.nranks; r++) {
        b->seat[r] = seat[r];
        b->rank_of[seat[r]] = r;
    }
}

static void seats_read(board *b, const tutti_topology *t, int32_t p)
{
    for (int32_t r = 0; r < p; r++) b->seat[r] = tutti_topology_seat_of(t, r);
    seats_set(b, b->seat);
}

static tutti_status board_make(const tutti_schedule *s, const tutti_topology *t, int64_t n, board *b,
                               tutti_failure *err)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    *b = (board){.plain = *t};
    if (t->kind == TUTTI_TOPOLOGY_HOST || head->wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "map: only schedules as compiled, on networks, have seats to choose");
    tutti_status st = tutti_topology_fits(t, head->nranks, err);
    if (st) return st;
    b->nseats = tutti_topology_nseats(t, head->nranks);
    b->plain.figure[TUTTI_FIGURE_PLACE] = TUTTI_PLACE_BLOCK;
    b->plain.nlisted = 0;
    tutti_topology_graph(&b->plain, b->nseats, &b->net);
    tutti_traffic_collect(s, t, n, head->nranks, &b->traffic);
    patterns_find(b);
    ranks_index(b);
    b->seat = tutti_alloc((size_t)head->nranks * sizeof *b->seat);
    b->rank_of = tutti_alloc((size_t)b->nseats * sizeof *b->rank_of);
    seats_read(b, t, head->nranks);
    b->load = tutti_alloc((size_t)b->npatterns * (size_t)b->net.nlinks * sizeof *b->load);
    return TUTTI_OK;
}

static void anneal(board *b, const tutti_map_options *options, int32_t *best, tutti_mapping *out)
{
    int32_t p = b->traffic.nranks;
    double least = b->cost, heat = b->cost / p;
    for (int64_t i = 0; i < options->nswaps; i++) {
        tutti_random4 drawn = tutti_random(options->seed, TUTTI_STREAM_SEARCH, (uint64_t)i, 0);
        int32_t r = (int32_t)((uint64_t)drawn.word[0] * (uint64_t)p >> 32);
        int32_t seat = (int32_t)((uint64_t)drawn.word[1] * (uint64_t)b->nseats >> 32), old = b->seat[r];
        if (seat == old) continue;
        double before = b->cost, warmth = heat * pow(1e-6, (double)i / (double)options->nswaps);
        seats_swap(b, r, seat);
        double worse = b->cost - before;
        if (worse > 0 && (warmth <= 0 || tutti_random_unit(drawn.word[2]) >= (float)exp(-worse / warmth))) {
            seats_swap(b, r, old);
            continue;
        }
        out->naccepted++;
        if (b->cost >= least * (1 - 1e-9)) continue;
        least = b->cost;
        memcpy(best, b->seat, (size_t)p * sizeof *best);
    }
}

/* Tries every placement that the topology has, and keeps the best in `best` if it beats *least. */
static void starts_try(board *b, const tutti_topology *t, tutti_map_load *least, int32_t *best)
{
    int32_t p = b->traffic.nranks;
    for (int place = TUTTI_PLACE_BLOCK; place < TUTTI_PLACE_LIST; place++) {
        tutti_topology other = *t;
        if (!tutti_topology_has_place(t, (tutti_seating)place)) continue;
        other.figure[TUTTI_FIGURE_PLACE] = place;
        other.nlisted = 0;
        seats_read(b, &other, p);
        tutti_map_load load = board_load(b);
        if (load.seconds >= least->seconds) continue;
        *least = load;
        memcpy(best, b->seat, (size_t)p * sizeof *best);
    }
}

tutti_status tutti_map_ranks(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                             const tutti_map_options *options, tutti_mapping *out, tutti_failure *err)
{
    board b;
    *out = (tutti_mapping){0};
    int32_t p = tutti_schedule_head(s)->nranks;
    if (p > TUTTI_MAX_SEATS_LISTED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "map: at most %d ranks, not %d", TUTTI_MAX_SEATS_LISTED, (int)p);
    tutti_status st = board_make(s, t, n, &b, err);
    if (st) return st;
    size_t bytes = (size_t)p * sizeof *out->seat;
    int32_t *found = tutti_alloc(bytes);
    out->seat = tutti_alloc(bytes);
    for (int32_t i = 0; i < b.npatterns; i++) out->lower_s += b.weight[i] * b.lower[i];
    memcpy(out->seat, b.seat, bytes);
    out->before = out->after = board_load(&b);
    if (options->any_start) starts_try(&b, t, &out->after, out->seat);
    seats_set(&b, out->seat);
    board_load(&b);
    memcpy(found, out->seat, bytes);
    anneal(&b, options, found, out);
    seats_set(&b, found);
    tutti_map_load load = board_load(&b);
    if (load.seconds < out->after.seconds) {
        out->after = load;
        memcpy(out->seat, found, bytes);
    }
    free(found);
    board_release(&b);
    return TUTTI_OK;
}

void tutti_mapping_release(tutti_mapping *mapping)
{
    free(mapping->seat);
    *mapping = (tutti_mapping){0};
}
