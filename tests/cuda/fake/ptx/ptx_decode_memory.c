/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_decode_memory.c: loads, stores, atomics, addresses of spaces. */
#include <stdio.h>
#include <string.h>

#include "ptx_reader.h"

static ptx_space space_of(const ptx_reader *r)
{
    for (int n = 1; n < r->nparts; n++) {
        const char *part = r->parts[n];
        if (!strncmp(part, "global", 6) || !strcmp(part, "const")) return PTX_GLOBAL;
        if (!strncmp(part, "shared", 6)) return PTX_SHARED;
        if (!strcmp(part, "local")) return PTX_LOCAL;
        if (!strncmp(part, "param", 5)) return PTX_PARAM;
    }
    return PTX_GENERIC;
}

static uint32_t vector_of(const ptx_reader *r)
{
    return ptx_has(r, "v2") ? 2 : ptx_has(r, "v4") ? 4 : ptx_has(r, "v8") ? 8 : 1;
}

static bool read_place(ptx_reader *r, ptx_address *p)
{
    p->space = space_of(r);
    return ptx_address_read(r, p);
}

static void emit_access(ptx_reader *r, ptx_run *run, const ptx_address *p, const uint32_t *regs, uint32_t count,
                        uint32_t size)
{
    const uint32_t extra = ptx_new_extra(r, regs, count);
    ptx_inst *i = ptx_emit(r, run);
    i->a = p->at;
    i->flags = p->wide;
    i->imm = p->imm;
    i->space = (uint8_t)p->space;
    i->size = (uint8_t)size;
    i->count = (uint8_t)count;
    i->extra = extra;
}

static bool read_load(ptx_reader *r)
{
    const ptx_type t = ptx_last_type(r);
    const uint32_t size = ptx_type_size(t), count = vector_of(r);
    ptx_operand d;
    ptx_address p;
    uint32_t regs[PTX_EXTRA];
    if (!size) return ptx_fail(r, "a type was expected");
    if (!ptx_operand_read(r, t, &d) || !ptx_want(r, ',') || !read_place(r, &p)) return false;
    if ((d.kind == PTX_OPD_LIST ? d.n : 1) != count) return ptx_fail(r, "%u registers were expected", count);
    for (uint32_t n = 0; n < count; n++) {
        const ptx_operand one = ptx_part_of(&d, n);
        if (!ptx_result(r, &one, size, &regs[n])) return false;
    }
    const bool uniform = p.space == PTX_PARAM && p.constant;
    if (ptx_has(r, "acquire")) ptx_emit(r, ptx_fence);
    emit_access(r, uniform ? ptx_load_fast : ptx_load, &p, regs, count, size);
    for (uint32_t n = 0; n < count; n++) {
        const ptx_operand one = ptx_part_of(&d, n);
        ptx_result_done(r, &one, regs[n], size, ptx_is_signed(t));
    }
    return !r->failed;
}

static bool read_store(ptx_reader *r)
{
    const ptx_type t = ptx_last_type(r);
    const uint32_t size = ptx_type_size(t), count = vector_of(r);
    ptx_operand a;
    ptx_address p;
    uint32_t regs[PTX_EXTRA];
    if (!size) return ptx_fail(r, "a type was expected");
    if (!read_place(r, &p) || !ptx_want(r, ',') || !ptx_operand_read(r, t, &a)) return false;
    if ((a.kind == PTX_OPD_LIST ? a.n : 1) != count) return ptx_fail(r, "%u registers were expected", count);
    for (uint32_t n = 0; n < count; n++) {
        const ptx_operand one = ptx_part_of(&a, n);
        if (!ptx_source(r, &one, size, &regs[n])) return false;
    }
    emit_access(r, ptx_store, &p, regs, count, size);
    return true;
}

/* ---- atomics ---- */

static int atomic_of(const ptx_reader *r)
{
    static const char *names[] = {"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"};
    for (int n = 0; n < 10; n++)
        if (ptx_has(r, names[n])) return n;
    return -1;
}

