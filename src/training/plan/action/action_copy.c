/* SPDX-License-Identifier: Apache-2.0 */
/* action_copy.c: the action copy: copies elements of `from` to those of `to`, while other ranks may change `from`. */
#include "../../../base/text/strbuf.h"
#include "element_loop.h"

static void describe(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, " of %s to %s", p->memories[a->from].name, p->memories[a->to].name);
}

const tutti_action_row tutti_action_copy = {
    .words = "copy",
    .describe = describe,
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_WRITES, TUTTI_AT_FROM, TUTTI_AT_TO}},
    .loop = &tutti_loop_read,
};
