/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_check.c: what threads may not do: wrong addresses, reads of what nobody has written, races. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../fake.h"

void ptx_say(ptx_warp *w, int lane, const char *format, ...)
{
    char words[640];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    const ptx_block *b = w->block;
    const uint32_t *n = b->launch->block, t = w->index * PTX_LANES + (uint32_t)lane;
    fake_report("%s: block (%u,%u,%u) thread (%u,%u,%u) PTX line %u: %s", b->launch->f->name, b->ctaid[0], b->ctaid[1],
                b->ctaid[2], t % n[0], t / n[0] % n[1], t / n[0] / n[1], w->at ? w->at->line : 0, words);
}

bool ptx_races;

/* ---- races ---- */

static uint32_t the_clock = 1;

void ptx_global_sync(ptx_warp *w)
{
    w->block->acquired = ++the_clock;
}

/* Says whether an access of `thread`, with the epoch, sync and clock of then, comes before what this warp does now. */
static bool before(const ptx_warp *w, bool shared, uint32_t thread, uint32_t epoch, uint32_t sync, uint32_t clock)
{
    const ptx_block *b = w->block;
    if (epoch < b->launch_epoch) return true;
    if (epoch < b->block_epoch) return shared || clock < b->acquired; /* another block */
    if (epoch < b->epoch) return true;
    return thread != PTX_MANY && thread / PTX_LANES == w->index && sync != w->sync;
}

/* Says with what an access of `thread` races: 0 nothing, 1 a write, 2 a read. */
static int conflict(const ptx_warp *w, bool shared, uint32_t thread, const ptx_trace *t, bool writes, bool atomic)
{
    const bool other_write = t->writer != thread || t->write_epoch < w->block->block_epoch;
    if (t->write_epoch && other_write && !(atomic && t->write_atomic) &&
        !before(w, shared, t->writer, t->write_epoch, t->write_sync, t->write_clock))
        return 1;
    const bool other_read = t->reader != thread || t->read_lanes || t->read_epoch < w->block->block_epoch;
    if (writes && t->read_epoch && other_read &&
        !before(w, shared, t->reader, t->read_epoch, t->read_sync, t->read_clock))
        return 2;
    return 0;
}

static void mark(const ptx_warp *w, uint32_t thread, ptx_trace *t, bool writes, bool atomic)
{
    const uint32_t epoch = w->block->epoch;
    if (writes) {
        t->write_epoch = epoch;
        t->writer = (uint16_t)thread;
        t->write_sync = w->sync;
        t->write_clock = the_clock;
        t->write_atomic = atomic;
        return;
    }
    t->read_clock = the_clock;
    if (t->read_epoch == epoch && t->reader == PTX_MANY) return;
    if (t->read_epoch == epoch && t->reader / PTX_LANES != w->index) {
        t->reader = PTX_MANY;
        return;
    }
    t->read_lanes = t->read_epoch == epoch && t->read_sync == w->sync && (t->read_lanes || t->reader != thread);
    t->read_epoch = epoch;
    t->reader = (uint16_t)thread;
    t->read_sync = w->sync;
}

static void shared_race(ptx_warp *w, int lane, uint32_t offset, uint32_t nbytes, bool writes, bool atomic)
{
    const uint32_t thread = w->index * PTX_LANES + (uint32_t)lane, epoch = w->block->epoch;
    ptx_trace *traces = w->block->traces + offset;
    for (uint32_t n = 0; n < nbytes; n++) {
        /* An access of an earlier epoch comes before this one. */
        const bool quiet = traces[n].write_epoch < epoch && (!writes || traces[n].read_epoch < epoch);
        const int with = quiet ? 0 : conflict(w, true, thread, &traces[n], writes, atomic);
        const uint32_t other = with == 1 ? traces[n].writer : traces[n].reader;
        if (with && other == PTX_MANY)
            ptx_say(w, lane,
                    "race on shared memory at 0x%x: writes what threads of several warps read since the last barrier",
                    offset + n);
        else if (with)
            ptx_say(w, lane, "race on shared memory at 0x%x: %s what thread %u %s since the last barrier", offset + n,
                    writes ? "writes" : "reads", other, with == 1 ? "wrote" : "read");
        mark(w, thread, &traces[n], writes, atomic);
        if (with) break;
    }
}

/* Finds the traces of global memory in a map as large as the arena, whose pages come into being when they are
 * touched. */
static ptx_trace *global_traces(uint64_t address)
{
    static ptx_trace *all;
    if (!all) {
        void *at = mmap(NULL, fake_arena_size * sizeof(*all), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            fake_report("no addresses for traces of global memory");
            return NULL;
        }
        all = at;
    }
    return all + (address - fake_arena);
}

