/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_body.c: the body of a function: declarations, scopes, labels, and other functions' bodies where they are
 * called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_reader.h"

static bool read_statements(ptx_reader *r, uint32_t end);

static uint32_t aligned(uint32_t at, uint32_t align)
{
    return align ? (at + align - 1) / align * align : at;
}

/* Reads .reg .b32 %r<12>, a; */
static bool read_registers(ptx_reader *r)
{
    const ptx_type t = ptx_type_named(ptx_look(r)->at + 1);
    if (!t) return ptx_fail(r, "registers of the kind '%s'", ptx_look(r)->at);
    const uint32_t size = ptx_type_size(t), step = size ? size * PTX_LANES : 32;
    r->pos++;
    do {
        const ptx_token *name = ptx_look(r);
        r->pos++;
        ptx_symbol s = {
            .name = name->at, .length = strlen(name->at), .kind = PTX_SYM_REGISTER, .type = t, .step = step};
        if (ptx_take(r, '<')) {
            s.count = (uint32_t)strtoul(ptx_look(r)->at, NULL, 10);
            r->pos++;
            if (!ptx_want(r, '>')) return false;
        }
        s.at = r->register_at;
        r->register_at += (s.count ? s.count : 1) * step;
        r->f->nregisters += s.count ? s.count : 1;
        ptx_add_symbol(r, &s);
    } while (ptx_take(r, ','));
    return ptx_want(r, ';');
}

static bool read_variable(ptx_reader *r, ptx_space space)
{
    ptx_declared d;
    if (!ptx_declaration(r->m, &r->pos, &d)) return ptx_fail(r, "a variable of an unknown kind");
    uint32_t *at = space == PTX_SHARED ? &r->shared_at : &r->local_at;
    *at = aligned(*at, d.align);
    ptx_symbol s = {.name = d.name, .length = strlen(d.name), .kind = PTX_SYM_MEMORY, .space = space, .address = *at};
    *at += d.size;
    ptx_add_symbol(r, &s);
    return ptx_want(r, ';');
}

/* ---- labels ---- */

/* Gives their targets to instructions that wait for labels of this scope; an instruction whose label is not found waits
 * on, for the scope around this one. */
static void close_labels(ptx_reader *r, uint32_t first_label, uint32_t first_pending)
{
    uint32_t kept = first_pending;
    for (uint32_t n = first_pending; n < r->npendings; n++) {
        const ptx_pending *p = &r->pendings[n];
        const ptx_label *found = NULL;
        for (uint32_t k = first_label; k < r->nlabels && !found; k++)
            if (!strcmp(r->labels[k].name, p->name) && !r->labels[k].table) found = &r->labels[k];
        if (!found)
            r->pendings[kept++] = *p;
        else if (p->in_extra)
            r->f->extra[p->index] = found->pc;
        else
            r->f->code[p->index].target = found->pc;
    }
    r->npendings = kept;
    r->nlabels = first_label;
}

static void add_label(ptx_reader *r, const ptx_label *l)
{
    r->labels = ptx_grown(r->labels, r->nlabels, sizeof(*r->labels));
    r->labels[r->nlabels++] = *l;
}

/* Reads name: .branchtargets A, B, C; */
static bool read_targets(ptx_reader *r, const char *name)
{
    ptx_label l = {.name = name, .table = true, .pc = r->f->nextra};
    do {
        const uint32_t at = ptx_new_extra(r, NULL, 1);
        if (!ptx_wait_for_label(r, at, true)) return false;
        l.ntargets++;
    } while (ptx_take(r, ','));
    add_label(r, &l);
    return ptx_want(r, ';');
}

static bool read_label(ptx_reader *r)
{
    const char *name = ptx_look(r)->at;
    r->pos += 2;
    if (!strcmp(ptx_look(r)->at, ".branchtargets")) {
        r->pos++;
        return read_targets(r, name);
    }
    if (!strcmp(ptx_look(r)->at, ".callprototype"))
        return ptx_fail(r, "a call through a pointer, which is not known here");
    add_label(r, &(ptx_label){.name = name, .pc = r->f->ncode});
    return true;
}

