/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_loops.h: the loops of every row, included once by each row file after it has defined
 *   WIDTH (floats in a vector), vector (of the compiler's vector extension), loose (the same, unaligned),
 *   bits (an integer type with WIDTH bits at least), positive(vector) -> bits, keep(vector, bits),
 *   keep_positive(vector kept, vector where), rectify(vector): max(0, it), NaN where it is NaN, and
 *   stream(float *to, vector), a store past the caches, with stream_fence(), and for WIDTH numbers of 16 bits
 *   halves (a type), load_halves(), store_halves(), stream_halves(), widen_bf16(), widen_f16(), narrow_bf16(), narrow_f16().
 *
 * What is fused, and the type, is a constant where a loop is called, so each combination becomes a loop of its own. */

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *from)
{
    return *(const loose *)(const void *)from;
}

INLINE void store(float *to, vector v)
{
    *(loose *)(void *)to = v;
}

/* WIDTH numbers from number `at` of memory of any type. */
INLINE vector take(const void *from, int64_t at, tutti_dtype type)
{
    if (type == TUTTI_BF16) return widen_bf16(load_halves((const uint16_t *)from + at));
    if (type == TUTTI_F16) return widen_f16(load_halves((const uint16_t *)from + at));
    return load((const float *)from + at);
}

INLINE void put_halves(uint16_t *to, halves h, bool streams)
{
    if (streams)
        stream_halves(to, h);
    else
        store_halves(to, h);
}

INLINE void put(void *to, int64_t at, vector v, tutti_dtype type, bool streams)
{
    if (type == TUTTI_BF16)
        put_halves((uint16_t *)to + at, narrow_bf16(v), streams);
    else if (type == TUTTI_F16)
        put_halves((uint16_t *)to + at, narrow_f16(v), streams);
    else if (streams)
        stream((float *)to + at, v);
    else
        store((float *)to + at, v);
}

/* What memory of the type would hold of it. */
INLINE vector rounded(vector v, tutti_dtype type)
{
    if (type == TUTTI_BF16) return widen_bf16(narrow_bf16(v));
    return type == TUTTI_F16 ? widen_f16(narrow_f16(v)) : v;
}

/* Runs a loop with the call's type as a constant. */
#define BY_TYPE(loop)                                                                                                  \
    switch (c->type) {                                                                                                 \
    case TUTTI_BF16: loop(c, panel, TUTTI_BF16); break;                                                                \
    case TUTTI_F16: loop(c, panel, TUTTI_F16); break;                                                                  \
    default: loop(c, panel, TUTTI_F32); break;                                                                         \
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

INLINE void sums_of_tile(const void *in, int64_t at, int64_t step, int64_t n, vector center, double *sum,
                         double *product, tutti_dtype type)
{
    vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, p0 = {0}, p1 = {0}, p2 = {0}, p3 = {0};
    for (; n >= 4; n -= 4, at += 4 * step) {
        const vector a = take(in, at, type) - center, b = take(in, at + step, type) - center,
                     c = take(in, at + 2 * step, type) - center, d = take(in, at + 3 * step, type) - center;
        s0 += a, s1 += b, s2 += c, s3 += d;
        p0 += a * a, p1 += b * b, p2 += c * c, p3 += d * d;
    }
    for (; n > 0; n--, at += step) {
        const vector a = take(in, at, type) - center;
        s0 += a, p0 += a * a;
    }
    add_lanes(sum, (s0 + s1) + (s2 + s3));
    add_lanes(product, (p0 + p1) + (p2 + p3));
}

INLINE void sums_of_panel(const tutti_lane_call *c, int64_t panel, tutti_dtype type)
{
    const tutti_lane_walk *w = &c->walk;
    const int64_t first = panel * w->nchannels;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH)
            sums_of_tile(c->in, t.at + g, w->position_step, t.n, load(c->center + first + g), c->sum + first + g,
                         c->product + first + g, type);
}

static void sums(const tutti_lane_call *c, int64_t panel)
{
    BY_TYPE(sums_of_panel)
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

INLINE void normalise_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l, bool adds, bool relu,
                           tutti_dtype type, bool streams)
{
    const int64_t step = c->walk.position_step;
    bits *to_bits = c->bits ? (bits *)c->bits + t->bits + group / WIDTH * c->walk.npositions : NULL;
    for (int64_t i = 0, at = t->at + group; i < t->n; i++, at += step) {
        vector y = (take(c->in, at, type) - l->mean) * l->scale + l->shift;
        if (adds) y += take(c->added, at, type);
        if (adds && relu && to_bits) to_bits[i] = positive(y);
        put(c->out, at, relu ? rectify(y) : y, type, streams);
    }
}

INLINE void normalise_panel(const tutti_lane_call *c, int64_t panel, bool adds, bool relu, tutti_dtype type,
                            bool streams)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const lanes l = lanes_at(&c->at, panel * w->nchannels + g, false);
            normalise_tile(c, &t, g, &l, adds, relu, type, streams);
        }
    if (streams) stream_fence();
}

INLINE void normalise_fused(const tutti_lane_call *c, int64_t panel, bool adds, bool relu, tutti_dtype type)
{
    if (c->streams)
        normalise_panel(c, panel, adds, relu, type, true);
    else
        normalise_panel(c, panel, adds, relu, type, false);
}