void ptx_global_race(ptx_warp *w, int lane, uint64_t address, const uint8_t *value, uint32_t nbytes, bool atomic)
{
    if (!fake_is_device(address)) return;
    const uint32_t thread = w->index * PTX_LANES + (uint32_t)lane;
    ptx_trace *traces = global_traces(address);
    if (!traces) return;
    const uint8_t *there = fake_bytes(address);
    const bool writes = value || atomic;
    for (uint32_t n = 0; n < nbytes; n++) {
        const int with = conflict(w, false, thread, &traces[n], writes, atomic);
        const bool same = with == 1 && value && value[n] == there[n];
        if (with && !same)
            ptx_say(w, lane, "race on global memory at 0x%llx: %s what %s %s in this launch",
                    (unsigned long long)(address + n), writes ? "writes" : "reads",
                    (with == 1 ? traces[n].write_epoch : traces[n].read_epoch) < w->block->block_epoch
                        ? "another block"
                        : "another thread",
                    with == 1 ? "wrote" : "read");
        mark(w, thread, &traces[n], writes, atomic);
        if (with && !same) break;
    }
}

/* ---- addresses ---- */

static inline bool all_ones(const uint8_t *at, uint32_t nbytes)
{
    uint32_t four;
    if (nbytes != 4) return !memchr(at, 0, nbytes);
    memcpy(&four, at, 4);
    return four == 0x01010101u;
}

static uint8_t *reach_shared(ptx_warp *w, int lane, uint64_t offset, uint32_t nbytes, bool writes, bool atomic)
{
    ptx_block *b = w->block;
    if (offset > b->shared_bytes || offset + nbytes > b->shared_bytes) {
        ptx_say(w, lane, "out of bounds: %s %u bytes at 0x%llx of %u bytes of shared memory",
                writes ? "writes" : "reads", nbytes, (unsigned long long)offset, b->shared_bytes);
        return NULL;
    }
    uint8_t *written = b->shared_written + offset;
    if ((!writes || atomic) && !all_ones(written, nbytes))
        ptx_say(w, lane, "reads shared memory at 0x%llx, %u bytes, that no thread of the block has written",
                (unsigned long long)offset, nbytes);
    if (writes) memset(written, 1, nbytes);
    shared_race(w, lane, (uint32_t)offset, nbytes, writes, atomic);
    return b->shared + offset;
}

static uint8_t *reach_global(ptx_warp *w, int lane, uint64_t address, uint32_t nbytes, bool writes, bool atomic)
{
    char where[256];
    if (!fake_is_device(address)) {
        if (fake_host_has(address, nbytes)) return (uint8_t *)(uintptr_t)address;
        fake_describe(address, nbytes, where, sizeof(where));
        ptx_say(w, lane, "out of bounds: %s %s", writes ? "writes" : "reads", where);
        return NULL;
    }
    uint8_t *marks = fake_marks(address);
    if (memchr(marks, FAKE_NONE, nbytes)) {
        fake_describe(address, nbytes, where, sizeof(where));
        ptx_say(w, lane, "out of bounds: %s %s", writes ? "writes" : "reads", where);
        return NULL;
    }
    if ((!writes || atomic) && memchr(marks, FAKE_UNWRITTEN, nbytes)) {
        fake_describe(address, nbytes, where, sizeof(where));
        ptx_say(w, lane, "reads global memory that nobody has written: %s", where);
    }
    if (writes) memset(marks, FAKE_WRITTEN, nbytes);
    return fake_bytes(address);
}

uint8_t *ptx_reach(ptx_warp *w, int lane, uint64_t address, ptx_space space, uint32_t nbytes, bool writes, bool atomic)
{
    if (space == PTX_GENERIC) {
        const uint64_t window = address & PTX_WINDOW_MASK;
        space = window == PTX_SHARED_WINDOW  ? PTX_SHARED
                : window == PTX_LOCAL_WINDOW ? PTX_LOCAL
                : window == PTX_PARAM_WINDOW ? PTX_PARAM
                                             : PTX_GLOBAL;
        if (space != PTX_GLOBAL) address &= ~PTX_WINDOW_MASK;
    }
    if (address & (nbytes - 1)) {
        ptx_say(w, lane, "misaligned: %s %u bytes at 0x%llx", writes ? "writes" : "reads", nbytes,
                (unsigned long long)address);
        return NULL;
    }
    const ptx_block *b = w->block;
    uint64_t limit = 0;
    uint8_t *base = NULL;
    switch (space) {
    case PTX_SHARED: return reach_shared(w, lane, address, nbytes, writes, atomic);
    case PTX_LOCAL:
        limit = b->local_bytes;
        base = b->local + (size_t)limit * (w->index * PTX_LANES + (uint32_t)lane);
        break;
    case PTX_PARAM:
        limit = writes ? 0 : b->launch->f->param_bytes;
        base = (uint8_t *)(uintptr_t)b->launch->params;
        break;
    default: return reach_global(w, lane, address, nbytes, writes, atomic);
    }
    if (address > limit || address + nbytes > limit) {
        ptx_say(w, lane, "out of bounds: %s %u bytes at 0x%llx of %llu bytes of %s", writes ? "writes" : "reads",
                nbytes, (unsigned long long)address, (unsigned long long)limit,
                space == PTX_LOCAL ? "local memory" : "parameters");
        return NULL;
    }
    return base + address;
}
