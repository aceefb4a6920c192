/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_avx2.c: the loops of reduce_loops.h, compiled for AVX2. */
#include "reduce_loops.h"

const tutti_reduce_row tutti_reduce_avx2 = REDUCE_ROW;
