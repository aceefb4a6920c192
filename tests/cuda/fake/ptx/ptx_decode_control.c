/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_decode_control.c: branches, ends, barriers, what warps do together. */
#include <stdio.h>
#include <string.h>

#include "ptx_reader.h"

static bool read_branch(ptx_reader *r)
{
    ptx_emit(r, NULL)->kind = PTX_BRANCH;
    return ptx_wait_for_label(r, r->f->ncode - 1, false) && ptx_want(r, ';');
}

static bool read_table(ptx_reader *r)
{
    ptx_operand a;
    uint32_t at;
    if (!ptx_operand_read(r, PTX_T_U32, &a) || !ptx_source(r, &a, 4, &at) || !ptx_want(r, ',')) return false;
    const ptx_label *table = NULL;
    for (uint32_t n = r->nlabels; n-- > r->label_floor && !table;)
        if (r->labels[n].table && !strcmp(r->labels[n].name, ptx_look(r)->at)) table = &r->labels[n];
    if (!table) return ptx_fail(r, "there is no table '%s'", ptx_look(r)->at);
    r->pos++;
    ptx_inst *i = ptx_emit(r, NULL);
    i->kind = PTX_TABLE;
    i->a = at;
    i->extra = table->pc;
    i->target = table->ntargets;
    return ptx_want(r, ';');
}

static bool read_return(ptx_reader *r)
{
    if (!r->depth) {
        ptx_emit(r, NULL)->kind = PTX_EXIT;
        return ptx_want(r, ';');
    }
    ptx_emit(r, NULL)->kind = PTX_BRANCH;
    r->pendings = ptx_grown(r->pendings, r->npendings, sizeof(*r->pendings));
    r->pendings[r->npendings++] = (ptx_pending){"\x01return", r->f->ncode - 1, r->line, false};
    return ptx_want(r, ';');
}

/* Reads bar.sync a{, n}; bar.red.popc.u32 d, a{, n}, {!}p; barrier.sync and barrier.cta.sync likewise. */
static bool read_barrier(ptx_reader *r)
{
    if (ptx_has(r, "arrive") || ptx_has(r, "cluster")) return ptx_fail(r, "this barrier is not known");
    const bool red = ptx_has(r, "red"), popc = ptx_has(r, "popc");
    ptx_operand d = {.kind = PTX_OPD_SINK}, o[3];
    int n = 0;
    if (red && (!ptx_operand_read(r, PTX_T_U32, &d) || !ptx_want(r, ','))) return false;
    do {
        if (n == 3) return ptx_fail(r, "a barrier of three operands at most was expected");
        if (!ptx_operand_read(r, PTX_T_U32, &o[n++])) return false;
    } while (ptx_take(r, ','));
    uint32_t number, count = 0, p = 0, to = 0;
    const int threads = n - red;
    const bool complement = red && o[n - 1].negated;
    if (red) o[n - 1].negated = false;
    if (!ptx_source(r, &o[0], 4, &number) || (threads > 1 && !ptx_source(r, &o[1], 4, &count))) return false;
    if (red && (!ptx_source(r, &o[n - 1], 0, &p) || !ptx_result(r, &d, popc ? 4 : 0, &to))) return false;
    ptx_inst *i = ptx_emit(r, NULL);
    i->kind = PTX_BARRIER;
    i->a = number;
    i->b = count;
    i->c = p;
    i->d = to;
    i->flags = threads > 1;
    i->imm = complement;
    i->what = !red ? PTX_BAR_SYNC : popc ? PTX_BAR_POPC : ptx_has(r, "and") ? PTX_BAR_AND : PTX_BAR_OR;
    return ptx_want(r, ';');
}

/* ---- what warps do together ---- */

typedef struct {
    ptx_operand d, p, o[4];
    int n;
} together;

