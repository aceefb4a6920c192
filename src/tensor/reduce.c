/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: reduces vectors of every type and operation: goes over them in blocks and calls the loops for each block.
 *
 * A value that waits on the stack of the expression is a pointer. The pointer points into an input until another value
 * is combined with it, and then into a block of this file's own memory. 16-bit inputs are widened into a block when
 * they are pushed, and the result is narrowed once. */
#include "reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "convert.h"
#include "convert_impl.h"
#include "elementwise.h"
#include "elementwise_impl.h"
#include "reduce_impl.h"

TUTTI_ISA_TABLE(tutti_reduce_row, tutti_reduce);

/* BLOCK_BYTES: bytes of the block of a waiting value. STACK: with more waiting values than this, the blocks lie on the
 * heap */
enum { BLOCK_BYTES = 2048, STACK = 16 };

static const char *const names[] = {"sum", "min", "max", "prod", "avg", "argmin", "argmax"};
static_assert(sizeof names / sizeof *names == TUTTI_NOPERATIONS, "a name for each operation");

const char *tutti_operation_name(tutti_operation op)
{
    return names[op];
}

static bool is_pair(tutti_operation op)
{
    return op == TUTTI_ARGMIN || op == TUTTI_ARGMAX;
}

static bool is_half(tutti_dtype type)
{
    return type == TUTTI_F16 || type == TUTTI_BF16;
}

size_t tutti_element_bytes(tutti_dtype type, tutti_operation op)
{
    if (!is_pair(op)) return tutti_dtype_bytes(type);
    return is_half(type) ? sizeof(tutti_half_at) : 2 * tutti_dtype_bytes(type);
}

size_t tutti_element_alignment(tutti_dtype type, tutti_operation op)
{
    return is_pair(op) && is_half(type) ? _Alignof(tutti_half_at) : tutti_dtype_bytes(type);
}

bool tutti_can_reduce(tutti_dtype type, tutti_operation op)
{
    (void)op;
    return type != TUTTI_U8;
}

static tutti_accumulator accumulator_of(tutti_dtype type)
{
    switch (type) {
    case TUTTI_F64: return TUTTI_IN_F64;
    case TUTTI_I32: return TUTTI_IN_I32;
    case TUTTI_I64: return TUTTI_IN_I64;
    default: return TUTTI_IN_F32;
    }
}

static tutti_combine combine_of(tutti_dtype type, tutti_operation op)
{
    if (is_pair(op)) return tutti_reduce_pairs[type][op == TUTTI_ARGMAX];
    return tutti_reduce_rows[tutti_isa_here()]->combine[accumulator_of(type)][op == TUTTI_AVG ? TUTTI_SUM : op];
}

typedef struct {
    tutti_dtype type;
    tutti_combine combine;
    bool widen;
    size_t bytes; /* bytes of an element in a block */
    const char *const *inputs;
    int nin;
    const uint8_t *folds;
    char *blocks; /* one block for each value that may wait */
    const char **waiting;
} reduction;

/* Computes the expression over elements [at, at + n), and returns the address of the result. */
static const char *reduce_block(const reduction *r, int64_t at, int64_t n)
{
    int depth = 0;
    for (int k = 0; k < r->nin; k++) {
        const char *input = r->inputs[k] + (size_t)at * r->bytes;
        if (r->widen) {
            char *block = r->blocks + (size_t)depth * BLOCK_BYTES;
            tutti_convert_to_f32(r->type, input, (float *)(void *)block, n);
            input = block;
        }
        r->waiting[depth++] = input;
        for (int f = r->folds ? r->folds[k] : k > 0; f > 0; f--, depth--) {
            char *block = r->blocks + (size_t)(depth - 2) * BLOCK_BYTES;
            r->combine(block, r->waiting[depth - 2], r->waiting[depth - 1], n);
            r->waiting[depth - 2] = block;
        }
    }
    return r->waiting[0];
}

static void run_blocks(const reduction *r, const tutti_operands *of, int64_t n, bool stream)
{
    const int64_t each = BLOCK_BYTES / (int64_t)(r->widen ? sizeof(float) : r->bytes);
    for (int64_t at = 0; at < n; at += each) {
        const int64_t count = n - at < each ? n - at : each;
        const char *result = reduce_block(r, at, count);
        for (int o = 0; o < of->nout; o++) {
            char *to = of->outputs[o] + (size_t)at * r->bytes;
            if (r->widen)
                tutti_convert_from_f32(r->type, (const float *)(const void *)result, to, count);
            else
                tutti_reduce_copy(&to, 1, result, (size_t)count * r->bytes, stream);
        }
    }
}

