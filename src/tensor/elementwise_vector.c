/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_vector.c: the vector loops behind elementwise.h (vector.h). The loops of all instruction sets add the
 * same operands in the same order, so all give equal bits.
 *
 * The first and last elements of a vector are computed one element or one vector at a time, with the same operands in
 * the same order as the middle, so an element's bits do not depend on its place. Streaming stores bypass the caches.
 * They save the read of each line that comes before an ordinary store. They need an aligned target, so the elements
 * before an aligned address are computed first. They also need a fence before another thread is told that the vector is
 * written. */
#include "elementwise_impl.h"
#include "vector.h"

/* Sums one element in plain C. */
static float sum_one(const tutti_elementwise_call *c, int64_t at)
{
    if (!c->folds) {
        float sum = c->inputs[0][at];
        for (int k = 1; k < c->nin; k++) sum = sum + c->inputs[k][at];
        return sum;
    }
    int depth = 0;
    for (int k = 0; k < c->nin; k++) {
        c->stack[depth++] = c->inputs[k][at];
        for (int f = 0; f < c->folds[k]; f++, depth--) c->stack[depth - 2] = c->stack[depth - 2] + c->stack[depth - 1];
    }
    return c->stack[0];
}

static void run_ones(const tutti_elementwise_call *c, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        float sum = sum_one(c, i);
        for (int o = 0; o < c->nout; o++) c->outputs[o][i] = sum;
    }
}

/* Sums `count` vectors from element `at` into sum[]. count is a constant at every call, so the loops unroll. */
INLINE void sum_vectors(const tutti_elementwise_call *c, int64_t at, int count, vector *sum)
{
    for (int v = 0; v < count; v++) sum[v] = load(c->inputs[0] + at + v * WIDTH);
    if (!c->folds) {
        for (int k = 1; k < c->nin; k++)
            for (int v = 0; v < count; v++) sum[v] = sum[v] + load(c->inputs[k] + at + v * WIDTH);
        return;
    }
    /* The newest waiting sum stays in registers, and the older ones lie on the stack. */
    int depth = 0; /* number of sums on the stack */
    for (int k = 1; k < c->nin; k++) {
        for (int v = 0; v < count; v++) store(c->stack + depth * TUTTI_ELEMENTWISE_BLOCK + v * WIDTH, sum[v]);
        depth++;
        for (int v = 0; v < count; v++) sum[v] = load(c->inputs[k] + at + v * WIDTH);
        for (int f = 0; f < c->folds[k]; f++) {
            depth--;
            for (int v = 0; v < count; v++)
                sum[v] = load(c->stack + depth * TUTTI_ELEMENTWISE_BLOCK + v * WIDTH) + sum[v];
        }
    }
}

INLINE int64_t run_vectors(const tutti_elementwise_call *c, int64_t i, int count)
{
    vector sum[TUTTI_ELEMENTWISE_BLOCK / WIDTH];
    for (; i + count * WIDTH <= c->n; i += count * WIDTH) {
        sum_vectors(c, i, count, sum);
        for (int o = 0; o < c->nout; o++)
            for (int v = 0; v < count; v++) store(c->outputs[o] + i + v * WIDTH, sum[v]);
    }
    return i;
}

/* Sums elements from i on, where outputs[0] is aligned, with streaming stores. Outputs that are not aligned there get
 * ordinary stores. */
INLINE int64_t run_streaming(const tutti_elementwise_call *c, int64_t i)
{
    enum { COUNT = TUTTI_ELEMENTWISE_BLOCK / WIDTH };
    vector sum[COUNT];
    for (; i + COUNT * WIDTH <= c->n; i += COUNT * WIDTH) {
        sum_vectors(c, i, COUNT, sum);
        for (int o = 0; o < c->nout; o++) {
            float *to = c->outputs[o] + i;
            if (((uintptr_t)to & (sizeof(vector) - 1)) == 0)
                for (int v = 0; v < COUNT; v++) stream(to + v * WIDTH, sum[v]);
            else
                for (int v = 0; v < COUNT; v++) store(to + v * WIDTH, sum[v]);
        }
    }
    stream_fence();
    return i;
}

static void run_reduce(const tutti_elementwise_call *c)
{
    int64_t i = 0;
    if (c->stream) {
        int64_t head = (int64_t)((64 - ((uintptr_t)c->outputs[0] & 63)) & 63) / 4;
        if (head > c->n) head = c->n;
        run_ones(c, 0, head);
        i = run_streaming(c, head);
    } else {
        i = run_vectors(c, i, TUTTI_ELEMENTWISE_BLOCK / WIDTH);
    }
    i = run_vectors(c, i, 1);
    /* The compiler clears the upper halves of vector registers before a return. The compiler does not do so before a
     * tail call, and it makes one of the call below. Without clearing, all scalar code that follows is slow: the update
     * of the weights takes seven times as long. */
    leave_vectors();
    run_ones(c, i, c->n);
}

const tutti_elementwise_row TUTTI_ISA_ROW(tutti_elementwise) = {run_reduce};
