/* SPDX-License-Identifier: Apache-2.0 */
/* update_avx512.c: the row for AVX-512: sixteen elements at once. Compiled with -mavx512f; runs where tutti_elementwise_isa says avx512. */
#include "update_impl.h"

enum { WIDTH = 16 };
typedef float vector __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));

#include "update_loops.h"

const tutti_update_row tutti_update_avx512 = {"avx512", apply};
