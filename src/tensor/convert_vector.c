/* SPDX-License-Identifier: Apache-2.0 */
/* convert_vector.c: the vector loops behind convert.h, and the f32 sums of 16-bit vectors behind reduce.h.
 *
 * Elements at the end that fill no vector are computed one by one in plain C, with the same result. Each input of a sum
 * is read once and widened as it is loaded. No partial sum is rounded to 16 bits. The order of operands, and the
 * treatment of the first and last elements of a vector, are those of elementwise_vector.c. So an element's bits depend
 * neither on its place nor on the instruction set. */
#include "convert_impl.h"
#include "vector.h"

INLINE vector take_bf16(const uint16_t *from)
{
    return widen_bf16(load_halves(from));
}

INLINE void put_bf16(uint16_t *to, vector v)
{
    store_halves(to, narrow_bf16(v));
}

INLINE vector take_f16(const uint16_t *from)
{
    return widen_f16(load_halves(from));
}

INLINE void put_f16(uint16_t *to, vector v)
{
    store_halves(to, narrow_f16(v));
}

/* --- widening and narrowing --- */

INLINE void widen(const uint16_t *from, float *to, int64_t n, vector (*take)(const uint16_t *), float (*one)(uint16_t))
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) store(to + i, take(from + i));
    leave_vectors();
    for (; i < n; i++) to[i] = one(from[i]);
}

INLINE void narrow(const float *from, uint16_t *to, int64_t n, void (*put)(uint16_t *, vector), uint16_t (*one)(float))
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put(to + i, load(from + i));
    leave_vectors();
    for (; i < n; i++) to[i] = one(from[i]);
}

static void bf16_to_f32(const uint16_t *from, float *to, int64_t n)
{
    widen(from, to, n, take_bf16, tutti_f32_of_bf16);
}

static void f16_to_f32(const uint16_t *from, float *to, int64_t n)
{
    widen(from, to, n, take_f16, tutti_f32_of_f16);
}

static void f32_to_bf16(const float *from, uint16_t *to, int64_t n)
{
    narrow(from, to, n, put_bf16, tutti_bf16_of_f32);
}

static void f32_to_f16(const float *from, uint16_t *to, int64_t n)
{
    narrow(from, to, n, put_f16, tutti_f16_of_f32);
}

static void add_bf16(uint16_t *y, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put_bf16(y + i, take_bf16(y + i) + take_bf16(x + i));
    leave_vectors();
    for (; i < n; i++) y[i] = tutti_bf16_of_f32(tutti_f32_of_bf16(y[i]) + tutti_f32_of_bf16(x[i]));
}

static void add_f16(uint16_t *y, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put_f16(y + i, take_f16(y + i) + take_f16(x + i));
    leave_vectors();
    for (; i < n; i++) y[i] = tutti_f16_of_f32(tutti_f32_of_f16(y[i]) + tutti_f32_of_f16(x[i]));
}

/* --- sums --- */

/* number of vectors that are summed at once; few in plain C, which has sixteen registers for sums and inputs */
enum { AT_ONCE = WIDTH < 8 ? 8 : TUTTI_SUM_BLOCK / WIDTH };

/* Sums one element in plain C. */
INLINE float sum_one(const tutti_halves_call *c, int64_t at, float (*one)(uint16_t))
{
    if (!c->folds) {
        float sum = one(c->inputs[0][at]);
        for (int k = 1; k < c->nin; k++) sum = sum + one(c->inputs[k][at]);
        return sum;
    }
    int depth = 0;
    for (int k = 0; k < c->nin; k++) {
        c->stack[depth++] = one(c->inputs[k][at]);
        for (int f = 0; f < c->folds[k]; f++, depth--) c->stack[depth - 2] = c->stack[depth - 2] + c->stack[depth - 1];
    }
    return c->stack[0];
}

INLINE void sum_ones(const tutti_halves_call *c, int64_t from, int64_t to, float (*one)(uint16_t))
{
    for (int64_t i = from; i < to; i++) {
        const float sum = sum_one(c, i, one);
        for (int o = 0; o < c->nout; o++) c->outputs[o][i] = sum;
    }
}

/* Sums `count` vectors from element `at` into sum[]. count is a constant at every call, so the loops unroll. */
INLINE void sum_vectors(const tutti_halves_call *c, int64_t at, int count, vector *sum,
                        vector (*take)(const uint16_t *))
{
    for (int v = 0; v < count; v++) sum[v] = take(c->inputs[0] + at + v * WIDTH);
    if (!c->folds) {
        for (int k = 1; k < c->nin; k++)
            for (int v = 0; v < count; v++) sum[v] = sum[v] + take(c->inputs[k] + at + v * WIDTH);
        return;
    }
    int depth = 0; /* number of sums on the stack; the topmost sum is not counted, because it stays in registers */
    for (int k = 1; k < c->nin; k++) {
        for (int v = 0; v < count; v++) store(c->stack + depth * TUTTI_SUM_BLOCK + v * WIDTH, sum[v]);
        depth++;
        for (int v = 0; v < count; v++) sum[v] = take(c->inputs[k] + at + v * WIDTH);
        for (int f = 0; f < c->folds[k]; f++) {
            depth--;
            for (int v = 0; v < count; v++) sum[v] = load(c->stack + depth * TUTTI_SUM_BLOCK + v * WIDTH) + sum[v];
        }
    }
}

/* Sums elements from i on, as long as `count` whole vectors are left, and returns where it stopped. Stores to aligned
 * outputs may bypass the caches. */
INLINE int64_t sum_rows(const tutti_halves_call *c, int64_t i, int count, bool streams,
                        vector (*take)(const uint16_t *))
{
    vector sum[AT_ONCE];
    for (; i + count * WIDTH <= c->n; i += count * WIDTH) {
        sum_vectors(c, i, count, sum, take);
        for (int o = 0; o < c->nout; o++) {
            float *to = c->outputs[o] + i;
            if (streams && ((uintptr_t)to & (sizeof(vector) - 1)) == 0)
                for (int v = 0; v < count; v++) stream(to + v * WIDTH, sum[v]);
            else
                for (int v = 0; v < count; v++) store(to + v * WIDTH, sum[v]);
        }
    }
    return i;
}

INLINE void sum_halves(const tutti_halves_call *c, vector (*take)(const uint16_t *), float (*one)(uint16_t))
{
    int64_t i = 0;
    if (c->stream) {
        i = (int64_t)((64 - ((uintptr_t)c->outputs[0] & 63)) & 63) / 4;
        if (i > c->n) i = c->n;
        sum_ones(c, 0, i, one);
        i = sum_rows(c, i, AT_ONCE, true, take);
        stream_fence();
    } else {
        i = sum_rows(c, i, AT_ONCE, false, take);
    }
    i = sum_rows(c, i, 1, false, take);
    leave_vectors();
    sum_ones(c, i, c->n, one);
}

static void sum_bf16(const tutti_halves_call *c)
{
    sum_halves(c, take_bf16, tutti_f32_of_bf16);
}

static void sum_f16(const tutti_halves_call *c)
{
    sum_halves(c, take_f16, tutti_f32_of_f16);
}

const tutti_convert_row TUTTI_ISA_ROW(tutti_convert) = {
    .widen = {bf16_to_f32, f16_to_f32},
    .narrow = {f32_to_bf16, f32_to_f16},
    .add = {add_bf16, add_f16},
    .sum = {sum_bf16, sum_f16},
};
