/* SPDX-License-Identifier: Apache-2.0 */
/* update_impl.h: the rows behind tutti_update_apply, one a file: AVX-512, AVX2, plain C. Every row computes an element by the
 * same operations in the same order, so all rows give equal bits. */
#ifndef TUTTI_UPDATE_IMPL_H
#define TUTTI_UPDATE_IMPL_H

#include "method.h"

typedef struct {
    tutti_rule rule;
    float decay, mu, lr, unscale;
    float *w, *v; /* v: not looked at by TUTTI_RULE_SGD */
    const float *sum;
    int64_t n;
} tutti_update_call;

typedef struct {
    const char *name; /* as tutti_elementwise_isa names it */
    void (*apply)(const tutti_update_call *call);
} tutti_update_row;

extern const tutti_update_row tutti_update_avx512, tutti_update_avx2, tutti_update_generic;

/* Best first; the last one is usable everywhere. update_rows_avx2.c or update_rows_portable.c. */
extern const tutti_update_row *const tutti_update_rows[];
extern const int tutti_update_nrows;

#endif