static bool read_atomic(ptx_reader *r, bool red)
{
    const ptx_type t = ptx_last_type(r);
    const uint32_t size = ptx_type_size(t);
    const int what = atomic_of(r);
    const bool halves = t == PTX_T_F16X2 || t == PTX_T_BF16X2,
               narrow = size < 2 || (size == 2 && what != PTX_ATOM_ADD && what != PTX_ATOM_CAS);
    if (what < 0 || !size || halves || narrow || vector_of(r) > 1) return ptx_fail(r, "this atomic is not known");
    ptx_operand d = {.kind = PTX_OPD_SINK}, b, c;
    ptx_address p;
    uint32_t to, from, with;
    if (!red && (!ptx_operand_read(r, t, &d) || !ptx_want(r, ','))) return false;
    if (!read_place(r, &p) || !ptx_want(r, ',') || !ptx_operand_read(r, t, &b)) return false;
    c = b;
    if (what == PTX_ATOM_CAS && (!ptx_want(r, ',') || !ptx_operand_read(r, t, &c))) return false;
    if (!ptx_source(r, &b, size, &from) || !ptx_source(r, &c, size, &with) || !ptx_result(r, &d, size, &to))
        return false;
    ptx_inst *i = ptx_emit(r, ptx_atomic);
    i->d = to;
    i->a = p.at;
    i->b = from;
    i->c = with;
    i->imm = p.imm;
    i->space = (uint8_t)p.space;
    i->size = (uint8_t)size;
    i->count = p.wide;
    i->what = (uint8_t)what;
    i->flags = (uint8_t)t;
    i->target = red;
    ptx_result_done(r, &d, to, size, ptx_is_signed(t));
    return !r->failed;
}

/* ---- addresses ---- */

/* Reads cvta.shared.u64 d, a; cvta.to.shared.u64 d, a */
static bool read_cvta(ptx_reader *r)
{
    ptx_operand d, a;
    uint32_t to, from;
    if (strcmp(r->parts[r->nparts - 1], "u64") != 0) return ptx_fail(r, "addresses have 64 bits here");
    if (!ptx_operand_read(r, PTX_T_U64, &d) || !ptx_want(r, ',') || !ptx_operand_read(r, PTX_T_U64, &a)) return false;
    if (!ptx_source(r, &a, 8, &from) || !ptx_result(r, &d, 8, &to)) return false;
    const uint64_t window = ptx_window_of(space_of(r));
    const bool strip = ptx_has(r, "to");
    if (!window) return ptx_emit_row(r, "mov.u64", to, from, from) != NULL;
    const uint32_t bits = ptx_constant_register(r, 8, strip ? ~PTX_WINDOW_MASK : window, false);
    return ptx_emit_row(r, strip ? "and.u64" : "or.u64", to, from, bits) != NULL;
}

static bool read_isspacep(ptx_reader *r)
{
    ptx_operand d, a;
    uint32_t to, from;
    if (!ptx_operand_read(r, PTX_T_PRED, &d) || !ptx_want(r, ',') || !ptx_operand_read(r, PTX_T_U64, &a)) return false;
    if (!ptx_source(r, &a, 8, &from) || !ptx_result(r, &d, 0, &to)) return false;
    ptx_inst *i = ptx_emit(r, ptx_in_space);
    i->d = to;
    i->a = from;
    i->space = (uint8_t)space_of(r);
    return true;
}

/* Reads cp.async.ca.shared.global [to], [from], 16{, size}; groups have no effect here. */
static bool read_copy_async(ptx_reader *r)
{
    if (ptx_has(r, "commit_group") || ptx_has(r, "wait_group") || ptx_has(r, "wait_all")) {
        while (ptx_look(r)->mark && ptx_look(r)->mark != ';') r->pos++;
        return true;
    }
    if (ptx_has(r, "bulk") || ptx_has(r, "mbarrier")) return ptx_fail(r, "this copy is not known");
    ptx_address to = {.space = PTX_SHARED}, from = {.space = PTX_GLOBAL};
    uint64_t bytes;
    if (!ptx_address_read(r, &to) || !ptx_want(r, ',') || !ptx_address_read(r, &from) || !ptx_want(r, ','))
        return false;
    if (!ptx_number(ptx_look(r)->at, PTX_T_U32, false, &bytes)) return ptx_fail(r, "a number of bytes was expected");
    r->pos++;
    uint32_t size = 0;
    const bool some = ptx_take(r, ',');
    ptx_operand n;
    if (some && (!ptx_operand_read(r, PTX_T_U32, &n) || !ptx_source(r, &n, 4, &size))) return false;
    ptx_inst *i = ptx_emit(r, ptx_copy_async);
    i->a = to.at;
    i->flags = to.wide;
    i->imm = to.imm;
    i->b = from.at;
    i->extra = (uint32_t)(int32_t)from.imm;
    i->size = (uint8_t)bytes;
    i->count = some;
    i->c = size;
    return true;
}

bool ptx_read_memory(ptx_reader *r, bool *mine)
{
    *mine = true;
    if (ptx_is(r, "ld") || ptx_is(r, "ldu")) return read_load(r);
    if (ptx_is(r, "st")) return read_store(r);
    if (ptx_is(r, "atom")) return read_atomic(r, false);
    if (ptx_is(r, "red")) return read_atomic(r, true);
    if (ptx_is(r, "cvta")) return read_cvta(r);
    if (ptx_is(r, "isspacep")) return read_isspacep(r);
    if (ptx_is(r, "cp") && ptx_has(r, "async")) return read_copy_async(r);
    *mine = false;
    return true;
}
