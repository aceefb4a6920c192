/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_check.c: proves an imported MSCCL program in its own memory, and says what the proof does not cover. */
#include <stdarg.h>
#include <string.h>

#include "../../base/hash.h"
#include "../check/check_source.h"
#include "msccl_impl.h"

tutti_schedule *tutti_msccl_schedule(const tutti_msccl *m)
{
    return m->schedule;
}

int32_t tutti_msccl_room(const tutti_msccl *m)
{
    return tutti_msccl_holds(!strcmp(m->protocol, "LL"));
}

int32_t tutti_msccl_holds(bool low_latency)
{
    return low_latency ? 8 : 2;
}

static void part_of(const void *owner, int32_t rank, tutti_part *out)
{
    tutti_schedule_part(((const tutti_msccl *)owner)->schedule, rank, out);
}

/* ---- findings: how often, and where first ---- */

typedef struct {
    int64_t n;
    int32_t gpu, block, step, line;
} finding;

typedef struct {
    finding operand, silent, chain, many_chunks, many_steps, many_blocks, channel, crowded;
} findings;

static void found(finding *f, int32_t gpu, int32_t block, int32_t step, int32_t line)
{
    if (!f->n++) f->gpu = gpu, f->block = block, f->step = step, f->line = line;
}

static void look_at_step(const msccl_gpu *g, int32_t gpu, int32_t block, int32_t i, findings *f)
{
    const msccl_block *b = &g->blocks[block];
    const msccl_step *s = &b->steps[i];
    bool adds = s->type == MSCCL_RRC || s->type == MSCCL_RRCS;
    if (adds && (s->src.buffer != s->dst.buffer || s->src.offset != s->dst.offset))
        found(&f->operand, gpu, block, i, s->line);
    if (s->count > MSCCL_MOST_AT_ONCE) found(&f->many_chunks, gpu, block, i, s->line);
    if (s->block >= 0 && !g->blocks[s->block].steps[s->step].awaited) found(&f->silent, gpu, block, i, s->line);
    bool chain = s->type == MSCCL_NOP && s->block >= 0;
    if (chain && (i + 1 == b->nsteps || b->steps[i + 1].block < 0)) found(&f->chain, gpu, block, i, s->line);
}

static void look_at_gpu(const msccl_gpu *g, int32_t gpu, findings *f)
{
    int32_t of_channel[MSCCL_MOST_CHANNELS] = {0};
    if (g->nblocks > MSCCL_MOST_BLOCKS) found(&f->many_blocks, gpu, 0, 0, 0);
    for (int32_t t = 0; t < g->nblocks; t++) {
        const msccl_block *b = &g->blocks[t];
        if (b->nsteps > MSCCL_MOST_STEPS) found(&f->many_steps, gpu, t, 0, b->steps[MSCCL_MOST_STEPS].line);
        if (b->channel >= MSCCL_MOST_CHANNELS)
            found(&f->channel, gpu, t, 0, 0);
        else if (++of_channel[b->channel] == MSCCL_MOST_OF_A_CHANNEL + 1)
            found(&f->crowded, gpu, t, 0, 0);
        for (int32_t i = 0; i < b->nsteps; i++) look_at_step(g, gpu, t, i, f);
    }
}

static void look_at_all(const tutti_msccl *m, findings *f)
{
    for (int32_t r = 0; r < m->ngpus; r++) look_at_gpu(&m->gpus[r], r, f);
}

/* ---- proving the program ---- */

tutti_status tutti_msccl_allow(tutti_msccl *m, const char *what, tutti_failure *err)
{
    if (strcmp(what, "hasdep") != 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "'%s' cannot be allowed; hasdep can", what);
    m->told = true;
    return TUTTI_OK;
}

/* Checks hasdep. A block that waits looks at a number that the other block raises after its steps with hasdep="1", and
 * only after those. Without hasdep the wait lasts until a later such step, or for ever. */
