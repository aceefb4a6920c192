/* SPDX-License-Identifier: Apache-2.0 */
/* token_buckets.c: plays stages, one after the other, over links that token buckets shape. The content of a link's
 * bucket is counted in seconds of transfer at the link's full rate. */
#include "token_buckets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "flows.h"

/* Number of consecutive invocations that are averaged: the first finds empty buckets, later ones find them as they were
 * left. */
enum { INVOCATIONS = 8 };

struct tutti_token_buckets {
    int32_t nstages, nlinks;
    double *waits_s, *local_s; /* for each stage: seconds in which all ranks wait, and seconds of local work */
    int32_t *kind;             /* for each stage: number of its kind (stages that move the same bytes are of one kind);
                                * -1: nothing moves in it */
    double *transfer_s;        /* for each kind: its transfer time without shaping */
    double *busy_s;            /* for each kind and link: seconds in which the link is busy at its full rate */
    double *most_s;            /* for each link: the most that its bucket holds; 0: it is not shaped */
};

/* Returns true if the link is a port of the switch, the last node of a star and of a cluster; links inside hosts are
 * not shaped. */
static bool is_shaped(const tutti_fabric *net, int32_t link)
{
    return net->links[link].src == net->nnodes - 1 || net->links[link].dst == net->nnodes - 1;
}

tutti_token_buckets *tutti_token_buckets_create(const tutti_traffic *traffic, const tutti_topology *t,
                                                const tutti_fabric *net, const tutti_stages *stages)
{
    const double most_s = tutti_credit_begin(t).most_s;
    if (most_s == 0) return NULL;
    const size_t nstages = (size_t)traffic->nstages, nlinks = (size_t)net->nlinks, nkinds = (size_t)stages->nkinds;
    tutti_token_buckets *b = tutti_alloc(sizeof *b);
    *b = (tutti_token_buckets){.nstages = traffic->nstages,
                               .nlinks = net->nlinks,
                               .waits_s = tutti_alloc((nstages + 1) * sizeof *b->waits_s),
                               .local_s = tutti_alloc((nstages + 1) * sizeof *b->local_s),
                               .kind = tutti_alloc((nstages + 1) * sizeof *b->kind),
                               .transfer_s = tutti_alloc((nkinds + 1) * sizeof *b->transfer_s),
                               .busy_s = tutti_alloc((nkinds * nlinks + 1) * sizeof *b->busy_s),
                               .most_s = tutti_alloc((nlinks + 1) * sizeof *b->most_s)};
    for (int32_t s = 0; s < traffic->nstages; s++) {
        const tutti_stage_work own = tutti_stage_work_of(traffic, s);
        b->kind[s] = stages->kind[s];
        b->local_s[s] = own.most_s;
        if (b->kind[s] < 0) continue;
        b->waits_s[s] =
            stages->kinds[b->kind[s]].filled.most_latency_s + t->figure[TUTTI_FIGURE_SOFTWARE] * own.messages;
    }
    for (size_t k = 0; k < nkinds; k++) {
        b->transfer_s[k] = stages->kinds[k].filled.end_s;
        for (size_t l = 0; l < nlinks; l++)
            b->busy_s[k * nlinks + l] = stages->kinds[k].load[l] / net->links[l].bytes_per_s;
    }
    for (int32_t l = 0; l < net->nlinks; l++) b->most_s[l] = is_shaped(net, l) ? most_s : 0;
    return b;
}

void tutti_token_buckets_destroy(tutti_token_buckets *b)
{
    if (!b) return;
    free(b->waits_s), free(b->local_s), free(b->kind);
    free(b->transfer_s), free(b->busy_s), free(b->most_s);
    free(b);
}

static void fill(const tutti_token_buckets *b, double seconds, double *has_s)
{
    for (int32_t l = 0; l < b->nlinks; l++) has_s[l] = fmin(b->most_s[l], has_s[l] + seconds);
}

/* Returns the time of a stage's transfer. It is shortened by the fraction of the fullest link's bytes that the buckets
 * take at once. */
static double transfer(const tutti_token_buckets *b, int32_t kind, double scale, double *has_s)
{
    const double *busy_s = &b->busy_s[(size_t)kind * (size_t)b->nlinks];
    double fullest = 0, left = 0;
    for (int32_t l = 0; l < b->nlinks; l++) {
        fullest = fmax(fullest, busy_s[l] * scale);
        left = fmax(left, busy_s[l] * scale - has_s[l]);
    }
    const double takes = fullest > 0 ? b->transfer_s[kind] * scale * (left / fullest) : 0;
    for (int32_t l = 0; l < b->nlinks; l++)
        has_s[l] = fmax(0, fmin(b->most_s[l], has_s[l] + takes - busy_s[l] * scale));
    return takes;
}

double tutti_token_buckets_saved(const tutti_token_buckets *b, double scale)
{
    double saved = 0, *has_s = tutti_alloc(((size_t)b->nlinks + 1) * sizeof *has_s);
    for (int i = 0; i < INVOCATIONS; i++)
        for (int32_t s = 0; s < b->nstages; s++) {
            fill(b, b->waits_s[s] + b->local_s[s] * scale, has_s);
            if (b->kind[s] < 0) continue;
            saved += b->transfer_s[b->kind[s]] * scale - transfer(b, b->kind[s], scale, has_s);
        }
    free(has_s);
    return saved / INVOCATIONS;
}
