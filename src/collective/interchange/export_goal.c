/* SPDX-License-Identifier: Apache-2.0 */
/* export_goal.c: GOAL, the text that LogGOPSim's txt2bin reads: a line for each step, then lines for dependencies. Work
 * is in nanoseconds. */
#include <math.h>
#include <stdlib.h>

#include "export_steps.h"

static void step_write(tutti_strbuf *out, const tutti_export_part *p, int32_t i, double add_bytes_per_s)
{
    const tutti_step *step = &p->part.steps[i];
    tutti_strbuf_printf(out, "l%d: ", (int)i + 1);
    switch (step->kind) {
    case TUTTI_STEP_SEND:
        tutti_strbuf_printf(out, "send %lldb to %d tag %d\n", (long long)p->bytes[i], (int)step->peer, (int)p->tag[i]);
        break;
    case TUTTI_STEP_RECV:
        tutti_strbuf_printf(out, "recv %lldb from %d tag %d\n", (long long)p->bytes[i], (int)step->peer,
                            (int)p->tag[i]);
        break;
    default: tutti_strbuf_printf(out, "calc %lld\n", llround((double)p->bytes[i] / add_bytes_per_s * 1e9)); break;
    }
}

static void rank_write(tutti_strbuf *out, const tutti_export_part *p, double add_bytes_per_s)
{
    tutti_strbuf_printf(out, "\nrank %d {\n", (int)p->part.rank);
    for (int32_t i = 0; i < p->part.nsteps; i++) step_write(out, p, i, add_bytes_per_s);
    for (int32_t i = 0; i < p->part.nsteps; i++) {
        const tutti_step *step = &p->part.steps[i];
        if (p->previous[i] >= 0) tutti_strbuf_printf(out, "l%d requires l%d\n", (int)i + 1, (int)p->previous[i] + 1);
        for (int32_t d = 0; d < step->ndeps; d++)
            if (p->part.deps[step->first_dep + d] != p->previous[i])
                tutti_strbuf_printf(out, "l%d requires l%d\n", (int)i + 1, (int)p->part.deps[step->first_dep + d] + 1);
    }
    tutti_strbuf_puts(out, "}\n");
}

tutti_status tutti_export_goal(const tutti_schedule *s, const tutti_export_options *o, char **out, tutti_failure *err)
{
    int32_t nchannels;
    tutti_strbuf text = {0};
    tutti_status st = tutti_export_begin(s, "GOAL", &nchannels, err);
    if (st != TUTTI_OK) return st;
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    tutti_strbuf_printf(&text, "num_ranks %d\n", (int)nranks);
    for (int32_t rank = 0; rank < nranks; rank++) {
        tutti_export_part p;
        tutti_export_part_of(s, rank, o->n, nchannels, &p);
        rank_write(&text, &p, o->add_bytes_per_s);
        tutti_export_part_release(&p);
    }
    *out = tutti_strbuf_detach(&text);
    return TUTTI_OK;
}
