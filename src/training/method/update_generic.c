/* SPDX-License-Identifier: Apache-2.0 */
/* update_generic.c: the row for the compiler's vectors of four, which every processor has in some form. */
#include "update_impl.h"

enum { WIDTH = 4 };
typedef float vector __attribute__((vector_size(16)));
typedef float loose __attribute__((vector_size(16), aligned(4), may_alias));

#include "update_loops.h"

const tutti_update_row tutti_update_generic = {"generic", apply};