static tutti_status check_told(const tutti_msccl *m, const finding *silent, tutti_failure *err)
{
    if (m->told || !silent->n) return TUTTI_OK;
    const msccl_gpu *g = &m->gpus[silent->gpu];
    const msccl_step *s = &g->blocks[silent->block].steps[silent->step];
    const msccl_block *other = &g->blocks[s->block];
    int32_t later = s->step;
    while (later < other->nsteps && !other->steps[later].awaited) later++;
    return tutti_fail(
        err, TUTTI_ERR_FAILED,
        "gpu %d tb %d step %d (line %d) waits for tb %d step %d, which has hasdep=\"0\" and tells nobody: readers "
        "wait there %s (%lld such waits); write hasdep=\"1\", or say --allow hasdep if yours tells all the same",
        silent->gpu, silent->block, silent->step, silent->line, s->block, s->step,
        later < other->nsteps ? "until a later step tells, which is not what was proved" : "for ever",
        (long long)silent->n);
}

tutti_status tutti_msccl_check(const tutti_msccl *m, int32_t capacity, tutti_check_report *report, tutti_failure *err)
{
    findings f = {0};
    const tutti_part_source source = {.head = tutti_schedule_head(m->schedule),
                                      .part = part_of,
                                      .release = tutti_part_release,
                                      .owner = m,
                                      .describe_step = msccl_describe_step,
                                      .capacity = capacity,
                                      .lies_in = msccl_lies_in};
    tutti_status st = tutti_check_source(&source, report, err);
    if (st) return st;
    look_at_all(m, &f);
    return check_told(m, &f.silent, err);
}

/* ---- remarks ---- */

__attribute__((format(printf, 3, 4))) static void remark(const finding *f, tutti_strbuf *out, const char *format, ...)
{
    va_list args;
    if (!f->n) return;
    va_start(args, format);
    tutti_strbuf_vprintf(out, format, args);
    va_end(args);
    tutti_strbuf_printf(out, " (%lld times, first gpu %d tb %d", (long long)f->n, f->gpu, f->block);
    if (f->line) tutti_strbuf_printf(out, " step %d, line %d", f->step, f->line);
    tutti_strbuf_puts(out, ")\n");
}

void tutti_msccl_remarks(const tutti_msccl *m, tutti_strbuf *out)
{
    findings f = {0};
    char hash[17];
    look_at_all(m, &f);
    tutti_hash_text(m->hash, hash);
    tutti_strbuf_printf(
        out, "which file: hash %s; where several fit, the runtime picks one, so note the hash beside results\n", hash);
    remark(&f.operand, out,
           "operand: the local operand and the target of a receive-reduce-copy differ; the interpreter adds what lies "
           "in src, "
           "some tools write the sender's place there; proved as the interpreter reads it");
    if (m->in_place)
        tutti_strbuf_puts(out, "in place: input and output are one memory, which the steps do not say; proved so\n");
    if (m->told) remark(&f.silent, out, "hasdep: a step waits for one that has hasdep=\"0\", which was allowed");
    remark(&f.chain, out, "nop: readers refuse a chain of waiting nops that does not end in a step that waits itself");
    remark(&f.many_steps, out, "limit: more than %d steps in a block", MSCCL_MOST_STEPS);
    remark(&f.many_blocks, out, "limit: more than %d blocks on a GPU", MSCCL_MOST_BLOCKS);
    remark(&f.channel, out, "limit: channels beyond %d", MSCCL_MOST_CHANNELS - 1);
    remark(&f.crowded, out, "limit: more than %d blocks on a channel", MSCCL_MOST_OF_A_CHANNEL);
    remark(&f.many_chunks, out, "limit: cnt above %d", MSCCL_MOST_AT_ONCE);
    if (!m->azure)
        tutti_strbuf_puts(out, "attributes: no minBytes, maxBytes and outofplace, which Azure's executor wants\n");
    tutti_strbuf_printf(out,
                        "sizes: it runs only where the element count is a multiple of %d; else the library falls back "
                        "without a word\n",
                        m->nchunks);
}
