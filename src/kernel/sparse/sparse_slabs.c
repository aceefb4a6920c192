/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_slabs.c: copies weights into the order that the loops of sparse convolutions read, once for each call. */
#include <string.h>

#include "../crew.h"
#include "sparse_conv.h"

/* Makes four tables of offsets, one for each coordinate. They describe the whole order, because each coordinate adds to
 * an address independently of the others. */
tutti_sparse_offsets tutti_sparse_offsets_of(const tutti_param_desc *weight)
{
    const int64_t *dim = weight->shape.dim;
    int64_t *at = tutti_alloc((size_t)(dim[0] + dim[1] + dim[2] + dim[3]) * sizeof *at), *next = at;
    int64_t *tables[4], step = dim[0] * dim[1] * dim[2] * dim[3];
    for (int d = 0; d < 4; d++) {
        tables[d] = next;
        step /= dim[d];
        for (int64_t x = 0; x < dim[d]; x++)
            *next++ = weight->layout ? tutti_layout_offset(weight->layout, d, x) : x * step;
    }
    return (tutti_sparse_offsets){tables[0], tables[1], tables[2], tables[3]};
}

typedef struct {
    const tutti_sparse_state *s;
    const tutti_sparse_walk *w;
    const float *param;
    float *slabs;
} job;

static int64_t slab_floats(const tutti_sparse_walk *w)
{
    return w->kernel * w->lists.size * w->lanes;
}

static int64_t slab_number(const tutti_sparse_walk *w, int64_t group, int64_t vectors, int64_t lists, int64_t row)
{
    return ((group * w->vectors.n + vectors) * w->lists.n + lists) * w->kernel + row;
}

const float *tutti_sparse_slab(const tutti_sparse_walk *w, const tutti_kernel_args *a, int64_t group, int64_t vectors,
                               int64_t lists, int64_t row)
{
    return (const float *)tutti_sparse_at(a->scratch, w->weights_at) +
           slab_number(w, group, vectors, lists, row) * slab_floats(w);
}

/* Copies the weights of one tap to a slab. channels: the listed channels, whose weights lie channels->step floats apart
 * in the slab; across: the channels in the lanes. In the forward pass and in dots, listed channels are input channels;
 * otherwise they are output channels. */
static void fill_tap(const job *j, const tutti_sparse_part *channels, const tutti_sparse_part *across, int64_t group,
                     int64_t at, float *to)
{
    const tutti_sparse_offsets *o = &j->s->weights;
    const bool inputs = !j->w->back || j->w->dots;
    const int64_t *listed = inputs ? o->c : o->n + group * j->s->out.channels,
                  *lanes = (inputs ? o->n + group * j->s->out.channels : o->c) + across->channel;
    for (int64_t c = 0; c < channels->nchannels; c++, to += channels->step) {
        const float *from = j->param + at + listed[channels->channel + c];
        for (int64_t v = 0; v < across->nchannels; v++) to[v] = from[lanes[v]];
    }
}

static void fill_slab(const job *j, int64_t group, int64_t vectors, int64_t lists, int64_t row)
{
    const tutti_sparse_walk *w = j->w;
    const int64_t nlists = tutti_sparse_block(&w->lists, lists), nvectors = tutti_sparse_block(&w->vectors, vectors);
    float *to = j->slabs + slab_number(w, group, vectors, lists, row) * slab_floats(w);
    memset(to, 0, (size_t)slab_floats(w) * sizeof *to);
    for (int64_t class = 0; class < tutti_sparse_nclasses(w); class ++) {
        const int64_t taps = tutti_sparse_class_of(w, class).taps;
        const tutti_sparse_part channels = {
            .channel = lists * w->lists.size, .nchannels = nlists, .step = (w->dots ? taps : 1) * w->lanes};
        const tutti_sparse_part across = {.channel = vectors * w->vectors.size, .nchannels = nvectors};
        for (int64_t tap = 0; tap < taps; tap++)
            fill_tap(j, &channels, &across, group,
                     j->s->weights.y[row] + j->s->weights.x[tutti_sparse_column(w, class, tap)],
                     to + tap * (w->dots ? 1 : w->lists.size) * w->lanes);
        to += taps * w->lists.size * w->lanes;
    }
}

static void do_slabs(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const tutti_sparse_walk *w = j->w;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i % w->kernel, lists = i / w->kernel % w->lists.n, rest = i / w->kernel / w->lists.n;
        fill_slab(j, rest / w->vectors.n, rest % w->vectors.n, lists, row);
    }
}

void tutti_sparse_fill_slabs(const tutti_kernel *k, const tutti_sparse_walk *w, const tutti_kernel_args *a)
{
    const tutti_sparse_state *s = k->state;
    job j = {s, w, a->param[0], tutti_sparse_at(a->scratch, w->weights_at)};
    tutti_crew_run(s->nthreads, w->groups * w->vectors.n * w->lists.n * w->kernel, do_slabs, &j);
}