/* Reads d{|p}, a, b, c, mask; `result`: there is a d. */
static bool read_together(ptx_reader *r, together *t, bool result)
{
    t->d.kind = t->p.kind = PTX_OPD_SINK;
    t->n = 0;
    if (result && !ptx_operand_read(r, PTX_T_U32, &t->d)) return false;
    if (result && ptx_take(r, '|') && !ptx_operand_read(r, PTX_T_PRED, &t->p)) return false;
    if (result && !ptx_want(r, ',')) return false;
    do {
        if (t->n == 4) return ptx_fail(r, "too many operands");
        if (!ptx_operand_read(r, PTX_T_U32, &t->o[t->n++])) return false;
    } while (ptx_take(r, ','));
    return true;
}

static ptx_inst *emit_meeting(ptx_reader *r, ptx_run *run, uint32_t mask)
{
    ptx_inst *i = ptx_emit(r, run);
    i->kind = PTX_MEET;
    i->mask_at = mask;
    return i;
}

static bool read_shuffle(ptx_reader *r)
{
    static const char *modes[] = {"up", "down", "bfly", "idx"};
    together t;
    uint32_t d, p = 0, s[4];
    if (!ptx_has(r, "sync")) return ptx_fail(r, "shuffles have .sync here");
    if (!read_together(r, &t, true) || t.n != 4) return ptx_fail(r, "a shuffle of four sources was expected");
    for (int n = 0; n < 4; n++)
        if (!ptx_source(r, &t.o[n], 4, &s[n])) return false;
    if (!ptx_result(r, &t.d, 4, &d) || (t.p.kind == PTX_OPD_REGISTER && !ptx_result(r, &t.p, 0, &p))) return false;
    ptx_inst *i = emit_meeting(r, ptx_shuffle, s[3]);
    i->d = d;
    i->a = s[0];
    i->b = s[1];
    i->c = s[2];
    i->imm = t.p.kind == PTX_OPD_REGISTER ? (int64_t)p : -1;
    for (int n = 0; n < 4; n++)
        if (ptx_has(r, modes[n])) i->what = (uint8_t)n;
    return true;
}

static bool read_vote(ptx_reader *r)
{
    static const char *modes[] = {"ballot", "all", "any", "uni"};
    together t;
    uint32_t d, a, mask;
    if (!ptx_has(r, "sync")) return ptx_fail(r, "votes have .sync here");
    if (!read_together(r, &t, true) || t.n != 2) return ptx_fail(r, "a vote of two sources was expected");
    const bool complement = t.o[0].negated;
    t.o[0].negated = false;
    if (!ptx_source(r, &t.o[0], 0, &a) || !ptx_source(r, &t.o[1], 4, &mask)) return false;
    if (!ptx_result(r, &t.d, ptx_has(r, "ballot") ? 4 : 0, &d)) return false;
    ptx_inst *i = emit_meeting(r, ptx_vote, mask);
    i->d = d;
    i->a = a;
    i->flags = complement;
    for (int n = 0; n < 4; n++)
        if (ptx_has(r, modes[n])) i->what = (uint8_t)n;
    return true;
}

static bool read_redux(ptx_reader *r)
{
    static const struct {
        const char *name;
        int what;
    } all[] = {{"add", PTX_ATOM_ADD}, {"min", PTX_ATOM_MIN}, {"max", PTX_ATOM_MAX},
               {"and", PTX_ATOM_AND}, {"or", PTX_ATOM_OR},   {"xor", PTX_ATOM_XOR}};
    together t;
    uint32_t d, a, mask;
    const ptx_type type = ptx_last_type(r);
    if (type == PTX_T_F32) return ptx_fail(r, "this reduction is not known");
    if (!read_together(r, &t, true) || t.n != 2) return ptx_fail(r, "two sources were expected");
    if (!ptx_source(r, &t.o[0], 4, &a) || !ptx_source(r, &t.o[1], 4, &mask) || !ptx_result(r, &t.d, 4, &d))
        return false;
    ptx_inst *i = emit_meeting(r, ptx_reduce, mask);
    i->d = d;
    i->a = a;
    i->flags = (uint8_t)type;
    for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
        if (ptx_has(r, all[n].name)) i->what = (uint8_t)all[n].what;
    return true;
}

