/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_generic.c: the loops of reduce_loops.h, compiled for what every processor of the kind has. */
#include "reduce_loops.h"

const tutti_reduce_row tutti_reduce_generic = REDUCE_ROW;