void tutti_reduce(tutti_dtype type, tutti_operation op, const tutti_operands *of, const uint8_t *folds, int64_t n,
                  bool stream)
{
    const size_t bytes = tutti_element_bytes(type, op);
    const int nin = of->nin;
    if (n <= 0) return;
    if (nin == 1) {
        tutti_reduce_copy(of->outputs, of->nout, of->inputs[0], (size_t)n * bytes, stream);
        return;
    }
    if (type == TUTTI_F32 && (op == TUTTI_SUM || op == TUTTI_AVG)) {
        tutti_elementwise_reduce(&(tutti_elementwise_call){.outputs = (float *const *)of->outputs,
                                                           .nout = of->nout,
                                                           .inputs = (const float *const *)of->inputs,
                                                           .nin = nin,
                                                           .folds = folds,
                                                           .n = n,
                                                           .stream = stream});
        return;
    }
    _Alignas(64) char fixed[STACK * BLOCK_BYTES];
    const char *few[STACK];
    const int depth = tutti_folds_depth(folds, nin);
    reduction r = {.type = type, .combine = combine_of(type, op), .bytes = bytes, .nin = nin, .folds = folds};
    r.inputs = of->inputs, r.blocks = fixed, r.waiting = few;
    r.widen = is_half(type) && !is_pair(op);
    if (depth > STACK) {
        r.blocks = tutti_alloc((size_t)depth * BLOCK_BYTES);
        r.waiting = tutti_alloc((size_t)depth * sizeof *r.waiting);
    }
    run_blocks(&r, of, n, stream);
    if (depth > STACK) free(r.blocks), free(r.waiting);
}

void tutti_reduce_wide(tutti_dtype type, const tutti_operands *of, const uint8_t *folds, int64_t n, bool stream)
{
    const int nin = of->nin;
    float fixed[STACK * TUTTI_SUM_BLOCK];
    if (folds && tutti_folds_left_to_right(folds, nin)) folds = NULL;
    const int depth = tutti_folds_depth(folds, nin);
    if (n <= 0) return;
    tutti_halves_call call = {.outputs = (float *const *)of->outputs,
                              .nout = of->nout,
                              .inputs = (const uint16_t *const *)of->inputs,
                              .nin = nin,
                              .folds = folds,
                              .stack =
                                  depth <= STACK ? fixed : tutti_alloc((size_t)depth * TUTTI_SUM_BLOCK * sizeof(float)),
                              .n = n,
                              .stream = stream};
    tutti_convert_rows[tutti_isa_here()]->sum[type == TUTTI_BF16 ? TUTTI_CONVERT_BF16 : TUTTI_CONVERT_F16](&call);
    if (call.stack != fixed) free(call.stack);
}

void tutti_reduce_narrow(tutti_dtype type, const tutti_operands *of, const uint8_t *folds, int64_t n)
{
    const int nin = of->nin;
    enum { EACH = BLOCK_BYTES / sizeof(float) };
    _Alignas(64) char fixed[STACK * BLOCK_BYTES];
    const char *few[STACK];
    const int depth = tutti_folds_depth(folds, nin);
    reduction r = {.type = TUTTI_F32, .combine = combine_of(TUTTI_F32, TUTTI_SUM), .bytes = sizeof(float), .nin = nin};
    r.inputs = of->inputs, r.folds = folds;
    r.blocks = depth > STACK ? tutti_alloc((size_t)depth * BLOCK_BYTES) : fixed;
    r.waiting = depth > STACK ? tutti_alloc((size_t)depth * sizeof *r.waiting) : few;
    for (int64_t at = 0; at < n; at += EACH) {
        const int64_t count = n - at < EACH ? n - at : EACH;
        const char *sum = reduce_block(&r, at, count);
        for (int o = 0; o < of->nout; o++)
            tutti_convert_from_f32(type, (const float *)(const void *)sum,
                                   of->outputs[o] + (size_t)at * tutti_dtype_bytes(type), count);
    }
    if (depth > STACK) free(r.blocks), free(r.waiting);
}

void tutti_reduce_copy(char *const *outputs, int nout, const char *input, size_t nbytes, bool stream)
{
    uintptr_t odd = (uintptr_t)input | nbytes;
    for (int o = 0; o < nout; o++) odd |= (uintptr_t)outputs[o];
    if (odd % sizeof(float) == 0) {
        tutti_elementwise_copy((float *const *)outputs, nout, (const float *)(const void *)input,
                               (int64_t)(nbytes / sizeof(float)), stream);
        return;
    }
    for (int o = 0; o < nout; o++)
        if (outputs[o] != input) memcpy(outputs[o], input, nbytes);
}

void tutti_reduce_average(tutti_dtype type, char *x, int64_t n, int32_t nranks)
{
    const tutti_reduce_row *row = tutti_reduce_rows[tutti_isa_here()];
    if (!is_half(type)) {
        row->divide[accumulator_of(type)](x, n, nranks);
        return;
    }
    float block[BLOCK_BYTES / sizeof(float)];
    const int64_t each = BLOCK_BYTES / sizeof(float);
    for (int64_t at = 0; at < n; at += each) {
        const int64_t count = n - at < each ? n - at : each;
        char *to = x + (size_t)at * tutti_dtype_bytes(type);
        tutti_convert_to_f32(type, to, block, count);
        row->divide[TUTTI_IN_F32](block, count, nranks);
        tutti_convert_from_f32(type, block, to, count);
    }
}
