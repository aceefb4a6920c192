/* SPDX-License-Identifier: Apache-2.0 */
/* reference_reduce.h: the operations of tutti/types.h, one element at a time, written from their rules and sharing no
 * loop with src/tensor: what tests compare bits with. */
#ifndef TUTTI_TESTS_REFERENCE_REDUCE_H
#define TUTTI_TESTS_REFERENCE_REDUCE_H

#include <math.h>
#include <string.h>

#include "tensor/convert_one.h"
#include "tutti/types.h"

/* A value as it is while a reduce step lasts: halves are floats, pairs have their index beside. */
typedef struct {
    float f;
    double d;
    int64_t i, index;
    unsigned char whole[16]; /* pairs: the element */
} reference_value;

static inline reference_value reference_load(tutti_dtype type, tutti_operation op, const void *from)
{
    reference_value v = {0};
    uint16_t half;
    int32_t narrow;
    memcpy(v.whole, from, tutti_element_bytes(type, op));
    memcpy(&half, from, sizeof half);
    switch (type) {
    case TUTTI_F32: memcpy(&v.f, from, sizeof v.f); break;
    case TUTTI_F64: memcpy(&v.d, from, sizeof v.d); break;
    case TUTTI_F16: v.f = tutti_f32_of_f16(half); break;
    case TUTTI_BF16: v.f = tutti_f32_of_bf16(half); break;
    case TUTTI_I64: memcpy(&v.i, from, sizeof v.i); break;
    default: memcpy(&narrow, from, sizeof narrow), v.i = narrow;
    }
    if (type == TUTTI_F64 || type == TUTTI_I64) {
        if (tutti_element_bytes(type, op) == 16) memcpy(&v.index, v.whole + 8, 8);
    } else {
        memcpy(&narrow, v.whole + 4, 4), v.index = narrow;
    }
    return v;
}

static inline void reference_store(tutti_dtype type, tutti_operation op, const reference_value *v, void *to)
{
    uint16_t half = type == TUTTI_F16 ? tutti_f16_of_f32(v->f) : tutti_bf16_of_f32(v->f);
    int32_t narrow = (int32_t)(uint32_t)(uint64_t)v->i;
    if (op == TUTTI_ARGMIN || op == TUTTI_ARGMAX) {
        memcpy(to, v->whole, tutti_element_bytes(type, op));
        return;
    }
    switch (type) {
    case TUTTI_F32: memcpy(to, &v->f, sizeof v->f); break;
    case TUTTI_F64: memcpy(to, &v->d, sizeof v->d); break;
    case TUTTI_F16:
    case TUTTI_BF16: memcpy(to, &half, sizeof half); break;
    case TUTTI_I64: memcpy(to, &v->i, sizeof v->i); break;
    default: memcpy(to, &narrow, sizeof narrow);
    }
}

/* -1: a before b, 1: b before a, 0: equal; NaN is what `nan` says. */
static inline int reference_order(tutti_dtype type, const reference_value *a, const reference_value *b)
{
    if (type == TUTTI_I32 || type == TUTTI_I64) return (a->i > b->i) - (a->i < b->i);
    if (type == TUTTI_F64) return (a->d > b->d) - (a->d < b->d);
    return (a->f > b->f) - (a->f < b->f);
}

static inline bool reference_is_nan(tutti_dtype type, const reference_value *v)
{
    if (type == TUTTI_I32 || type == TUTTI_I64) return false;
    return type == TUTTI_F64 ? isnan(v->d) : isnan(v->f);
}

static inline reference_value reference_winner(tutti_dtype type, tutti_operation op, const reference_value *a,
                                               const reference_value *b)
{
    const bool smallest = op == TUTTI_MIN || op == TUTTI_ARGMIN, pair = op == TUTTI_ARGMIN || op == TUTTI_ARGMAX;
    const bool a_nan = reference_is_nan(type, a), b_nan = reference_is_nan(type, b);
    if (a_nan || b_nan) {
        reference_value nan = {.f = tutti_f32_of_bits(0x7fc00000)};
        const uint64_t bits = 0x7ff8000000000000;
        memcpy(&nan.d, &bits, sizeof nan.d);
        if (!pair) return nan;
        if (a_nan != b_nan) return a_nan ? *a : *b;
        return b->index < a->index ? *b : *a;
    }
    const int order = reference_order(type, a, b);
    if (order) return (order < 0) == smallest ? *a : *b;
    if (pair) return b->index < a->index ? *b : *a;
    const bool a_minus = type == TUTTI_F64 ? signbit(a->d) : signbit(a->f); /* zeros of two signs, or the same bits */
    return a_minus == smallest ? *a : *b;
}

static inline reference_value reference_combine(tutti_dtype type, tutti_operation op, reference_value a,
                                                reference_value b)
{
    volatile float f;
    volatile double d;
    if (op != TUTTI_SUM && op != TUTTI_AVG && op != TUTTI_PROD) return reference_winner(type, op, &a, &b);
    if (op == TUTTI_PROD)
        f = a.f * b.f, d = a.d * b.d, a.i = (int64_t)((uint64_t)a.i * (uint64_t)b.i);
    else
        f = a.f + b.f, d = a.d + b.d, a.i = (int64_t)((uint64_t)a.i + (uint64_t)b.i);
    a.f = f, a.d = d;
    if (type == TUTTI_I32) a.i = (int32_t)(uint32_t)(uint64_t)a.i;
    return a;
}

static inline reference_value reference_average(reference_value v, int nranks)
{
    v.f = v.f / (float)nranks, v.d = v.d / nranks, v.i = v.i / nranks;
    return v;
}

/* Element i of leaf `leaf`, from a few bits: small numbers of both signs with many ties and fractions, so that sums
 * round in 16 bits; where `odd`, also NaNs, infinities, both zeros and integers that wrap. Writes tutti_element_bytes
 * at `to`. */
static inline void reference_draw(tutti_dtype type, tutti_operation op, uint64_t bits, bool odd, void *to)
{
    static const float oddities[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 3.0e38f};
    unsigned char pair[16] = {0};
    const int64_t i = (int64_t)(bits % 41) - 20;
    reference_value v = {.f = (float)i + (float)(bits >> 8 & 63) / 64, .d = (double)i / 7, .i = i};
    if (odd && (bits >> 20) % 4 == 0) {
        v.f = oddities[(bits >> 24) % 6];
        v.d = v.f;
        v.i = (bits >> 30) % 2 ? INT32_MAX - (i + 20) : INT64_MAX - (i + 20);
    }
    reference_store(type, TUTTI_SUM, &v, pair);
    if (op == TUTTI_ARGMIN || op == TUTTI_ARGMAX) {
        const int64_t index = (int64_t)(bits >> 33 & 15);
        const int32_t narrow = (int32_t)index;
        if (type == TUTTI_F64 || type == TUTTI_I64)
            memcpy(pair + 8, &index, sizeof index);
        else
            memcpy(pair + 4, &narrow, sizeof narrow);
    }
    memcpy(to, pair, tutti_element_bytes(type, op));
}

#endif
