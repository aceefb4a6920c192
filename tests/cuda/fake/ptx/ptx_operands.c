/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_operands.c: names, registers and operands of the instruction that is read. */
#include "ptx_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ptx_token *ptx_look(ptx_reader *r)
{
    return &r->m->tokens[r->pos];
}

bool ptx_take(ptx_reader *r, char mark)
{
    if (ptx_look(r)->mark != mark) return false;
    r->pos++;
    return true;
}

bool ptx_fail(ptx_reader *r, const char *format, ...)
{
    if (r->failed) return false;
    r->failed = true;
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    snprintf(r->m->error, sizeof(r->m->error), "PTX line %u, %.80s in %.80s: %s", r->line, r->opcode, r->f->name,
             words);
    return false;
}

bool ptx_want(ptx_reader *r, char mark)
{
    return ptx_take(r, mark) || ptx_fail(r, "'%c' was expected before '%s'", mark, ptx_look(r)->at);
}

bool ptx_is(const ptx_reader *r, const char *base)
{
    return !strcmp(r->parts[0], base);
}

bool ptx_has(const ptx_reader *r, const char *part)
{
    for (int n = 1; n < r->nparts; n++)
        if (!strcmp(r->parts[n], part)) return true;
    return false;
}

ptx_type ptx_last_type(const ptx_reader *r)
{
    return ptx_type_named(r->parts[r->nparts - 1]);
}

void ptx_skip_statement(ptx_reader *r)
{
    while (ptx_look(r)->mark && ptx_look(r)->mark != ';') r->pos++;
    ptx_take(r, ';');
}

void *ptx_grown(void *at, uint32_t have, size_t each)
{
    if (have & (have - 1) && have) return at; /* room doubles at powers of two */
    void *more = realloc(at, (have ? 2 * (size_t)have : 1) * each);
    if (!more) abort(); /* a test cannot go on */
    return more;
}

/* ---- names, registers ---- */

void ptx_add_symbol(ptx_reader *r, const ptx_symbol *s)
{
    r->symbols = ptx_grown(r->symbols, r->nsymbols, sizeof(*r->symbols));
    r->symbols[r->nsymbols++] = *s;
}

const ptx_symbol *ptx_symbol_named(ptx_reader *r, const char *name, uint32_t *at)
{
    const size_t length = strlen(name);
    for (uint32_t n = r->nsymbols; n-- > r->symbol_floor;) {
        const ptx_symbol *s = &r->symbols[n];
        *at = s->at;
        if (!s->count && s->length == length && !memcmp(s->name, name, length)) return s;
        if (!s->count || s->length >= length || memcmp(s->name, name, s->length)) continue;
        char *end;
        const unsigned long k = strtoul(name + s->length, &end, 10);
        if (*end || name[s->length] < '0' || name[s->length] > '9' || k >= s->count) continue;
        *at = s->at + (uint32_t)k * s->step;
        return s;
    }
    return NULL;
}

uint32_t ptx_new_register(ptx_reader *r, uint32_t size)
{
    const uint32_t at = r->register_at;
    r->register_at += size ? size * PTX_LANES : 32;
    return at;
}

uint32_t ptx_constant_register(ptx_reader *r, uint32_t size, uint64_t bits, bool dynamic)
{
    if (size && size < 8) bits &= (UINT64_C(1) << (8 * size)) - 1;
    for (uint32_t n = 0; n < r->f->nconstants; n++) {
        const ptx_constant *c = &r->f->constants[n];
        if (c->size == size && c->bits == bits && c->dynamic == dynamic) return c->at;
    }
    r->f->constants = ptx_grown(r->f->constants, r->f->nconstants, sizeof(*r->f->constants));
    const uint32_t at = ptx_new_register(r, size);
    r->f->constants[r->f->nconstants++] = (ptx_constant){at, size, bits, dynamic};
    return at;
}

uint32_t ptx_special_register(ptx_reader *r, int which)
{
    for (uint32_t n = 0; n < r->f->nspecials; n++)
        if (r->f->specials[n].which == which) return r->f->specials[n].at;
    r->f->specials = ptx_grown(r->f->specials, r->f->nspecials, sizeof(*r->f->specials));
    const uint32_t at = ptx_new_register(r, 4);
    r->f->specials[r->f->nspecials++] = (ptx_special_use){at, which};
    return at;
}

uint32_t ptx_new_extra(ptx_reader *r, const uint32_t *values, uint32_t n)
{
    const uint32_t first = r->f->nextra;
    for (uint32_t k = 0; k < n; k++) {
        r->f->extra = ptx_grown(r->f->extra, r->f->nextra, sizeof(*r->f->extra));
        r->f->extra[r->f->nextra++] = values ? values[k] : 0;
    }
    return first;
}

/* ---- instructions ---- */

ptx_inst *ptx_emit(ptx_reader *r, ptx_run *run)
{
    r->f->code = ptx_grown(r->f->code, r->f->ncode, sizeof(*r->f->code));
    ptx_inst *i = &r->f->code[r->f->ncode++];
    *i = (ptx_inst){.run = run, .kind = PTX_DO, .line = r->line, .guard = r->guard, .guard_not = r->guard_not};
    return i;
}

