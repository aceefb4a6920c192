/* SPDX-License-Identifier: Apache-2.0 */
/* distance.c: tells how far each worker's weights are from the centre, for methods whose workers take steps together
 * and keep weights of their own.
 *
 * A rank compares its weights with its copy of the centre, over all parameters that are learned. It measures the
 * Euclidean distance, and where weights and centre lie in a plane. The plane's axes are two random directions with
 * coordinates of 1 and -1 (Achlioptas 2003, after Johnson and Lindenstrauss 1984). A point of the plane is a linear
 * function of the weights, so the mean of weights is the mean of points, and the expected square of a length is the
 * square of the true length. */
#include <math.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../base/rng.h"
#include "tell.h"

enum { X, Y, NAXES };

typedef struct {
    double square;                       /* square of the distance */
    double worker[NAXES], centre[NAXES]; /* points of the worker and of the centre in the plane */
} sums;

/* Signs (1 or -1) of the two random directions at 64 elements: two words of bits for the axis x, then two for y. */
typedef struct {
    tutti_random4 bits;
    int64_t block; /* which block of 64 elements the signs are for; -1 = none yet */
} signs;

static double sign_of(signs *s, int64_t element, int axis)
{
    const int64_t block = element / 64;
    if (block != s->block) *s = (signs){tutti_random(0, TUTTI_STREAM_PICTURE, (uint64_t)block, 0), block};
    const int at = (int)(element % 64);
    return s->bits.word[2 * axis + at / 32] >> at % 32 & 1 ? 1 : -1;
}

/* Adds n elements to the sums; first: the number of the first one among all that are learned. */
static void add(sums *sum, const float *weights, const float *centre, int64_t n, int64_t first)
{
    signs s = {.block = -1};
    for (int64_t i = 0; i < n; i++) {
        const double w = (double)weights[i], c = (double)centre[i];
        sum->square += (w - c) * (w - c);
        for (int axis = 0; axis < NAXES; axis++) {
            const double sign = sign_of(&s, first + i, axis);
            sum->worker[axis] += sign * w;
            sum->centre[axis] += sign * c;
        }
    }
}

static void measure(const tutti_stepping *s, sums *sum)
{
    const tutti_plan *p = s->plan;
    const int weights = tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0);
    const size_t nbytes = sizeof(float) * (size_t)p->nweights;
    float *at_weights = tutti_shared_vector(&s->shared, weights, 0), *at_centre = tutti_step_answer(s);
    tutti_step_sync(s);
    float *w = s->device->borrow(s->device, at_weights, nbytes), *c = s->device->borrow(s->device, at_centre, nbytes);
    int64_t first = 0;
    for (int i = 0; i < p->graph->nparams; i++) {
        const tutti_param *param = &p->graph->params[i];
        if (param->name[0] == '@' || param->desc.kind == TUTTI_PARAM_STATISTIC) continue;
        add(sum, w + p->param_offset[i], c + p->param_offset[i], param->desc.elements, first);
        first += param->desc.elements;
    }
    s->device->give_back(s->device, at_weights, w, nbytes, false);
    s->device->give_back(s->device, at_centre, c, nbytes, false);
}

bool tutti_distance_is_told(const tutti_stepping *s)
{
    const tutti_plan_memory *answer = &s->plan->memories[s->plan->answer];
    return answer->role == TUTTI_ROLE_CENTRE && !answer->is_common && !s->visits && !s->config->pretended &&
           s->config->dir;
}

tutti_status tutti_distance_tell(const tutti_telling *t, tutti_stepping *s, tutti_failure *err)
{
    sums mine = {0}, *all = tutti_alloc(sizeof *all * (size_t)s->nranks);
    tutti_status st = tutti_step_play_between(s, TUTTI_EACH_TEST, err);
    if (!st) measure(s, &mine);
    if (!st) st = tutti_group_all_gather(s->group, "distance from the centre", &mine, all, sizeof mine, err);
    const double scale = sqrt(1.0 / NAXES);
    if (!st) st = tutti_report_centre(t, scale * all[0].centre[X], scale * all[0].centre[Y], err);
    for (int r = 0; r < s->nranks && !st; r++)
        st = tutti_report_worker(
            t, &(tutti_worker_place){r, sqrt(all[r].square), scale * all[r].worker[X], scale * all[r].worker[Y]}, err);
    free(all);
    return st;
}
