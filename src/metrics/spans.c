/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c: allocates the memory that spans of time are recorded into. */
#include "trace.h"

#include <stdlib.h>

#include "../base/arena.h"

void tutti_spans_init(tutti_spans *s, int64_t capacity)
{
    *s = (tutti_spans){.spans = tutti_alloc(sizeof *s->spans * (size_t)capacity), .capacity = capacity};
}

void tutti_spans_release(tutti_spans *s)
{
    free(s->spans);
    *s = (tutti_spans){0};
}