ptx_inst *ptx_emit_row(ptx_reader *r, const char *name, uint32_t d, uint32_t a, uint32_t b)
{
    const ptx_row *row = ptx_row_find(name);
    if (!row) {
        ptx_fail(r, "there is no operation %s", name);
        return NULL;
    }
    ptx_inst *i = ptx_emit(r, row->run);
    i->d = d;
    i->a = a;
    i->b = b;
    return i;
}

bool ptx_is_signed(ptx_type t)
{
    return t == PTX_T_S8 || t == PTX_T_S16 || t == PTX_T_S32 || t == PTX_T_S64;
}

/* ---- operands ---- */

static const char *special_names[PTX_SPECIALS] = {
    "%tid.x",          "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",
    "%ctaid.x",        "%ctaid.y",     "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
    "%laneid",         "%warpid",      "%nwarpid",     "%smid",        "%nsmid",       "%gridid",
    "%lanemask_eq",    "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size",
    "%total_smem_size"};

static bool special(ptx_reader *r, const char *name, ptx_operand *out)
{
    for (int n = 0; n < PTX_SPECIALS; n++) {
        if (strcmp(name, special_names[n])) continue;
        *out = (ptx_operand){.kind = PTX_OPD_REGISTER, .type = PTX_T_U32, .at = ptx_special_register(r, n)};
        return true;
    }
    if (!strcmp(name, "WARP_SZ")) {
        *out = (ptx_operand){.kind = PTX_OPD_NUMBER, .bits = PTX_LANES};
        return true;
    }
    const bool nano = !strcmp(name, "%globaltimer"), low = !strcmp(name, "%globaltimer_lo"),
               wide = !strcmp(name, "%clock64");
    if (!nano && !low && !wide && strcmp(name, "%clock") != 0) return false;
    const uint32_t size = nano || wide ? 8 : 4;
    *out = (ptx_operand){
        .kind = PTX_OPD_REGISTER, .type = size == 8 ? PTX_T_U64 : PTX_T_U32, .at = ptx_new_register(r, size)};
    ptx_inst *i = ptx_emit(r, ptx_clock);
    i->d = out->at;
    i->size = (uint8_t)size;
    return true;
}

static bool variable(ptx_reader *r, const char *name, ptx_operand *out)
{
    for (int n = 0; n < r->m->nvariables; n++) {
        const ptx_variable *v = &r->m->variables[n];
        if (strcmp(v->name, name) != 0) continue;
        *out = (ptx_operand){
            .kind = PTX_OPD_ADDRESS, .bits = v->address, .space = (ptx_space)v->space, .dynamic = v->dynamic};
        return true;
    }
    return ptx_fail(r, "nothing is called '%s'", name);
}

static bool word(ptx_reader *r, const char *name, ptx_operand *out)
{
    uint32_t at;
    if (!strcmp(name, "_")) {
        *out = (ptx_operand){.kind = PTX_OPD_SINK};
        return true;
    }
    const ptx_symbol *s = ptx_symbol_named(r, name, &at);
    if (s && s->kind == PTX_SYM_REGISTER) {
        *out = (ptx_operand){.kind = PTX_OPD_REGISTER, .type = s->type, .at = at};
        return true;
    }
    if (s) {
        *out = (ptx_operand){.kind = PTX_OPD_ADDRESS, .bits = s->address, .space = s->space, .dynamic = s->dynamic};
        return true;
    }
    return special(r, name, out) || variable(r, name, out);
}

static bool list(ptx_reader *r, ptx_type t, ptx_operand *out)
{
    *out = (ptx_operand){.kind = PTX_OPD_LIST};
    do {
        ptx_operand part;
        if (out->n == PTX_EXTRA) return ptx_fail(r, "more than %d values in braces", PTX_EXTRA);
        if (!ptx_operand_read(r, t, &part)) return false;
        out->parts[out->n].kind = part.kind;
        out->parts[out->n].type = part.type;
        out->parts[out->n].at = part.at;
        out->parts[out->n++].bits = part.bits;
    } while (ptx_take(r, ','));
    return ptx_want(r, '}');
}

bool ptx_operand_read(ptx_reader *r, ptx_type t, ptx_operand *out)
{
    if (ptx_take(r, '{')) return list(r, t, out);
    const bool complement = ptx_take(r, '!'), minus = ptx_take(r, '-');
    const ptx_token *token = ptx_look(r);
    r->pos++;
    if (token->mark == '0') {
        *out = (ptx_operand){.kind = PTX_OPD_NUMBER};
        return ptx_number(token->at, t, minus, &out->bits) || ptx_fail(r, "'%s' is not a number", token->at);
    }
    if (token->mark != 'w' || minus) return ptx_fail(r, "an operand was expected before '%s'", token->at);
    if (!word(r, token->at, out)) return false;
    if (out->kind == PTX_OPD_ADDRESS && ptx_take(r, '+')) {
        uint64_t more;
        if (!ptx_number(ptx_look(r)->at, PTX_T_U64, false, &more)) return ptx_fail(r, "a number was expected");
        r->pos++;
        out->bits += more;
    }
    out->negated = complement;
    return true;
}

