/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_module.c: a PTX text's variables and functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fake.h"
#include "ptx_reader.h"

static bool fail(ptx_module *m, uint32_t pos, const char *what)
{
    if (!m->error[0])
        snprintf(m->error, sizeof(m->error), "PTX line %u: %s before '%.60s'", m->tokens[pos].line, what,
                 m->tokens[pos].at);
    return false;
}

static bool is(const ptx_module *m, uint32_t pos, const char *word)
{
    return !strcmp(m->tokens[pos].at, word);
}

static uint32_t skip_line(const ptx_module *m, uint32_t pos)
{
    const uint32_t line = m->tokens[pos].line;
    while (m->tokens[pos].mark && m->tokens[pos].line == line) pos++;
    return pos;
}

bool ptx_declaration(const ptx_module *m, uint32_t *pos, ptx_declared *out)
{
    *out = (ptx_declared){.align = 0};
    uint32_t vector = 1;
    for (; m->tokens[*pos].at[0] == '.'; ++*pos) {
        const char *word = m->tokens[*pos].at;
        if (!strcmp(word, ".align")) {
            out->align = (uint32_t)strtoul(m->tokens[++*pos].at, NULL, 10);
        } else if (!strcmp(word, ".v2") || !strcmp(word, ".v4")) {
            vector = (uint32_t)(word[2] - '0');
        } else if (strcmp(word, ".ptr") != 0 && strcmp(word, ".global") != 0 && strcmp(word, ".shared") != 0 &&
                   strcmp(word, ".local") != 0 && strcmp(word, ".const") != 0 && strcmp(word, ".attribute") != 0) {
            out->type = ptx_type_named(word + 1);
            if (!out->type) return false;
        }
    }
    const uint32_t each = ptx_type_size(out->type) * vector;
    out->name = m->tokens[(*pos)++].at;
    out->size = each;
    if (out->align < each) out->align = out->align ? out->align : each;
    while (m->tokens[*pos].mark == '[') {
        const ptx_token *n = &m->tokens[++*pos];
        out->open = n->mark == ']';
        out->size *= out->open ? 0 : (uint32_t)strtoul(n->at, NULL, 0);
        *pos += out->open ? 1 : 2;
    }
    return true;
}

/* ---- variables ---- */

static bool initial_values(ptx_module *m, uint32_t *pos, const ptx_declared *d, uint8_t *bytes)
{
    const uint32_t each = ptx_type_size(d->type);
    uint32_t at = 0, depth = 0;
    for (; m->tokens[*pos].mark && m->tokens[*pos].mark != ';'; ++*pos) {
        const ptx_token *t = &m->tokens[*pos];
        depth += t->mark == '{';
        depth -= t->mark == '}';
        if (t->mark == '{' || t->mark == '}' || t->mark == ',') continue;
        const bool minus = t->mark == '-';
        uint64_t bits;
        if (minus) t = &m->tokens[++*pos];
        if (!ptx_number(t->at, d->type, minus, &bits))
            return fail(m, *pos, "a variable's first value is a number here");
        if (at + each > d->size) return fail(m, *pos, "more values than the variable has");
        memcpy(bytes + at, &bits, each);
        at += each;
    }
    return true;
}

static bool read_variable(ptx_module *m, uint32_t *pos, ptx_space space, bool outer)
{
    ptx_declared d;
    if (!ptx_declaration(m, pos, &d)) return fail(m, *pos, "a variable of an unknown kind");
    ptx_variable v = {.space = space};
    snprintf(v.name, sizeof(v.name), "%s", d.name);
    if (space == PTX_SHARED) {
        v.dynamic = outer && d.open;
        if (!v.dynamic) {
            m->shared_bytes = (m->shared_bytes + d.align - 1) / d.align * d.align;
            v.address = m->shared_bytes;
            m->shared_bytes += d.size;
        }
    } else {
        if (fake_allocate(d.size ? d.size : 1, 0, true, &v.address)) return fail(m, *pos, "no memory for a variable");
        memset(fake_bytes(v.address), 0, d.size);
        if (m->tokens[*pos].mark == '=' && (++*pos, !initial_values(m, pos, &d, fake_bytes(v.address)))) return false;
    }
    m->variables = ptx_grown(m->variables, (uint32_t)m->nvariables, sizeof(v));
    m->variables[m->nvariables++] = v;
    return m->tokens[(*pos)++].mark == ';' || fail(m, *pos - 1, "';' was expected");
}

/* ---- functions ---- */

/* Reads ( .param .u64 a, .param .align 8 .b8 b[16] ). */
static bool read_params(ptx_module *m, uint32_t *pos, ptx_param **params, int *count, uint32_t *bytes)
{
    uint32_t at = 0;
    for (++*pos; m->tokens[*pos].mark != ')';) {
        if (m->tokens[*pos].mark == ',') ++*pos;
        if (!is(m, *pos, ".param")) return fail(m, *pos, "'.param' was expected");
        ++*pos;
        ptx_declared d;
        if (!ptx_declaration(m, pos, &d)) return fail(m, *pos, "a parameter of an unknown kind");
        *params = ptx_grown(*params, (uint32_t)*count, sizeof(**params));
        at = (at + d.align - 1) / d.align * d.align;
        ptx_param *p = &(*params)[(*count)++];
        snprintf(p->name, sizeof(p->name), "%s", d.name);
        p->size = d.size;
        p->offset = at;
        at += d.size;
    }
    ++*pos;
    *bytes = at;
    return true;
}

