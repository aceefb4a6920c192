/* SPDX-License-Identifier: Apache-2.0 */
/* action_clear.c: elements of `to` become 0, as if nothing had been kept; `from` is the same memory. It writes 4 bytes
 * an element. */
#include <string.h>

#include "../../../base/text/strbuf.h"
#include "element_loop.h"

#define LOOP(isa, target)                                                                                              \
    target static void clear_##isa(const tutti_elements *e)                                                            \
    {                                                                                                                  \
        memset(e->to, 0, sizeof *e->to *(size_t)e->n);                                                                 \
    }
TUTTI_ISA_EACH(LOOP)
static const tutti_element_loop loop = {"clear", TUTTI_ISA_LIST(clear)};

static void describe(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, ": %s", p->memories[a->to].name);
}

const tutti_action_row tutti_action_clear = {
    .words = "clear",
    .describe = describe,
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_WRITES, TUTTI_AT_NOTHING, TUTTI_AT_TO}},
    .loop = &loop,
};
