/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_decode.c: instructions that have a row in the tables of operations: their names, their roundings, what goes
 * before and after them. */
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#include "ptx_reader.h"

static void split(ptx_reader *r, const char *opcode)
{
    snprintf(r->opcode, sizeof(r->opcode), "%s", opcode);
    r->nparts = 0;
    for (const char *s = opcode; *s && r->nparts < 16;) {
        const char *end = strchr(s, '.');
        const size_t n = end ? (size_t)(end - s) : strlen(s);
        snprintf(r->parts[r->nparts++], sizeof(r->parts[0]), "%.*s", (int)n, s);
        s = end ? end + 1 : s + n;
    }
}

/* ---- names of operations ---- */

static bool is_manner(const char *part)
{
    static const char *manners[] = {"rn", "rna", "rz", "rm", "rp", "ftz", "sat", "approx", "full", "uni"};
    for (size_t n = 0; n < sizeof(manners) / sizeof(*manners); n++)
        if (!strcmp(part, manners[n])) return true;
    return false;
}

/* Gives a type the name that operations have where signs make no difference: s32 and b32 are u32, and for moves
 * (`bits`) f32 is, too. */
static void plain_type(char *part, size_t size, bool bits)
{
    const ptx_type t = ptx_type_named(part);
    const bool floats =
        t == PTX_T_F32 || t == PTX_T_F64 || t == PTX_T_F16 || t == PTX_T_BF16 || t == PTX_T_F16X2 || t == PTX_T_BF16X2;
    if (t <= PTX_T_PRED || (floats && !bits)) return;
    snprintf(part, size, "u%u", ptx_type_size(t) * 8);
}

static void joined(const ptx_reader *r, char *out, size_t size, bool manners, bool plain)
{
    const bool bits = ptx_is(r, "mov") || ptx_is(r, "selp") || ptx_is(r, "slct");
    out[0] = '\0';
    for (int n = 0; n < r->nparts; n++) {
        char part[24];
        snprintf(part, sizeof(part), "%s", r->parts[n]);
        if (n && !manners && is_manner(part)) continue;
        if (plain && n && (n == r->nparts - 1 || (bits && n == 1)) && !(ptx_is(r, "slct") && n == 2))
            plain_type(part, sizeof(part), bits);
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", n ? "." : "", part);
    }
}

/* Says whether signs count in the operation; all such operations that are known have rows. */
static bool sign_counts(const ptx_reader *r)
{
    static const char *bases[] = {"bfind", "sad", "bfe", "div", "rem", "min", "max", "shr", "mul24", "mad24", "dp4a"};
    const bool is_signed = ptx_is_signed(ptx_last_type(r));
    for (size_t n = 0; n < sizeof(bases) / sizeof(*bases); n++)
        if (ptx_is(r, bases[n])) return is_signed;
    return is_signed && (ptx_has(r, "hi") || ptx_has(r, "wide"));
}

static const ptx_row *row_of(const ptx_reader *r, bool *exact)
{
    char name[128];
    joined(r, name, sizeof(name), true, false);
    const ptx_row *row = ptx_row_find(name);
    *exact = row != NULL;
    if (!row) {
        joined(r, name, sizeof(name), false, false);
        row = ptx_row_find(name);
    }
    if (!row && !sign_counts(r)) {
        joined(r, name, sizeof(name), false, true);
        row = ptx_row_find(name);
    }
    return row;
}

/* ---- one operation with its manners ---- */

static int rounding(const ptx_reader *r)
{
    if (ptx_has(r, "rz") || ptx_has(r, "rzi")) return FE_TOWARDZERO;
    if (ptx_has(r, "rm") || ptx_has(r, "rmi")) return FE_DOWNWARD;
    return ptx_has(r, "rp") || ptx_has(r, "rpi") ? FE_UPWARD : FE_TONEAREST;
}

static uint32_t kind_size(char kind)
{
    return kind == 'p' ? 0 : (uint32_t)(kind - '0');
}

typedef struct {
    ptx_operand result, sources[4];
    uint32_t at, from[4];
    int nsources;
} operation;

static bool read_operands(ptx_reader *r, operation *o, const char *kinds, ptx_type t)
{
    o->nsources = (int)strlen(kinds) - 1;
    if (!ptx_operand_read(r, t, &o->result)) return false;
    for (int n = 0; n < o->nsources; n++)
        if (!ptx_want(r, ',') || !ptx_operand_read(r, t, &o->sources[n])) return false;
    return true;
}