static bool read_match(ptx_reader *r)
{
    together t;
    uint32_t d, p = 0, a, mask;
    const uint32_t size = ptx_type_size(ptx_last_type(r));
    if (!read_together(r, &t, true) || t.n != 2) return ptx_fail(r, "two sources were expected");
    if (!ptx_source(r, &t.o[0], size, &a) || !ptx_source(r, &t.o[1], 4, &mask) || !ptx_result(r, &t.d, 4, &d))
        return false;
    if (t.p.kind == PTX_OPD_REGISTER && !ptx_result(r, &t.p, 0, &p)) return false;
    ptx_inst *i = emit_meeting(r, ptx_match, mask);
    i->d = d;
    i->a = a;
    i->size = (uint8_t)size;
    i->what = ptx_has(r, "all");
    i->imm = t.p.kind == PTX_OPD_REGISTER ? (int64_t)p : -1;
    return true;
}

static bool read_warp_barrier(ptx_reader *r)
{
    together t;
    uint32_t mask;
    if (!read_together(r, &t, false) || t.n != 1 || !ptx_source(r, &t.o[0], 4, &mask))
        return ptx_fail(r, "a mask was expected");
    emit_meeting(r, ptx_sync_warp, mask);
    return true;
}

static bool read_active(ptx_reader *r)
{
    ptx_operand d;
    uint32_t at;
    if (!ptx_operand_read(r, PTX_T_U32, &d) || !ptx_result(r, &d, 4, &at)) return false;
    ptx_emit(r, ptx_active)->d = at;
    return true;
}

/* Says whether the instruction has no effect here: hints, waits, fences of what is done at once. */
static bool is_nothing(const ptx_reader *r)
{
    static const char *bases[] = {"prefetch", "prefetchu",      "discard",      "nanosleep",
                                  "pmevent",  "griddepcontrol", "applypriority"};
    for (size_t n = 0; n < sizeof(bases) / sizeof(*bases); n++)
        if (ptx_is(r, bases[n])) return true;
    return false;
}

bool ptx_read_control(ptx_reader *r, bool *mine)
{
    *mine = true;
    if (ptx_is(r, "bra")) return read_branch(r);
    if (ptx_is(r, "brx")) return read_table(r);
    if (ptx_is(r, "ret")) return read_return(r);
    if (ptx_is(r, "call")) return ptx_read_call(r);
    if (ptx_is(r, "exit") || ptx_is(r, "trap") || ptx_is(r, "brkpt")) {
        ptx_emit(r, NULL)->kind = ptx_is(r, "exit") ? PTX_EXIT : PTX_TRAP;
        return ptx_want(r, ';');
    }
    if (ptx_is(r, "bar") && ptx_has(r, "warp")) return read_warp_barrier(r) && ptx_want(r, ';');
    if (ptx_is(r, "bar") || ptx_is(r, "barrier")) return read_barrier(r);
    if (ptx_is(r, "shfl")) return read_shuffle(r) && ptx_want(r, ';');
    if (ptx_is(r, "vote")) return read_vote(r) && ptx_want(r, ';');
    if (ptx_is(r, "redux")) return read_redux(r) && ptx_want(r, ';');
    if (ptx_is(r, "match")) return read_match(r) && ptx_want(r, ';');
    if (ptx_is(r, "activemask")) return read_active(r) && ptx_want(r, ';');
    if (ptx_is(r, "membar") || ptx_is(r, "fence")) {
        ptx_emit(r, ptx_fence);
        return ptx_want(r, ';');
    }
    if (is_nothing(r)) {
        ptx_skip_statement(r);
        return true;
    }
    *mine = false;
    return true;
}