ptx_operand ptx_part_of(const ptx_operand *o, uint32_t n)
{
    if (o->kind != PTX_OPD_LIST) return *o;
    return (ptx_operand){
        .kind = o->parts[n].kind, .type = o->parts[n].type, .at = o->parts[n].at, .bits = o->parts[n].bits};
}

bool ptx_address_read(ptx_reader *r, ptx_address *p)
{
    ptx_operand o;
    if (!ptx_want(r, '[') || !ptx_operand_read(r, PTX_T_U64, &o)) return false;
    p->imm = 0;
    const bool plus = ptx_take(r, '+'), minus = ptx_take(r, '-');
    if (plus || minus) {
        uint64_t bits;
        if (!ptx_number(ptx_look(r)->at, PTX_T_U64, minus, &bits))
            return ptx_fail(r, "a number was expected before '%s'", ptx_look(r)->at);
        r->pos++;
        p->imm = (int64_t)bits;
    }
    p->constant = o.kind != PTX_OPD_REGISTER;
    p->wide = true;
    if (o.kind == PTX_OPD_REGISTER) {
        p->wide = ptx_type_size(o.type) == 8;
        p->at = o.at;
    } else if (o.kind == PTX_OPD_ADDRESS || o.kind == PTX_OPD_NUMBER) {
        if (o.kind == PTX_OPD_ADDRESS && p->space == PTX_GENERIC && o.space != PTX_GLOBAL)
            return ptx_fail(r, "a name of another space in a generic address");
        if (o.kind == PTX_OPD_ADDRESS) p->space = o.space;
        p->at = ptx_constant_register(r, 8, o.bits, o.dynamic);
        if (p->space == PTX_PARAM && o.kind == PTX_OPD_ADDRESS)
            p->imm += (int64_t)o.bits, p->at = ptx_constant_register(r, 8, 0, false);
    } else {
        return ptx_fail(r, "no address");
    }
    return ptx_want(r, ']');
}

bool ptx_source(ptx_reader *r, const ptx_operand *o, uint32_t size, uint32_t *at)
{
    if (o->kind == PTX_OPD_NUMBER || o->kind == PTX_OPD_ADDRESS) {
        *at = ptx_constant_register(r, size, o->bits, o->dynamic);
        return true;
    }
    if (o->kind == PTX_OPD_SINK) {
        *at = ptx_constant_register(r, size, 0, false);
        return true;
    }
    if (o->kind != PTX_OPD_REGISTER) return ptx_fail(r, "a register or number was expected");
    const uint32_t have = ptx_type_size(o->type);
    if ((have == 0) != (size == 0)) return ptx_fail(r, "a predicate stands where none may, or the other way round");
    *at = o->at;
    if (o->negated && size == 0) {
        const uint32_t other = ptx_new_register(r, 0);
        if (!ptx_emit_row(r, "not.pred", other, o->at, o->at)) return false;
        *at = other;
    }
    if (have == size) return true;
    char name[32];
    snprintf(name, sizeof(name), "cvt.u%u.%c%u", size * 8, ptx_is_signed(o->type) ? 's' : 'u', have * 8);
    *at = ptx_new_register(r, size);
    return ptx_emit_row(r, name, *at, o->at, o->at) != NULL;
}

bool ptx_result(ptx_reader *r, const ptx_operand *o, uint32_t size, uint32_t *at)
{
    if (o->kind == PTX_OPD_SINK) {
        *at = ptx_new_register(r, size);
        return true;
    }
    if (o->kind != PTX_OPD_REGISTER) return ptx_fail(r, "a register was expected for the result");
    const uint32_t have = ptx_type_size(o->type);
    if ((have == 0) != (size == 0) || have < size) return ptx_fail(r, "the result does not fit its register");
    *at = have == size ? o->at : ptx_new_register(r, size);
    return true;
}

void ptx_result_done(ptx_reader *r, const ptx_operand *o, uint32_t at, uint32_t size, bool is_signed)
{
    if (o->kind != PTX_OPD_REGISTER || o->at == at) return;
    char name[32];
    snprintf(name, sizeof(name), "cvt.u%u.%c%u", ptx_type_size(o->type) * 8, is_signed ? 's' : 'u', size * 8);
    ptx_emit_row(r, name, o->at, at, at);
}

bool ptx_wait_for_label(ptx_reader *r, uint32_t index, bool in_extra)
{
    const ptx_token *name = ptx_look(r);
    if (name->mark != 'w') return ptx_fail(r, "a label was expected before '%s'", name->at);
    r->pos++;
    r->pendings = ptx_grown(r->pendings, r->npendings, sizeof(*r->pendings));
    r->pendings[r->npendings++] = (ptx_pending){name->at, index, r->line, in_extra};
    return true;
}
