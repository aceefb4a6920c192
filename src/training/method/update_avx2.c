/* SPDX-License-Identifier: Apache-2.0 */
/* update_avx2.c: the row for AVX2: eight elements at once. Compiled with -mavx2; runs where tutti_elementwise_isa says avx2. */
#include "update_impl.h"

enum { WIDTH = 8 };
typedef float vector __attribute__((vector_size(32)));
typedef float loose __attribute__((vector_size(32), aligned(4), may_alias));

#include "update_loops.h"

const tutti_update_row tutti_update_avx2 = {"avx2", apply};
