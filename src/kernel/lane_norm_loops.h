/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_loops.h: the loops of every row, included once by each row file after it has defined
 *   WIDTH (floats in a vector), vector (of the compiler's vector extension), loose (the same, unaligned),
 *   bits (an integer type with WIDTH bits at least), positive(vector) -> bits, keep(vector, bits),
 *   keep_positive(vector kept, vector where), rectify(vector): max(0, it), NaN where it is NaN, and
 *   stream(float *to, vector), a store past the caches, with stream_fence().
 *
 * What is fused is a constant where a loop is called, so each combination becomes a loop of its own. */

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *from)
{
    return *(const loose *)(const void *)from;
}

INLINE void store(float *to, vector v)
{
    *(loose *)(void *)to = v;
}

INLINE void add_lanes(double *to, vector v)
{
    for (int lane = 0; lane < WIDTH; lane++) to[lane] += (double)v[lane];
}

/* A stretch of one run: all channels of the panel at n positions. */
typedef struct {
    int64_t at, n; /* offset of its first number; positions */
    int64_t bits;  /* number of its first vector, groups of channels apart */
} tile;

INLINE bool tile_at(const tutti_lane_walk *w, int64_t panel, int64_t i, tile *t)
{
    const int64_t per_run = (w->npositions + w->tile - 1) / w->tile, run = i / per_run, first = i % per_run * w->tile;
    if (run >= w->nruns) return false;
    t->at = panel * w->panel_step + run * w->run_step + first * w->position_step;
    t->n = w->npositions - first < w->tile ? w->npositions - first : w->tile;
    t->bits = (panel * w->nruns + run) * w->npositions * (w->nchannels / WIDTH) + first;
    return true;
}

INLINE void sums_of_tile(const float *x, int64_t step, int64_t n, vector center, double *sum, double *product)
{
    vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0};
    for (; n >= 4; n -= 4, x += 4 * step) {
        const vector a = load(x) - center, b = load(x + step) - center, c = load(x + 2 * step) - center,
                     d = load(x + 3 * step) - center;
        s0 += a, s1 += b, s2 += c, s3 += d;
        p0 += a * a, p1 += b * b, p2 += c * c, p3 += d * d;
    }
    for (; n > 0; n--, x += step) {
        const vector a = load(x) - center;
        s0 += a, p0 += a * a;
    }
    add_lanes(sum, (s0 + s1) + (s2 + s3));
    add_lanes(product, (p0 + p1) + (p2 + p3));
}

static void sums(const tutti_lane_call *c, int64_t panel)
{
    const tutti_lane_walk *w = &c->walk;
    const int64_t first = panel * w->nchannels;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH)
            sums_of_tile(c->in + t.at + g, w->position_step, t.n, load(c->center + first + g), c->sum + first + g,
                         c->product + first + g);
}

/* The panel's coefficients of one group of channels. */
typedef struct {
    vector mean, scale, shift, offset, slope;
} lanes;

INLINE lanes lanes_at(const tutti_lane_coefficients *at, int64_t channel, bool backward)
{
    lanes l = {load(at->mean + channel), load(at->scale + channel), load(at->shift + channel), {0}, {0}};
    if (backward) {
        l.offset = load(at->offset + channel);
        l.slope = load(at->slope + channel);
    }
    return l;
}

INLINE void put(float *to, vector v, bool streams)
{
    if (streams)
        stream(to, v);
    else
        store(to, v);
}

INLINE void normalise_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l, bool adds, bool relu,
                           bool streams)
{
    const int64_t step = c->walk.position_step;
    bits *to_bits = c->bits ? (bits *)c->bits + t->bits + group / WIDTH * c->walk.npositions : NULL;
    for (int64_t i = 0, at = t->at + group; i < t->n; i++, at += step) {
        vector y = (load(c->in + at) - l->mean) * l->scale + l->shift;
        if (adds) y += load(c->added + at);
        if (adds && relu && to_bits) to_bits[i] = positive(y);
        put(c->out + at, relu ? rectify(y) : y, streams);
    }
}

INLINE void normalise_panel(const tutti_lane_call *c, int64_t panel, bool adds, bool relu, bool streams)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const lanes l = lanes_at(&c->at, panel * w->nchannels + g, false);
            normalise_tile(c, &t, g, &l, adds, relu, streams);
        }
    if (streams) stream_fence();
}

INLINE void normalise_fused(const tutti_lane_call *c, int64_t panel, bool adds, bool relu)
{
    if (c->streams)
        normalise_panel(c, panel, adds, relu, true);
    else
        normalise_panel(c, panel, adds, relu, false);
}

