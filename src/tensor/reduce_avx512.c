/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_avx512.c: the loops of reduce_loops.h, compiled for AVX-512. */
#include "reduce_loops.h"

const tutti_reduce_row tutti_reduce_avx512 = REDUCE_ROW;