/* Finds the sources' registers; floats of 32 bits are flushed where `flush` says so. */
static bool take_sources(ptx_reader *r, operation *o, const char *kinds, bool flush)
{
    for (int n = 0; n < o->nsources; n++) {
        if (!ptx_source(r, &o->sources[n], kind_size(kinds[n + 1]), &o->from[n])) return false;
        if (!flush || kinds[n + 1] != '4') continue;
        const uint32_t flushed = ptx_new_register(r, 4);
        if (!ptx_emit_row(r, "flush.f32", flushed, o->from[n], o->from[n])) return false;
        o->from[n] = flushed;
    }
    return true;
}

static void emit_operation(ptx_reader *r, const ptx_row *row, const operation *o, int mode)
{
    ptx_inst *i = ptx_emit(r, mode == FE_TONEAREST ? row->run : ptx_directed);
    i->inner = row->run;
    i->d = o->at;
    i->a = o->from[0];
    i->b = o->nsources > 1 ? o->from[1] : o->from[0];
    i->c = o->nsources > 2 ? o->from[2] : o->from[0];
    i->imm = mode == FE_TONEAREST ? (o->nsources > 3 ? (int64_t)o->from[3] : 0) : mode;
}

bool ptx_read_table_row(ptx_reader *r)
{
    bool exact;
    const ptx_row *row = row_of(r, &exact);
    if (!row) return ptx_fail(r, "this instruction is not known");
    const ptx_type t = ptx_last_type(r);
    const bool single = t == PTX_T_F32, floating = single || t == PTX_T_F64;
    const bool flush = single && !exact && ptx_has(r, "ftz"), sat = !exact && ptx_has(r, "sat");
    if (sat && !single) return ptx_fail(r, ".sat is known for .f32 and .s32 only");
    const int mode = floating && !exact ? rounding(r) : FE_TONEAREST;
    if (!floating && !exact && rounding(r) != FE_TONEAREST)
        return ptx_fail(r, "this rounding is not known for 16 bits");
    operation o = {.nsources = 0};
    if (!read_operands(r, &o, row->kinds, t) || !take_sources(r, &o, row->kinds, flush)) return false;
    const uint32_t size = kind_size(row->kinds[0]);
    if (!ptx_result(r, &o.result, size, &o.at)) return false;
    emit_operation(r, row, &o, mode);
    if (flush && size == 4) ptx_emit_row(r, "flush.f32", o.at, o.at, o.at);
    if (sat) ptx_emit_row(r, "saturate.f32", o.at, o.at, o.at);
    ptx_result_done(r, &o.result, o.at, size, ptx_is_signed(t));
    return !r->failed;
}

/* ---- cvt ---- */

static bool is_float(ptx_type t)
{
    return t == PTX_T_F16 || t == PTX_T_BF16 || t == PTX_T_F32 || t == PTX_T_F64;
}

static bool rounds_to_whole(const ptx_reader *r)
{
    return ptx_has(r, "rni") || ptx_has(r, "rzi") || ptx_has(r, "rmi") || ptx_has(r, "rpi");
}

static bool slow_conversion(ptx_reader *r, ptx_type to, ptx_type from)
{
    operation o = {.nsources = 1};
    const char kinds[] = {'0', (char)('0' + ptx_type_size(from)), '\0'};
    if (!read_operands(r, &o, kinds, from) || !take_sources(r, &o, kinds, from == PTX_T_F32 && ptx_has(r, "ftz")))
        return false;
    if (!ptx_result(r, &o.result, ptx_type_size(to), &o.at)) return false;
    const bool whole = rounds_to_whole(r);
    if (!whole && rounding(r) != FE_TONEAREST) return ptx_fail(r, "this rounding of this conversion is not known");
    ptx_inst *i = ptx_emit(r, ptx_convert_slow);
    i->d = o.at;
    i->a = o.from[0];
    i->what = (uint8_t)to;
    i->flags = (uint8_t)from;
    i->imm = rounding(r);
    i->count = whole;
    i->size = is_float(to) && ptx_has(r, "sat");
    ptx_result_done(r, &o.result, o.at, ptx_type_size(to), ptx_is_signed(to));
    return !r->failed;
}