static uint32_t body_end(const ptx_module *m, uint32_t pos)
{
    int depth = 1;
    for (; m->tokens[pos].mark; pos++) {
        depth += m->tokens[pos].mark == '{';
        depth -= m->tokens[pos].mark == '}';
        if (!depth) break;
    }
    return pos;
}

/* Reads .maxntid 256, 1, 1 and so on, up to the body or the ';'. */
static bool read_directives(ptx_module *m, uint32_t *pos, ptx_function *f)
{
    while (m->tokens[*pos].mark && m->tokens[*pos].mark != '{' && m->tokens[*pos].mark != ';') {
        const bool limit = is(m, *pos, ".maxntid") || is(m, *pos, ".reqntid");
        ++*pos;
        if (!limit) continue;
        f->max_threads = 1;
        for (; m->tokens[*pos].mark == '0' || m->tokens[*pos].mark == ','; ++*pos)
            if (m->tokens[*pos].mark == '0') f->max_threads *= (uint32_t)strtoul(m->tokens[*pos].at, NULL, 10);
    }
    return m->tokens[*pos].mark || fail(m, *pos, "a body was expected");
}

static bool read_function(ptx_module *m, uint32_t *pos, bool entry)
{
    ptx_function f = {.entry = entry, .max_dynamic = 48 << 10};
    uint32_t bytes = 0;
    if (m->tokens[*pos].mark == '(' && !read_params(m, pos, &f.returns, &f.nreturns, &bytes)) return false;
    snprintf(f.name, sizeof(f.name), "%s", m->tokens[(*pos)++].at);
    if (m->tokens[*pos].mark == '(' && !read_params(m, pos, &f.params, &f.nparams, &f.param_bytes)) return false;
    if (!read_directives(m, pos, &f)) return false;
    f.has_body = m->tokens[*pos].mark == '{';
    f.first_token = ++*pos;
    if (f.has_body) {
        f.end_token = body_end(m, *pos);
        *pos = f.end_token + 1;
    }
    ptx_function *known = ptx_module_find(m, f.name);
    if (known && !known->has_body) {
        free(known->params);
        free(known->returns);
        *known = f;
        return true;
    }
    m->functions = ptx_grown(m->functions, (uint32_t)m->nfunctions, sizeof(f));
    m->functions[m->nfunctions++] = f;
    return true;
}

static bool read_all(ptx_module *m)
{
    bool outer = false;
    for (uint32_t pos = 0; m->tokens[pos].mark;) {
        const uint32_t at = pos++;
        bool fine = true;
        if (is(m, at, ".extern")) {
            outer = true;
            continue;
        }
        if (is(m, at, ".visible") || is(m, at, ".weak") || is(m, at, ".common")) continue;
        if (is(m, at, ".entry") || is(m, at, ".func")) {
            fine = read_function(m, &pos, is(m, at, ".entry"));
        } else if (is(m, at, ".global") || is(m, at, ".const")) {
            fine = read_variable(m, &pos, PTX_GLOBAL, outer);
        } else if (is(m, at, ".shared")) {
            fine = read_variable(m, &pos, PTX_SHARED, outer);
        } else if (is(m, at, ".section")) {
            while (m->tokens[pos].mark && m->tokens[pos].mark != '{') pos++;
            pos = body_end(m, pos + 1) + 1;
        } else if (is(m, at, ".version") || is(m, at, ".target") || is(m, at, ".address_size") || is(m, at, ".file") ||
                   is(m, at, ".pragma")) {
            pos = skip_line(m, at);
        } else {
            fine = fail(m, at, "what stands at the top of a text is not known");
        }
        if (!fine) return false;
        outer = false;
    }
    return true;
}

bool ptx_module_read(ptx_module *m, const char *text)
{
    *m = (ptx_module){.text = NULL};
    if (!ptx_scan(m, text) || !read_all(m)) return false;
    for (int n = 0; n < m->nfunctions; n++) {
        m->functions[n].module = m;
        if (m->functions[n].entry && m->functions[n].has_body && !ptx_read_body(m, &m->functions[n])) return false;
    }
    return true;
}

void ptx_module_free(ptx_module *m)
{
    for (int n = 0; n < m->nfunctions; n++) {
        ptx_function *f = &m->functions[n];
        free(f->params);
        free(f->returns);
        free(f->code);
        free(f->extra);
        free(f->constants);
        free(f->specials);
    }
    for (int n = 0; n < m->nvariables; n++)
        if (m->variables[n].space == PTX_GLOBAL) fake_free(m->variables[n].address, true, "cuModuleUnload");
    free(m->functions);
    free(m->variables);
    free(m->tokens);
    free(m->text);
    *m = (ptx_module){.text = NULL};
}

ptx_function *ptx_module_find(ptx_module *m, const char *name)
{
    for (int n = 0; n < m->nfunctions; n++)
        if (!strcmp(m->functions[n].name, name)) return &m->functions[n];
    return NULL;
}