static void normalise(const tutti_lane_call *c, int64_t panel)
{
    if (c->added && c->relu)
        normalise_fused(c, panel, true, true);
    else if (c->added)
        normalise_fused(c, panel, true, false);
    else if (c->relu)
        normalise_fused(c, panel, false, true);
    else
        normalise_fused(c, panel, false, false);
}

/* How the gradient of what lies before the ReLU is found: it is dout's, or where the normalised number, computed once more, is
 * positive, or where a bit is set; then the masked gradient goes to dout, because what was added wants it too, and what is given
 * may be the sum of two. */
typedef enum { AS_IT_IS, BY_NUMBER, BY_BIT, SUM_BY_BIT } mask_kind;

INLINE mask_kind mask_of(const tutti_lane_call *c)
{
    return !c->relu ? AS_IT_IS : !c->bits ? BY_NUMBER : c->more ? SUM_BY_BIT : BY_BIT;
}

/* The gradient at one position of the tile, with the number that it belongs to. */
typedef struct {
    vector gradient, x;
} pair;

INLINE pair pair_at(const tutti_lane_call *c, int64_t at, const lanes *l, mask_kind mask, const bits *where)
{
    pair p = {load(c->given + at), load(c->in + at) - l->mean};
    if (mask == SUM_BY_BIT) p.gradient += load(c->more + at);
    if (mask == BY_NUMBER) p.gradient = keep_positive(p.gradient, p.x * l->scale + l->shift);
    if (mask >= BY_BIT) {
        p.gradient = keep(p.gradient, *where);
        store(c->dout + at, p.gradient);
    }
    return p;
}

INLINE void gradient_sums_of_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l,
                                  mask_kind mask, double *sum, double *product)
{
    const int64_t step = c->walk.position_step;
    const bits *where = mask >= BY_BIT ? (const bits *)c->bits + t->bits + group / WIDTH * c->walk.npositions : NULL;
    vector s0 = {0}, s1 = {0}, p0 = {0}, p1 = {0};
    int64_t at = t->at + group, n = t->n;
    for (; n >= 2; n -= 2, at += 2 * step) {
        const pair a = pair_at(c, at, l, mask, where), b = pair_at(c, at + step, l, mask, where ? where + 1 : NULL);
        s0 += a.gradient, s1 += b.gradient;
        p0 += a.gradient * a.x, p1 += b.gradient * b.x;
        if (mask >= BY_BIT) where += 2;
    }
    if (n > 0) {
        const pair a = pair_at(c, at, l, mask, where);
        s0 += a.gradient, p0 += a.gradient * a.x;
    }
    add_lanes(sum, s0 + s1);
    add_lanes(product, p0 + p1);
}

INLINE void gradient_sums_of_panel(const tutti_lane_call *c, int64_t panel, mask_kind mask)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const int64_t channel = panel * w->nchannels + g;
            const lanes l = lanes_at(&c->at, channel, false);
            gradient_sums_of_tile(c, &t, g, &l, mask, c->sum + channel, c->product + channel);
        }
}

static void gradient_sums(const tutti_lane_call *c, int64_t panel)
{
    switch (mask_of(c)) {
    case AS_IT_IS: gradient_sums_of_panel(c, panel, AS_IT_IS); break;
    case BY_NUMBER: gradient_sums_of_panel(c, panel, BY_NUMBER); break;
    case BY_BIT: gradient_sums_of_panel(c, panel, BY_BIT); break;
    case SUM_BY_BIT: gradient_sums_of_panel(c, panel, SUM_BY_BIT); break;
    }
}

INLINE void gradient_of_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l, bool by_number,
                             bool streams)
{
    const int64_t step = c->walk.position_step;
    for (int64_t i = 0, at = t->at + group; i < t->n; i++, at += step) {
        const vector x = load(c->in + at) - l->mean;
        vector g = load(c->dout + at);
        if (by_number) g = keep_positive(g, x * l->scale + l->shift);
        put(c->din + at, l->scale * (g - l->offset - l->slope * x), streams);
    }
}

INLINE void gradient_of_panel(const tutti_lane_call *c, int64_t panel, bool by_number, bool streams)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const lanes l = lanes_at(&c->at, panel * w->nchannels + g, true);
            gradient_of_tile(c, &t, g, &l, by_number, streams);
        }
    if (streams) stream_fence();
}

static void gradient(const tutti_lane_call *c, int64_t panel)
{
    const bool by_number = mask_of(c) == BY_NUMBER;
    if (by_number && c->streams)
        gradient_of_panel(c, panel, true, true);
    else if (by_number)
        gradient_of_panel(c, panel, true, false);
    else if (c->streams)
        gradient_of_panel(c, panel, false, true);
    else
        gradient_of_panel(c, panel, false, false);
}