static bool read_conversion(ptx_reader *r)
{
    if (r->nparts < 3) return ptx_fail(r, "a conversion of two types was expected");
    const ptx_type to = ptx_type_named(r->parts[r->nparts - 2]), from = ptx_last_type(r);
    if (!to || !from) return ptx_fail(r, "this conversion is not known");
    if (to == PTX_T_BF16X2 || to == PTX_T_F16X2)
        return rounding(r) == FE_TONEAREST ? ptx_read_table_row(r) : ptx_fail(r, "this rounding is not known");
    if (rounds_to_whole(r) || ptx_has(r, "sat") || (is_float(from) && !is_float(to)))
        return slow_conversion(r, to, from);
    if ((to == PTX_T_F16 || to == PTX_T_BF16) && !is_float(from)) return slow_conversion(r, to, from);
    if ((from == PTX_T_F16 || from == PTX_T_BF16) && (to == PTX_T_F16 || to == PTX_T_BF16))
        return slow_conversion(r, to, from);
    char name[64];
    const char *relu = ptx_has(r, "relu") ? "relu." : "";
    char d[24], s[24];
    snprintf(d, sizeof(d), "%s", r->parts[r->nparts - 2]);
    snprintf(s, sizeof(s), "%s", r->parts[r->nparts - 1]);
    plain_type(d, sizeof(d), false);
    if (!ptx_is_signed(from)) plain_type(s, sizeof(s), false);
    snprintf(name, sizeof(name), "cvt.%s%s.%s", relu, d, s);
    const ptx_row *row = ptx_row_find(name);
    if (!row) return ptx_fail(r, "this conversion is not known");
    const int mode = rounding(r);
    if (mode != FE_TONEAREST && to != PTX_T_F32 && to != PTX_T_F64)
        return ptx_fail(r, "this rounding is not known for 16 bits");
    const bool flush = ptx_has(r, "ftz");
    operation o = {.nsources = 0};
    if (!read_operands(r, &o, row->kinds, from) || !take_sources(r, &o, row->kinds, flush && from == PTX_T_F32))
        return false;
    if (!ptx_result(r, &o.result, ptx_type_size(to), &o.at)) return false;
    emit_operation(r, row, &o, mode);
    if (flush && to == PTX_T_F32) ptx_emit_row(r, "flush.f32", o.at, o.at, o.at);
    ptx_result_done(r, &o.result, o.at, ptx_type_size(to), ptx_is_signed(to));
    return !r->failed;
}

/* ---- setp, set ---- */

/* Reads setp.lt{.and}{.ftz}.s32 p{|q}, a, b{, {!}c}; set.lt.u32.f32 d, a, b */
static bool read_comparison(ptx_reader *r)
{
    const ptx_type t = ptx_last_type(r);
    const bool set = ptx_is(r, "set");
    const char *combine = ptx_has(r, "and") ? "and" : ptx_has(r, "or") ? "or" : ptx_has(r, "xor") ? "xor" : NULL;
    char name[64], type[24];
    snprintf(type, sizeof(type), "%s", r->parts[r->nparts - 1]);
    if (!ptx_is_signed(t)) plain_type(type, sizeof(type), false);
    snprintf(name, sizeof(name), "setp.%s.%s", r->parts[1], type);
    const ptx_row *row = ptx_row_find(name);
    ptx_operand d, other = {.kind = PTX_OPD_SINK}, with = {.kind = PTX_OPD_NONE};
    if (!row) return ptx_fail(r, "this comparison is not known");
    if (!ptx_operand_read(r, t, &d) || (ptx_take(r, '|') && !ptx_operand_read(r, t, &other)) || !ptx_want(r, ','))
        return false;
    operation o = {.nsources = 2};
    if (!ptx_operand_read(r, t, &o.sources[0]) || !ptx_want(r, ',') || !ptx_operand_read(r, t, &o.sources[1]))
        return false;
    if (combine && (!ptx_want(r, ',') || !ptx_operand_read(r, PTX_T_PRED, &with))) return false;
    if (!take_sources(r, &o, row->kinds, t == PTX_T_F32 && ptx_has(r, "ftz"))) return false;
    uint32_t c = 0;
    if (combine && !ptx_source(r, &with, 0, &c)) return false;
    const bool simple = !set && !combine && other.kind == PTX_OPD_SINK && d.kind == PTX_OPD_REGISTER;
    o.at = simple ? d.at : ptx_new_register(r, 0);
    emit_operation(r, row, &o, FE_TONEAREST);
    if (simple) return true;
    const uint32_t plain = o.at, first = combine ? ptx_new_register(r, 0) : plain;
    char both[32], not_both[32];
    snprintf(both, sizeof(both), "%s.pred", combine ? combine : "mov");
    snprintf(not_both, sizeof(not_both), combine ? "not%s.pred" : "not%.0s.pred", combine ? combine : "");
    if (combine) ptx_emit_row(r, both, first, plain, c);
    if (set) {
        const ptx_type to = ptx_type_named(r->parts[r->nparts - 2]);
        if (ptx_type_size(to) != 4) return ptx_fail(r, "set gives 32 bits here");
        ptx_inst *i = ptx_emit_row(r, "selp.u32", d.at,
                                   ptx_constant_register(r, 4, to == PTX_T_F32 ? 0x3f800000 : 0xffffffff, false),
                                   ptx_constant_register(r, 4, 0, false));
        if (i) i->c = first;
        return i != NULL;
    }
    const uint32_t second = ptx_new_register(r, 0);
    ptx_emit_row(r, not_both, second, plain, combine ? c : plain);
    if (d.kind == PTX_OPD_REGISTER) ptx_emit_row(r, "mov.pred", d.at, first, first);
    if (other.kind == PTX_OPD_REGISTER) ptx_emit_row(r, "mov.pred", other.at, second, second);
    return !r->failed;
}

