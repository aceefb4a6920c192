/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_run.c: launches: blocks one after another, their warps in turns from barrier to barrier. */
#include <stdlib.h>
#include <string.h>

#include "../fake.h"
#include "../fake_cuda.h"
#include "ptx_lanes.h"

enum { LONG_RUN = 1 << 28 };
#define ENDLESS UINT64_C(100000000000) /* instructions of a block */

static uint64_t executed;
static uint32_t epochs = 1;

FAKE_EXPORT uint64_t tutti_fake_cuda_instructions(void)
{
    return executed;
}

static uint32_t at_pc(const ptx_warp *w, uint32_t lanes, uint32_t pc)
{
    uint32_t m = 0;
    for (int l = 0; l < PTX_LANES; l++) m |= (uint32_t)(w->pc[l] == pc) << l;
    return m & lanes;
}

static void set_pc(ptx_warp *w, uint32_t lanes, uint32_t pc)
{
    for (int l = 0; l < PTX_LANES; l++)
        if (lanes >> l & 1) w->pc[l] = pc;
}

static uint32_t smallest_pc(const ptx_warp *w, uint32_t lanes)
{
    uint32_t least = PTX_NO_PC;
    for (int l = 0; l < PTX_LANES; l++)
        if (lanes >> l & 1 && w->pc[l] < least) least = w->pc[l];
    return least;
}

/* Says whether all living lanes that the lanes `here` wait for have come. */
static bool complete(ptx_warp *w, const ptx_inst *i, uint32_t here)
{
    uint32_t wanted = 0;
    for (int l = 0; l < PTX_LANES; l++)
        if (here >> l & 1) wanted |= PTX_REG(uint32_t, w, i->mask_at)[l];
    return !(wanted & w->live & ~here);
}

/* Runs a PTX_MEET for lanes that came there, or leaves them parked. Returns the lanes that go on; 0: none. */
static uint32_t meet(ptx_warp *w, const ptx_inst *i, uint32_t lanes, uint32_t pc)
{
    const uint32_t here = lanes | at_pc(w, w->parked, pc);
    w->at = i;
    for (int l = 0; l < PTX_LANES; l++)
        if (lanes >> l & 1 && !(PTX_REG(uint32_t, w, i->mask_at)[l] >> l & 1))
            ptx_say(w, l, "a thread does what its own mask 0x%x leaves it out of", PTX_REG(uint32_t, w, i->mask_at)[l]);
    if (!complete(w, i, here)) {
        w->parked |= lanes;
        set_pc(w, lanes, pc);
        return 0;
    }
    w->parked &= ~here;
    i->run(w, i, here);
    return here;
}

/* Runs the lanes m, which are all at pc, until they part, wait or end, or come to `limit`, where others are. */
static void run_lanes(ptx_warp *w, uint32_t pc, uint32_t m, uint32_t limit)
{
    const ptx_inst *code = w->block->launch->f->code;
    uint64_t count = 0;
    for (;;) {
        const ptx_inst *i = &code[pc];
        uint32_t e = m;
        if (i->guard >= 0) e &= *ptx_pred(w, (uint32_t)i->guard) ^ i->guard_not;
        count += (uint64_t)__builtin_popcount(e);
        switch ((ptx_kind)i->kind) {
        case PTX_DO:
            w->at = i;
            if (e) i->run(w, i, e);
            pc++;
            break;
        case PTX_BRANCH:
            if (e == m) {
                pc = i->target;
            } else if (e) {
                set_pc(w, e, i->target);
                set_pc(w, m & ~e, pc + 1);
                executed += count;
                return;
            } else {
                pc++;
            }
            break;
        default:
            executed += count;
            if (i->kind == PTX_EXIT) w->live &= ~e;
            if (i->kind == PTX_TRAP && e) {
                w->at = i;
                ptx_say(w, __builtin_ctz(e), "a trap");
                w->live &= ~e;
            }
            set_pc(w, m, pc + 1);
            if (i->kind == PTX_TABLE)
                for (int l = 0; l < PTX_LANES; l++)
                    if (e >> l & 1) {
                        const uint32_t n = PTX_REG(uint32_t, w, i->a)[l];
                        w->pc[l] = w->block->launch->f->extra[i->extra + (n < i->target ? n : i->target - 1)];
                    }
            if (i->kind == PTX_BARRIER) w->waiting |= e;
            if (i->kind == PTX_MEET && e) set_pc(w, meet(w, i, e, pc), pc + 1);
            return;
        }
        if (pc >= limit || count > LONG_RUN) break;
    }
    executed += count;
    set_pc(w, m, pc);
}

/* A block that never ends waits for what no thread here will do. */
static void check_end(ptx_warp *w)
{
    if (executed < w->block->deadline) return;
    ptx_say(w, 0, "the block has run for %llu instructions: does it wait for another block, or a lane for another one?",
            (unsigned long long)ENDLESS);
    w->block->deadline = ~UINT64_C(0);
}