INLINE void normalise_typed(const tutti_lane_call *c, int64_t panel, tutti_dtype type)
{
    if (c->added && c->relu)
        normalise_fused(c, panel, true, true, type);
    else if (c->added)
        normalise_fused(c, panel, true, false, type);
    else if (c->relu)
        normalise_fused(c, panel, false, true, type);
    else
        normalise_fused(c, panel, false, false, type);
}

static void normalise(const tutti_lane_call *c, int64_t panel)
{
    BY_TYPE(normalise_typed)
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

INLINE pair pair_at(const tutti_lane_call *c, int64_t at, const lanes *l, mask_kind mask, const bits *where,
                    tutti_dtype type)
{
    pair p = {take(c->given, at, type), take(c->in, at, type) - l->mean};
    if (mask == SUM_BY_BIT) p.gradient = rounded(p.gradient + take(c->more, at, type), type);
    if (mask == BY_NUMBER) p.gradient = keep_positive(p.gradient, p.x * l->scale + l->shift);
    if (mask >= BY_BIT) {
        p.gradient = keep(p.gradient, *where);
        put(c->dout, at, p.gradient, type, false); /* rounds nothing more */
    }
    return p;
}

INLINE void gradient_sums_of_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l,
                                  mask_kind mask, double *sum, double *product, tutti_dtype type)
{
    const int64_t step = c->walk.position_step;
    const bits *where = mask >= BY_BIT ? (const bits *)c->bits + t->bits + group / WIDTH * c->walk.npositions : NULL;
    vector s0 = {0}, s1 = {0}, p0 = {0}, p1 = {0};
    int64_t at = t->at + group, n = t->n;
    for (; n >= 2; n -= 2, at += 2 * step) {
        const pair a = pair_at(c, at, l, mask, where, type),
                   b = pair_at(c, at + step, l, mask, where ? where + 1 : NULL, type);
        s0 += a.gradient, s1 += b.gradient;
        p0 += a.gradient * a.x, p1 += b.gradient * b.x;
        if (mask >= BY_BIT) where += 2;
    }
    if (n > 0) {
        const pair a = pair_at(c, at, l, mask, where, type);
        s0 += a.gradient, p0 += a.gradient * a.x;
    }
    add_lanes(sum, s0 + s1);
    add_lanes(product, p0 + p1);
}

INLINE void gradient_sums_of_panel(const tutti_lane_call *c, int64_t panel, mask_kind mask, tutti_dtype type)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const int64_t channel = panel * w->nchannels + g;
            const lanes l = lanes_at(&c->at, channel, false);
            gradient_sums_of_tile(c, &t, g, &l, mask, c->sum + channel, c->product + channel, type);
        }
}

INLINE void gradient_sums_typed(const tutti_lane_call *c, int64_t panel, tutti_dtype type)
{
    switch (mask_of(c)) {
    case AS_IT_IS: gradient_sums_of_panel(c, panel, AS_IT_IS, type); break;
    case BY_NUMBER: gradient_sums_of_panel(c, panel, BY_NUMBER, type); break;
    case BY_BIT: gradient_sums_of_panel(c, panel, BY_BIT, type); break;
    case SUM_BY_BIT: gradient_sums_of_panel(c, panel, SUM_BY_BIT, type); break;
    }
}

static void gradient_sums(const tutti_lane_call *c, int64_t panel){BY_TYPE(gradient_sums_typed)}

INLINE void gradient_of_tile(const tutti_lane_call *c, const tile *t, int64_t group, const lanes *l, bool by_number,
                             tutti_dtype type, bool streams)
{
    const int64_t step = c->walk.position_step;
    for (int64_t i = 0, at = t->at + group; i < t->n; i++, at += step) {
        const vector x = take(c->in, at, type) - l->mean;
        vector g = take(c->dout, at, type);
        if (by_number) g = keep_positive(g, x * l->scale + l->shift);
        put(c->din, at, l->scale * (g - l->offset - l->slope * x), type, streams);
    }
}

INLINE void gradient_of_panel(const tutti_lane_call *c, int64_t panel, bool by_number, tutti_dtype type, bool streams)
{
    const tutti_lane_walk *w = &c->walk;
    tile t;
    for (int64_t i = 0; tile_at(w, panel, i, &t); i++)
        for (int64_t g = 0; g < w->nchannels; g += WIDTH) {
            const lanes l = lanes_at(&c->at, panel * w->nchannels + g, true);
            gradient_of_tile(c, &t, g, &l, by_number, type, streams);
        }
    if (streams) stream_fence();
}

INLINE void gradient_typed(const tutti_lane_call *c, int64_t panel, tutti_dtype type)
{
    const bool by_number = mask_of(c) == BY_NUMBER;
    if (by_number && c->streams)
        gradient_of_panel(c, panel, true, type, true);
    else if (by_number)
        gradient_of_panel(c, panel, true, type, false);
    else if (c->streams)
        gradient_of_panel(c, panel, false, type, true);
    else
        gradient_of_panel(c, panel, false, type, false);
}

static void gradient(const tutti_lane_call *c, int64_t panel)
{
    BY_TYPE(gradient_typed)
}