/* ---- calls: the called body stands where the call is; its parameters are the caller's variables ---- */

static bool name_of(ptx_reader *r, const ptx_param *p)
{
    uint32_t at;
    const ptx_token *given = ptx_look(r);
    const ptx_symbol *s = ptx_symbol_named(r, given->at, &at);
    if (!s || s->kind != PTX_SYM_MEMORY || s->space != PTX_LOCAL)
        return ptx_fail(r, "'%s' is no .param variable", given->at);
    r->pos++;
    ptx_symbol inner = *s;
    inner.name = p->name;
    inner.length = strlen(p->name);
    ptx_add_symbol(r, &inner);
    return true;
}

/* Reads (a, b) and gives them the callee's names. */
static bool read_arguments(ptx_reader *r, const ptx_param *params, int count)
{
    if (!ptx_want(r, '(')) return false;
    for (int n = 0; n < count; n++)
        if ((n && !ptx_want(r, ',')) || !name_of(r, &params[n])) return false;
    return ptx_want(r, ')');
}

/* Finds the callee's name: call (ret), name, (args); */
static const char *called_name(const ptx_reader *r)
{
    uint32_t pos = r->pos;
    if (r->m->tokens[pos].mark == '(') {
        while (r->m->tokens[pos].mark && r->m->tokens[pos].mark != ')') pos++;
        pos += 2;
    }
    return r->m->tokens[pos].at;
}

static bool inline_body(ptx_reader *r, const ptx_function *f, uint32_t first_symbol)
{
    const uint32_t symbol_floor = r->symbol_floor, label_floor = r->label_floor;
    const uint32_t back = r->pos, labels = r->nlabels, pendings = r->npendings;
    const int32_t guard = r->guard;
    r->symbol_floor = first_symbol;
    r->label_floor = labels;
    r->pos = f->first_token;
    r->guard = -1;
    r->depth++;
    const bool fine = read_statements(r, f->end_token);
    r->depth--;
    add_label(r, &(ptx_label){.name = "\x01return", .pc = r->f->ncode});
    close_labels(r, labels, pendings);
    if (fine && r->npendings != pendings)
        return ptx_fail(r, "there is no label '%s' in %s", r->pendings[pendings].name, f->name);
    r->symbol_floor = symbol_floor;
    r->label_floor = label_floor;
    r->pos = back;
    r->guard = guard;
    return fine;
}

bool ptx_read_call(ptx_reader *r)
{
    const ptx_function *f = ptx_module_find(r->m, called_name(r));
    if (!f) return ptx_fail(r, "'%s' is called, which is no function here", called_name(r));
    if (!f->has_body) {
        if (strcmp(f->name, "__assertfail") != 0) return ptx_fail(r, "'%s' is called, which has no body", f->name);
        ptx_emit(r, NULL)->kind = PTX_TRAP;
        ptx_skip_statement(r);
        return true;
    }
    if (r->depth > 8) return ptx_fail(r, "functions call each other more than 8 deep, or themselves");
    const uint32_t first_symbol = r->nsymbols;
    if (f->nreturns && (!read_arguments(r, f->returns, f->nreturns) || !ptx_want(r, ','))) return false;
    r->pos++; /* the name */
    if (ptx_take(r, ',') && !read_arguments(r, f->params, f->nparams)) return false;
    ptx_skip_statement(r);
    uint32_t around = 0;
    if (r->guard >= 0) { /* those that do not call go around it */
        around = r->f->ncode;
        ptx_inst *i = ptx_emit(r, NULL);
        i->kind = PTX_BRANCH;
        i->guard_not = ~i->guard_not;
    }
    const bool guarded = r->guard >= 0;
    if (!inline_body(r, f, first_symbol)) return false;
    if (guarded) r->f->code[around].target = r->f->ncode;
    r->nsymbols = first_symbol;
    return true;
}

/* ---- statements ---- */

