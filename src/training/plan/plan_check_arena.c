/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check_arena.c: one rank's activations share memory by life time; does every kernel find what it reads?
 *
 * The loop of two steps is played on tags: every interval between places of data carries the datum that was written there
 * last. A kernel's scratch is written by it, wherever it reads or writes; only a kernel that works in place may have its
 * output where its input is. */
#include <inttypes.h>
#include <stdlib.h>

#include "plan_compose.h"

enum { UNWRITTEN = 0, SCRATCH_TAG = 1, FIRST_TAG = 2, NDATA = 3 };

typedef struct {
    int64_t first, last; /* bytes */
} extent;

typedef struct {
    const tutti_plan *plan;
    int64_t *edges;
    int *tags; /* between edge i and i + 1 */
    int nedges;
} arena_play;

static const char *const datum_names[NDATA] = {"value", "gradient", "saved state"};

/* -1: the datum does not lie in the arena. Data: value, its gradient, saved, of each layer. */
static int tag_of(const tutti_datum *d)
{
    if (d->kind == TUTTI_DATUM_VALUE) return FIRST_TAG + NDATA * d->index;
    if (d->kind == TUTTI_DATUM_VALUE_GRAD) return FIRST_TAG + NDATA * d->index + 1;
    if (d->kind == TUTTI_DATUM_SAVED) return FIRST_TAG + NDATA * d->index + 2;
    return -1;
}

static extent extent_of(const tutti_plan *p, int tag)
{
    const int layer = (tag - FIRST_TAG) / NDATA, which = (tag - FIRST_TAG) % NDATA;
    const int64_t *const offsets[NDATA] = {p->value_offset, p->value_grad_offset, p->saved_offset};
    const tutti_kernel *k = &p->graph->kernels[layer];
    const int64_t first = offsets[which][layer], bytes = (int64_t)(which == 2 ? k->saved_bytes : k->out.bytes);
    return first < 0 ? (extent){0, 0} : (extent){first, first + bytes};
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void find_edges(arena_play *y)
{
    const int n = y->plan->graph->model->nlayers;
    y->edges = tutti_alloc(sizeof(int64_t) * (size_t)(2 * NDATA * n + 2 + n));
    for (int t = FIRST_TAG; t < FIRST_TAG + NDATA * n; t++) {
        const extent e = extent_of(y->plan, t);
        y->edges[y->nedges++] = e.first;
        y->edges[y->nedges++] = e.last;
    }
    y->edges[y->nedges++] = y->plan->scratch_offset;
    for (int l = 0; l < n; l++)
        y->edges[y->nedges++] = y->plan->scratch_offset + (int64_t)y->plan->graph->kernels[l].scratch_bytes;
    qsort(y->edges, (size_t)y->nedges, sizeof *y->edges, by_value);
    y->tags = tutti_alloc(sizeof(int) * (size_t)y->nedges);
}

static void write_tag(arena_play *y, extent e, int tag)
{
    for (int i = 0; i + 1 < y->nedges; i++)
        if (y->edges[i] >= e.first && y->edges[i + 1] <= e.last) y->tags[i] = tag;
}

static const char *layer_name(const arena_play *y, int tag)
{
    return y->plan->graph->model->layers[(tag - FIRST_TAG) / NDATA].name;
}

static tutti_status reads(const arena_play *y, const tutti_node *n, int tag, tutti_failure *err)
{
    const extent e = extent_of(y->plan, tag);
    const char *what = datum_names[(tag - FIRST_TAG) % NDATA], *reader = y->plan->graph->model->layers[n->layer].name;
    for (int i = 0; i + 1 < y->nedges; i++) {
        if (y->edges[i] < e.first || y->edges[i + 1] > e.last || y->edges[i] == y->edges[i + 1]) continue;
        const int now = y->tags[i];
        if (now == tag) continue;
        const char *by = now == UNWRITTEN     ? "nothing"
                         : now == SCRATCH_TAG ? "scratch"
                                              : datum_names[(now - FIRST_TAG) % NDATA];
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          "arena: %s of %s reads the %s of %s at byte %" PRId64 ", where %s%s%s lies by then",
                          tutti_node_kind_name(n->kind), reader, what, layer_name(y, tag), y->edges[i], by,
                          now >= FIRST_TAG ? " of " : "", now >= FIRST_TAG ? layer_name(y, now) : "");
    }
    return TUTTI_OK;
}

static bool overlap(extent a, extent b)
{
    return a.first < b.last && b.first < a.last;
}

/* Two data that one kernel uses at a time: apart, or the same place in a kernel that works in place. */
static tutti_status apart(const arena_play *y, const tutti_node *n, int a, int b, tutti_failure *err)
{
    const extent x = extent_of(y->plan, a), z = extent_of(y->plan, b);
    const bool same = x.first == z.first && x.last == z.last && y->plan->graph->kernels[n->layer].in_place;
    if (a == b || !overlap(x, z) || same) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "arena: %s of %s uses the %s of %s and the %s of %s, which overlap",
                      tutti_node_kind_name(n->kind), y->plan->graph->model->layers[n->layer].name,
                      datum_names[(a - FIRST_TAG) % NDATA], layer_name(y, a), datum_names[(b - FIRST_TAG) % NDATA],
                      layer_name(y, b));
}

static tutti_status play_node(arena_play *y, const tutti_node *n, tutti_failure *err)
{
    const extent scratch = {y->plan->scratch_offset,
                            y->plan->scratch_offset + (int64_t)y->plan->graph->kernels[n->layer].scratch_bytes};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < n->nreads + n->nwrites && st == TUTTI_OK; i++) {
        const int tag = tag_of(i < n->nreads ? &n->reads[i] : &n->writes[i - n->nreads]);
        if (tag < 0) continue;
        if (overlap(extent_of(y->plan, tag), scratch))
            st = tutti_fail(err, TUTTI_ERR_FAILED, "arena: scratch of %s overlaps the %s of %s, which it uses",
                            y->plan->graph->model->layers[n->layer].name, datum_names[(tag - FIRST_TAG) % NDATA],
                            layer_name(y, tag));
        if (st == TUTTI_OK && i < n->nreads) st = reads(y, n, tag, err);
        for (int k = 0; k < n->nwrites && st == TUTTI_OK; k++)
            if (tag_of(&n->writes[k]) >= 0) st = apart(y, n, tag, tag_of(&n->writes[k]), err);
    }
    write_tag(y, scratch, SCRATCH_TAG);
    for (int i = 0; i < n->nwrites; i++) {
        const int tag = tag_of(&n->writes[i]);
        if (tag >= 0) write_tag(y, extent_of(y->plan, tag), tag);
    }
    return st;
}

tutti_status tutti_plan_check_arena(const tutti_plan *p, tutti_failure *err)
{
    arena_play y = {.plan = p};
    tutti_status st = TUTTI_OK;
    find_edges(&y);
    if (y.nedges && y.edges[y.nedges - 1] > p->arena_bytes)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "arena: data end at byte %" PRId64 " of %" PRId64, y.edges[y.nedges - 1],
                        p->arena_bytes);
    for (int i = 0; i < 2 * p->nactions && st == TUTTI_OK; i++) {
        const tutti_action *a = &p->actions[i % p->nactions];
        const tutti_node *n = a->layer >= 0 ? tutti_plan_node_of(p, a) : NULL;
        if (n) st = play_node(&y, n, err);
    }
    free(y.edges);
    free(y.tags);
    return st;
}
