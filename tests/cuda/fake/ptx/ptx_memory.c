/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_memory.c: loads, stores, atomics. An access that all lanes make side by side to device memory that was written is
 * one copy. */
#include "../fake.h"
#include "ptx_lanes.h"

/* Register i->a has the address, of 64 bits where i->flags says so. */
static inline uint64_t address_of(ptx_warp *w, const ptx_inst *i, int l)
{
    const uint64_t at = i->flags ? PTX_REG(uint64_t, w, i->a)[l] : PTX_REG(uint32_t, w, i->a)[l];
    return at + (uint64_t)i->imm;
}

static inline bool all_written(const uint8_t *marks, uint32_t nbytes)
{
    uint64_t word = UINT64_C(0x0202020202020202);
    if (nbytes < 8) {
        memcpy(&word, marks, nbytes);
        return word == UINT64_C(0x0202020202020202);
    }
    bool all = true;
    for (uint32_t n = 0; n < nbytes; n += 8) {
        memcpy(&word, marks + n, 8);
        all &= word == UINT64_C(0x0202020202020202);
    }
    return all;
}

static inline uint8_t *reach(ptx_warp *w, int l, uint64_t at, const ptx_inst *i, uint32_t nbytes, bool writes)
{
    if (i->space == PTX_GLOBAL && fake_is_device(at) && !(at & (nbytes - 1)) && all_written(fake_marks(at), nbytes))
        return fake_bytes(at);
    return ptx_reach(w, l, at, (ptx_space)i->space, nbytes, writes, false);
}

/* Finds the memory that all 32 lanes reach, one beside the other, where that is device memory that was written;
 * otherwise NULL. */
static uint8_t *side_by_side(ptx_warp *w, const ptx_inst *i, uint32_t each)
{
    const uint64_t *at = PTX_REG(uint64_t, w, i->a), first = at[0] + (uint64_t)i->imm;
    uint64_t off = 0;
    for (int l = 0; l < PTX_LANES; l++) off |= at[l] - at[0] - (uint64_t)l * each;
    if (off || first & (each - 1) || !fake_is_device(first) || !fake_is_device(first + PTX_LANES * each)) return NULL;
    return all_written(fake_marks(first), PTX_LANES * each) ? fake_bytes(first) : NULL;
}