static bool read_directive(ptx_reader *r)
{
    const char *word = ptx_look(r)->at;
    r->pos++;
    if (!strcmp(word, ".reg")) return read_registers(r);
    if (!strcmp(word, ".shared")) return read_variable(r, PTX_SHARED);
    if (!strcmp(word, ".local") || !strcmp(word, ".param")) return read_variable(r, PTX_LOCAL);
    if (!strcmp(word, ".loc")) {
        const uint32_t line = ptx_look(r)->line;
        while (ptx_look(r)->mark && ptx_look(r)->line == line) r->pos++;
        return true;
    }
    if (!strcmp(word, ".pragma")) {
        ptx_skip_statement(r);
        return true;
    }
    return ptx_fail(r, "the directive '%s'", word);
}

static bool read_guarded(ptx_reader *r)
{
    r->guard = -1;
    r->guard_not = 0;
    if (ptx_take(r, '@')) {
        r->guard_not = ptx_take(r, '!') ? ~UINT32_C(0) : 0;
        uint32_t at;
        const ptx_symbol *s = ptx_symbol_named(r, ptx_look(r)->at, &at);
        if (!s || s->kind != PTX_SYM_REGISTER || s->type != PTX_T_PRED)
            return ptx_fail(r, "'%s' is no predicate", ptx_look(r)->at);
        r->guard = (int32_t)at;
        r->pos++;
    }
    return ptx_read_instruction(r);
}

static bool read_scope(ptx_reader *r, uint32_t end)
{
    const uint32_t symbols = r->nsymbols, labels = r->nlabels, pendings = r->npendings;
    uint32_t close = r->pos;
    for (int depth = 1; close < end; close++) {
        depth += r->m->tokens[close].mark == '{';
        depth -= r->m->tokens[close].mark == '}';
        if (!depth) break;
    }
    if (!read_statements(r, close)) return false;
    /* Labels of a scope are seen outside of it too where a compiler's scopes are only braces: names do not come again
     * then. */
    const uint32_t known = r->nlabels;
    close_labels(r, labels, pendings);
    r->nlabels = known;
    r->nsymbols = symbols;
    return ptx_want(r, '}');
}

static bool read_statements(ptx_reader *r, uint32_t end)
{
    while (r->pos < end && !r->failed) {
        const ptx_token *t = ptx_look(r);
        r->line = t->line;
        if (ptx_take(r, ';')) continue;
        bool fine;
        if (ptx_take(r, '{'))
            fine = read_scope(r, end);
        else if (t->at[0] == '.' && t->mark == 'w')
            fine = read_directive(r);
        else if (t->mark == 'w' && t[1].mark == ':')
            fine = read_label(r);
        else
            fine = read_guarded(r);
        if (!fine) return false;
    }
    return !r->failed;
}

static void add_parameters(ptx_reader *r)
{
    for (int n = 0; n < r->f->nparams; n++) {
        const ptx_param *p = &r->f->params[n];
        ptx_add_symbol(r, &(ptx_symbol){.name = p->name,
                                        .length = strlen(p->name),
                                        .kind = PTX_SYM_MEMORY,
                                        .space = PTX_PARAM,
                                        .address = p->offset});
    }
}

bool ptx_read_body(ptx_module *m, ptx_function *f)
{
    ptx_reader r = {
        .m = m, .f = f, .pos = f->first_token, .guard = -1, .register_at = 512, .shared_at = m->shared_bytes};
    add_parameters(&r);
    bool fine = read_statements(&r, f->end_token);
    r.guard = -1;
    if (fine) {
        add_label(&r, &(ptx_label){.name = "\x01return", .pc = f->ncode});
        ptx_emit(&r, NULL)->kind = PTX_EXIT;
        close_labels(&r, 0, 0);
        if (r.npendings) fine = ptx_fail(&r, "there is no label '%s'", r.pendings[0].name);
    }
    f->register_bytes = aligned(r.register_at, 64);
    f->local_bytes = aligned(r.local_at, 16);
    f->shared_bytes = aligned(r.shared_at, 16);
    free(r.symbols);
    free(r.labels);
    free(r.pendings);
    return fine;
}