/* ---- mov ---- */

static bool read_packed(ptx_reader *r, const ptx_operand *d, const ptx_operand *a, uint32_t size)
{
    const ptx_operand *listed = d->kind == PTX_OPD_LIST ? d : a, *single = d->kind == PTX_OPD_LIST ? a : d;
    const uint32_t each = size / listed->n;
    uint32_t parts[PTX_EXTRA], at;
    for (uint32_t n = 0; n < listed->n; n++) {
        const ptx_operand one = ptx_part_of(listed, n);
        if (listed == a ? !ptx_source(r, &one, each, &parts[n]) : !ptx_result(r, &one, each, &parts[n])) return false;
        if (listed == d && one.kind == PTX_OPD_REGISTER && parts[n] != one.at)
            return ptx_fail(r, "a part of another width");
    }
    if (listed == a ? !ptx_result(r, single, size, &at) : !ptx_source(r, single, size, &at)) return false;
    char name[32];
    snprintf(name, sizeof(name), "%s.%u.%u", listed == a ? "pack" : "unpack", size * 8, each * 8);
    const uint32_t extra = ptx_new_extra(r, parts, listed->n);
    ptx_inst *i = ptx_emit_row(r, name, at, at, at);
    if (i) i->extra = extra;
    return i != NULL;
}

static bool read_move(ptx_reader *r)
{
    const ptx_type t = ptx_last_type(r);
    const uint32_t size = ptx_type_size(t);
    ptx_operand d, a;
    if (!t) return ptx_fail(r, "a type was expected");
    if (!ptx_operand_read(r, t, &d) || !ptx_want(r, ',') || !ptx_operand_read(r, t, &a)) return false;
    if (d.kind == PTX_OPD_LIST || a.kind == PTX_OPD_LIST) return read_packed(r, &d, &a, size);
    uint32_t to, from;
    if (t == PTX_T_PRED && a.kind == PTX_OPD_NUMBER) a.bits = a.bits != 0;
    if (!ptx_source(r, &a, size, &from) || !ptx_result(r, &d, size, &to)) return false;
    char name[16];
    snprintf(name, sizeof(name), "mov.u%u", size * 8);
    if (!ptx_emit_row(r, t == PTX_T_PRED ? "mov.pred" : name, to, from, from)) return false;
    ptx_result_done(r, &d, to, size, ptx_is_signed(t));
    return !r->failed;
}

bool ptx_read_instruction(ptx_reader *r)
{
    const ptx_token *t = ptx_look(r);
    if (t->mark != 'w') return ptx_fail(r, "an instruction was expected before '%s'", t->at);
    split(r, t->at);
    r->pos++;
    bool mine = false;
    if (!ptx_read_control(r, &mine)) return false;
    if (mine) return true; /* with its ';' */
    if (!ptx_read_memory(r, &mine)) return false;
    if (!mine) {
        const bool fine = ptx_is(r, "mov")                        ? read_move(r)
                          : ptx_is(r, "cvt")                      ? read_conversion(r)
                          : ptx_is(r, "setp") || ptx_is(r, "set") ? read_comparison(r)
                                                                  : ptx_read_table_row(r);
        if (!fine) return false;
    }
    return ptx_want(r, ';');
}