#define MOVE(bits)                                                                                                     \
    static void load_##bits(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                             \
    {                                                                                                                  \
        const uint32_t *regs = w->block->launch->f->extra + i->extra, nbytes = i->count * (bits / 8);                  \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            if (!(mask >> l & 1)) continue;                                                                            \
            const uint64_t at = address_of(w, i, l);                                                                   \
            const uint8_t *from = reach(w, l, at, i, nbytes, false);                                                   \
            if (!from) continue;                                                                                       \
            if (ptx_races && i->space <= PTX_GLOBAL) ptx_global_race(w, l, at, NULL, nbytes, false);                   \
            for (uint32_t n = 0; n < i->count; n++)                                                                    \
                memcpy(&PTX_REG(uint##bits##_t, w, regs[n])[l], from + n * (bits / 8), bits / 8);                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void store_##bits(ptx_warp *w, const ptx_inst *i, uint32_t mask)                                            \
    {                                                                                                                  \
        const uint32_t *regs = w->block->launch->f->extra + i->extra, nbytes = i->count * (bits / 8);                  \
        for (int l = 0; l < PTX_LANES; l++) {                                                                          \
            if (!(mask >> l & 1)) continue;                                                                            \
            const uint64_t at = address_of(w, i, l);                                                                   \
            uint##bits##_t values[PTX_EXTRA];                                                                          \
            for (uint32_t n = 0; n < i->count; n++) values[n] = PTX_REG(uint##bits##_t, w, regs[n])[l];                \
            uint8_t *to = reach(w, l, at, i, nbytes, true);                                                            \
            if (!to) continue;                                                                                         \
            if (ptx_races && i->space <= PTX_GLOBAL) ptx_global_race(w, l, at, (uint8_t *)values, nbytes, false);      \
            memcpy(to, values, nbytes);                                                                                \
        }                                                                                                              \
    }
MOVE(8)
MOVE(16)
MOVE(32)
MOVE(64)

static bool whole_warp(const ptx_inst *i, uint32_t mask)
{
    return mask == ~UINT32_C(0) && i->space == PTX_GLOBAL && i->flags && !ptx_races;
}

void ptx_load(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const uint8_t *from = whole_warp(i, mask) ? side_by_side(w, i, (uint32_t)i->size * i->count) : NULL;
    if (from && i->count == 1) {
        memcpy(w->regs + w->block->launch->f->extra[i->extra], from, (size_t)PTX_LANES * i->size);
        return;
    }
    if (from && i->size == 4) {
        const uint32_t *regs = w->block->launch->f->extra + i->extra;
        for (uint32_t n = 0; n < i->count; n++) {
            uint32_t *to = PTX_REG(uint32_t, w, regs[n]);
            for (uint32_t l = 0; l < PTX_LANES; l++) memcpy(&to[l], from + (l * i->count + n) * 4, 4);
        }
        return;
    }
    switch (i->size) {
    case 1: load_8(w, i, mask); break;
    case 2: load_16(w, i, mask); break;
    case 4: load_32(w, i, mask); break;
    default: load_64(w, i, mask); break;
    }
}

void ptx_store(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint8_t *to = whole_warp(i, mask) ? side_by_side(w, i, (uint32_t)i->size * i->count) : NULL;
    if (to && i->count == 1) {
        memcpy(to, w->regs + w->block->launch->f->extra[i->extra], (size_t)PTX_LANES * i->size);
        return;
    }
    if (to && i->size == 4) {
        const uint32_t *regs = w->block->launch->f->extra + i->extra;
        for (uint32_t n = 0; n < i->count; n++) {
            const uint32_t *values = PTX_REG(uint32_t, w, regs[n]);
            for (uint32_t l = 0; l < PTX_LANES; l++) memcpy(to + (l * i->count + n) * 4, &values[l], 4);
        }
        return;
    }
    switch (i->size) {
    case 1: store_8(w, i, mask); break;
    case 2: store_16(w, i, mask); break;
    case 4: store_32(w, i, mask); break;
    default: store_64(w, i, mask); break;
    }
}

/* ---- atomics: what: the operation, flags: the type, count: the address has 64 bits; a: address, b, c: values, d: what
 * was there ---- */

static uint64_t whole_result(const ptx_inst *i, uint64_t old, uint64_t b, uint64_t c, bool is_signed)
{
    const int shift = 64 - 8 * i->size;
    const int64_t so = (int64_t)(old << shift), sb = (int64_t)(b << shift);
    const bool less = is_signed ? sb < so : b < old;
    switch (i->what) {
    case PTX_ATOM_ADD: return old + b;
    case PTX_ATOM_MIN: return less ? b : old;
    case PTX_ATOM_MAX: return less ? old : b;
    case PTX_ATOM_EXCH: return b;
    case PTX_ATOM_CAS: return old == b ? c : old;
    case PTX_ATOM_AND: return old & b;
    case PTX_ATOM_OR: return old | b;
    case PTX_ATOM_XOR: return old ^ b;
    case PTX_ATOM_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

static uint64_t atomic_result(const ptx_inst *i, uint64_t old, uint64_t b, uint64_t c)
{
    const ptx_type t = (ptx_type)i->flags;
    if (i->what == PTX_ATOM_ADD && t == PTX_T_F32)
        return ptx_bits_of(ptx_float_of((uint32_t)old) + ptx_float_of((uint32_t)b));
    if (i->what == PTX_ATOM_ADD && t == PTX_T_F64) {
        double x, y;
        memcpy(&x, &old, sizeof(x));
        memcpy(&y, &b, sizeof(y));
        x += y;
        memcpy(&old, &x, sizeof(x));
        return old;
    }
    if (i->what == PTX_ATOM_ADD && t == PTX_T_F16)
        return ptx_half_from_double((double)ptx_half_to_float((uint16_t)old) + (double)ptx_half_to_float((uint16_t)b));
    if (i->what == PTX_ATOM_ADD && t == PTX_T_BF16)
        return ptx_bf16_from_double((double)ptx_bf16_to_float((uint16_t)old) + (double)ptx_bf16_to_float((uint16_t)b));
    return whole_result(i, old, b, c, t == PTX_T_S32 || t == PTX_T_S64);
}

static uint64_t value_of(ptx_warp *w, uint32_t at, uint32_t size, int l)
{
    switch (size) {
    case 2: return PTX_REG(uint16_t, w, at)[l];
    case 4: return PTX_REG(uint32_t, w, at)[l];
    default: return PTX_REG(uint64_t, w, at)[l];
    }
}

void ptx_atomic(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const bool shared = i->space == PTX_SHARED;
    if (!shared) ptx_global_sync(w);
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        const uint64_t at =
            (i->count ? PTX_REG(uint64_t, w, i->a)[l] : PTX_REG(uint32_t, w, i->a)[l]) + (uint64_t)i->imm;
        uint8_t *there = ptx_reach(w, l, at, (ptx_space)i->space, i->size, true, true);
        if (!there) continue;
        if (ptx_races && !shared) ptx_global_race(w, l, at, NULL, i->size, true);
        uint64_t old = 0;
        memcpy(&old, there, i->size);
        const uint64_t made = atomic_result(i, old, value_of(w, i->b, i->size, l), value_of(w, i->c, i->size, l));
        memcpy(there, &made, i->size);
        if (i->target) continue; /* red: nobody asks */
        switch (i->size) {
        case 2: PTX_REG(uint16_t, w, i->d)[l] = (uint16_t)old; break;
        case 4: PTX_REG(uint32_t, w, i->d)[l] = (uint32_t)old; break;
        default: PTX_REG(uint64_t, w, i->d)[l] = old; break;
        }
    }
}

void ptx_fence(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    (void)i, (void)mask;
    ptx_global_sync(w);
}

/* cp.async copies at once. Register a has the address in shared memory (of 64 bits where `flags` says so), b the
 * source; imm and extra are their offsets. `size` bytes are written; where `count` is set, register c says how many of
 * them are read, and the others become zero. */
void ptx_copy_async(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        const uint64_t at = address_of(w, i, l);
        const uint64_t source = PTX_REG(uint64_t, w, i->b)[l] + (uint64_t)(int64_t)(int32_t)i->extra;
        const uint32_t wanted = i->count ? PTX_REG(uint32_t, w, i->c)[l] : i->size;
        uint8_t bytes[16] = {0};
        for (uint32_t n = 0; n < wanted && n < i->size; n += 4) {
            const uint8_t *from = ptx_reach(w, l, source + n, PTX_GLOBAL, 4, false, false);
            if (from) memcpy(bytes + n, from, 4);
        }
        uint8_t *to = ptx_reach(w, l, at, PTX_SHARED, i->size, true, false);
        if (to) memcpy(to, bytes, i->size);
    }
}

/* Loads a parameter, which is the same for all lanes. */
void ptx_load_fast(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const ptx_launch *launch = w->block->launch;
    const uint32_t nbytes = (uint32_t)i->size * i->count;
    if (i->imm < 0 || (uint64_t)i->imm + nbytes > launch->f->param_bytes) {
        ptx_say(w, __builtin_ctz(mask), "reads %u bytes at %lld of %u bytes of parameters", nbytes, (long long)i->imm,
                launch->f->param_bytes);
        return;
    }
    for (uint32_t n = 0; n < i->count; n++) {
        uint8_t *to = w->regs + launch->f->extra[i->extra + n];
        const uint8_t *from = launch->params + i->imm + (size_t)n * i->size;
        if (i->size == 4)
            for (size_t l = 0; l < PTX_LANES; l++) mask >> l & 1 ? memcpy(to + l * 4, from, 4) : NULL;
        else if (i->size == 8)
            for (size_t l = 0; l < PTX_LANES; l++) mask >> l & 1 ? memcpy(to + l * 8, from, 8) : NULL;
        else
            for (size_t l = 0; l < PTX_LANES; l++) mask >> l & 1 ? memcpy(to + l * i->size, from, i->size) : NULL;
    }
}