/* Runs a warp until all lanes have ended or wait for the block. */
static void run_warp(ptx_warp *w)
{
    for (;;) {
        check_end(w);
        const uint32_t ready = w->live & ~w->waiting & ~w->parked;
        if (ready) {
            const uint32_t pc = smallest_pc(w, ready), m = at_pc(w, ready, pc);
            run_lanes(w, pc, m, smallest_pc(w, ready & ~m));
            continue;
        }
        const uint32_t parked = w->parked & w->live;
        if (!parked) return;
        const uint32_t pc = smallest_pc(w, parked), here = at_pc(w, parked, pc);
        const ptx_inst *i = &w->block->launch->f->code[pc];
        w->at = i;
        if (!complete(w, i, here))
            ptx_say(w, __builtin_ctz(here), "lanes 0x%x wait for lanes of their mask that never come here", here);
        w->parked &= ~here;
        i->run(w, i, here);
        set_pc(w, here, pc + 1);
    }
}

/* ---- barriers of a block ---- */

/* A barrier's instruction has the barrier's number in register a, how many threads come in b where `flags` is set, and
 * in `what` how predicate c (its complement where imm is 1) is reduced into d. */
typedef struct {
    uint32_t number, wanted, have, popc, line;
    bool lines_differ;
} barrier_count;

static const ptx_inst *barrier_of(const ptx_warp *w, int l)
{
    return &w->block->launch->f->code[w->pc[l] - 1];
}

static uint32_t number_of(ptx_warp *w, int l)
{
    return PTX_REG(uint32_t, w, barrier_of(w, l)->a)[l];
}

static barrier_count count_at(ptx_block *b, uint32_t number)
{
    barrier_count c = {.number = number};
    for (uint32_t n = 0; n < b->nwarps; n++) {
        ptx_warp *w = &b->warps[n];
        for (uint32_t left = w->waiting; left; left &= left - 1) {
            const int l = __builtin_ctz(left);
            if (number_of(w, l) != number) continue;
            const ptx_inst *i = barrier_of(w, l);
            c.wanted = i->flags ? PTX_REG(uint32_t, w, i->b)[l] : b->nthreads;
            if (c.have++ && c.line != i->line) c.lines_differ = true;
            c.line = i->line;
            if (i->what != PTX_BAR_SYNC) c.popc += (*ptx_pred(w, i->c) >> l & 1) ^ (uint32_t)(i->imm & 1);
        }
    }
    return c;
}

static void release(ptx_block *b, const barrier_count *c)
{
    for (uint32_t n = 0; n < b->nwarps; n++) {
        ptx_warp *w = &b->warps[n];
        for (uint32_t left = w->waiting; left; left &= left - 1) {
            const int l = __builtin_ctz(left);
            if (number_of(w, l) != c->number) continue;
            const ptx_inst *i = barrier_of(w, l);
            w->waiting &= ~(UINT32_C(1) << l);
            if (i->what == PTX_BAR_POPC) PTX_REG(uint32_t, w, i->d)[l] = c->popc;
            const uint32_t holds = i->what == PTX_BAR_AND ? c->popc == c->have : c->popc != 0;
            if (i->what == PTX_BAR_AND || i->what == PTX_BAR_OR) ptx_set_pred(w, i->d, holds << l, UINT32_C(1) << l);
        }
    }
    b->epoch = ++epochs;
}

/* Lets the threads go that have all come to one barrier; reports where some never will. false: nobody waits. */
static bool pass_barrier(ptx_block *b)
{
    ptx_warp *stuck = NULL;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        ptx_warp *w = &b->warps[n];
        if (!w->waiting) continue;
        if (!stuck) stuck = w;
        const int l = __builtin_ctz(w->waiting);
        const barrier_count c = count_at(b, number_of(w, l));
        if (c.have < c.wanted) continue;
        w->at = barrier_of(w, l);
        if (c.lines_differ)
            ptx_say(w, l, "a divergent barrier: threads of the block wait at different lines, such as %u", c.line);
        release(b, &c);
        return true;
    }
    if (!stuck) return false;
    const int l = __builtin_ctz(stuck->waiting);
    const barrier_count c = count_at(b, number_of(stuck, l));
    stuck->at = barrier_of(stuck, l);
    ptx_say(stuck, l,
            "a divergent barrier: %u threads of the block wait, %u were to come; the others ended or wait elsewhere",
            c.have, c.wanted);
    release(b, &c);
    return true;
}

/* ---- registers that are filled before ---- */

static void fill(ptx_warp *w, uint32_t at, uint32_t size, uint64_t bits)
{
    if (!size) *ptx_pred(w, at) = bits ? ~UINT32_C(0) : 0;
    for (int l = 0; l < PTX_LANES && size; l++) memcpy(w->regs + at + (size_t)l * size, &bits, size);
}

static uint32_t special_of(const ptx_warp *w, int which, uint32_t l)
{
    const ptx_launch *a = w->block->launch;
    const uint32_t t = w->index * PTX_LANES + l, *n = a->block;
    switch (which) {
    case PTX_TID_X: return t % n[0];
    case PTX_TID_Y: return t / n[0] % n[1];
    case PTX_TID_Z: return t / n[0] / n[1];
    case PTX_NTID_X:
    case PTX_NTID_Y:
    case PTX_NTID_Z: return n[which - PTX_NTID_X];
    case PTX_CTAID_X:
    case PTX_CTAID_Y:
    case PTX_CTAID_Z: return w->block->ctaid[which - PTX_CTAID_X];
    case PTX_NCTAID_X:
    case PTX_NCTAID_Y:
    case PTX_NCTAID_Z: return a->grid[which - PTX_NCTAID_X];
    case PTX_LANEID: return l;
    case PTX_WARPID: return w->index;
    case PTX_NWARPID: return w->block->nwarps;
    case PTX_NSMID: return 132;
    case PTX_SMID: return (uint32_t)(w->block->linear % 132);
    case PTX_LANEMASK_EQ: return UINT32_C(1) << l;
    case PTX_LANEMASK_LT: return (UINT32_C(1) << l) - 1;
    case PTX_LANEMASK_LE: return (UINT32_C(2) << l) - 1;
    case PTX_LANEMASK_GT: return ~((UINT32_C(2) << l) - 1);
    case PTX_LANEMASK_GE: return ~((UINT32_C(1) << l) - 1);
    case PTX_DYNAMIC_SMEM: return a->dynamic_bytes;
    case PTX_TOTAL_SMEM: return w->block->shared_bytes;
    default: return 0;
    }
}

static void fill_specials(ptx_warp *w, bool first)
{
    const ptx_function *f = w->block->launch->f;
    for (uint32_t n = 0; n < f->nspecials; n++) {
        const int which = f->specials[n].which;
        if (!first && which != PTX_CTAID_X && which != PTX_CTAID_Y && which != PTX_CTAID_Z && which != PTX_SMID)
            continue;
        for (uint32_t l = 0; l < PTX_LANES; l++) PTX_REG(uint32_t, w, f->specials[n].at)[l] = special_of(w, which, l);
    }
}

/* ---- blocks ---- */

static void run_block(ptx_block *b)
{
    memset(b->shared_written, 0, b->shared_bytes);
    memset(b->shared, 0xff, b->shared_bytes);
    b->epoch = b->block_epoch = ++epochs;
    b->acquired = 0;
    b->deadline = executed + ENDLESS;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        ptx_warp *w = &b->warps[n];
        w->live = w->exists;
        w->waiting = w->parked = w->carry = w->sync = 0;
        memset(w->pc, 0, sizeof(w->pc));
        fill_specials(w, b->linear == 0);
    }
    do
        for (uint32_t n = 0; n < b->nwarps; n++) run_warp(&b->warps[n]);
    while (pass_barrier(b));
}

/* Memory of a launch is kept for the next one, and grows to `want` bytes. */
static void *kept(void **at, size_t *have, size_t want)
{
    if (want > *have) {
        free(*at);
        *have = (want + 4095) / 4096 * 4096;
        *at = aligned_alloc(64, *have);
        if (!*at) abort(); /* a test cannot go on */
        memset(*at, 0, *have);
    }
    return *at;
}

void ptx_launch_run(const ptx_launch *l)
{
    static void *memory[5];
    static size_t sizes[5];
    static ptx_block block;
    ptx_block *b = &block;
    const ptx_function *f = l->f;
    ptx_races = fake_setting("TUTTI_FAKE_CUDA_RACES", 0) != 0;
    b->launch = l;
    b->nthreads = l->block[0] * l->block[1] * l->block[2];
    b->nwarps = (b->nthreads + PTX_LANES - 1) / PTX_LANES;
    b->shared_bytes = f->shared_bytes + l->dynamic_bytes;
    b->local_bytes = f->local_bytes;
    uint8_t *regs = kept(&memory[0], &sizes[0], (size_t)b->nwarps * f->register_bytes + 4096);
    b->shared = kept(&memory[1], &sizes[1], b->shared_bytes + 1);
    b->shared_written = kept(&memory[2], &sizes[2], b->shared_bytes + 1);
    b->local = kept(&memory[3], &sizes[3], (size_t)b->nthreads * b->local_bytes + 1);
    b->traces = kept(&memory[4], &sizes[4], (b->shared_bytes + 1) * sizeof(ptx_trace));
    b->launch_epoch = ++epochs;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        ptx_warp *w = &b->warps[n];
        const uint32_t left = b->nthreads - n * PTX_LANES;
        w->block = b;
        w->index = n;
        w->regs = regs + (size_t)n * f->register_bytes;
        w->exists = left >= PTX_LANES ? ~UINT32_C(0) : (UINT32_C(1) << left) - 1;
        for (uint32_t k = 0; k < f->nconstants; k++) {
            const ptx_constant *c = &f->constants[k];
            fill(w, c->at, c->size, c->bits + (c->dynamic ? f->shared_bytes : 0));
        }
    }
    b->linear = 0;
    for (b->ctaid[2] = 0; b->ctaid[2] < l->grid[2]; b->ctaid[2]++)
        for (b->ctaid[1] = 0; b->ctaid[1] < l->grid[1]; b->ctaid[1]++)
            for (b->ctaid[0] = 0; b->ctaid[0] < l->grid[0]; b->ctaid[0]++, b->linear++) run_block(b);
}
