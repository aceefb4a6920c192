/* SPDX-License-Identifier: Apache-2.0 */
/* papers.c: reads pages of published figures (papers/), judges our figures against them and prints the table. */
#include "papers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/text/json.h"

enum { MAX_PAGE_BYTES = 1 << 20 };

static const tutti_field fields[] = {
    {"what", TUTTI_FIELD_TEXT, offsetof(tutti_paper_figure, what), NULL, NULL, 1, 0, "what is counted or timed"},
    {"published", TUTTI_FIELD_REAL, offsetof(tutti_paper_figure, published), "0", NULL, 0, 1e18,
     "0 = no figure to meet"},
    {"method", TUTTI_FIELD_TEXT, offsetof(tutti_paper_figure, method), NULL, NULL, 1, 0, "row of papers_method.c"},
    {"algorithm", TUTTI_FIELD_TEXT, offsetof(tutti_paper_figure, algorithm), NULL, NULL, 1, 0, "the algorithm"},
    {"baseline", TUTTI_FIELD_TEXT, offsetof(tutti_paper_figure, baseline), "", NULL, 1, 0, "compared with"},
    {"topology", TUTTI_FIELD_TEXT, offsetof(tutti_paper_figure, topology), "", NULL, 1, 0, "text form"},
    {"ranks", TUTTI_FIELD_INT, offsetof(tutti_paper_figure, ranks), NULL, NULL, 1, 65536, "ranks"},
    {"bytes", TUTTI_FIELD_REALS, offsetof(tutti_paper_figure, bytes), "[]", NULL, 1, 1e15, "sizes of a sweep"},
};
static const tutti_field_table table = {fields, sizeof fields / sizeof fields[0]};

const char *tutti_paper_verdict(const char *provenance, double published, double lo, double hi)
{
    if (!(published > 0)) return "-";
    if (lo != hi) return published >= lo && published <= hi ? "in range" : "out of range";
    double off = fabs(lo / published - 1);
    bool recalled = !strcmp(provenance, "recalled");
    if (off <= 0.10) return recalled ? "as recalled" : "pass";
    if (off <= 0.25) return recalled ? "near (recalled)" : "near";
    return recalled ? "off (recalled)" : "off";
}

static tutti_status text_take(const tutti_yaml_node *root, const char *key, tutti_arena *arena, const char *page,
                              const char **out, tutti_failure *err)
{
    const tutti_yaml_node *node = tutti_yaml_get(root, key);
    if (!node || node->kind != TUTTI_YAML_SCALAR)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: '%s' wants a text", page, node ? node->line : root->line,
                          key);
    *out = tutti_arena_strdup(arena, node->scalar);
    return TUTTI_OK;
}

static tutti_status heads_take(const char *page, const tutti_yaml_node *root, tutti_paper *p, tutti_failure *err)
{
    const struct {
        const char *key, **to;
    } heads[] = {
        {"title", &p->title},
        {"source", &p->source},
        {"provenance", &p->provenance},
        {"claim", &p->claim},
        {"against", &p->against},
        {"conditions", &p->conditions},
        {"reconstruction", &p->reconstruction},
    };
    for (const tutti_yaml_node *n = root->child; n; n = n->next) {
        bool known = !strcmp(n->key, "figures");
        for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) known |= !strcmp(n->key, heads[i].key);
        if (!known) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: unknown key '%s'", page, n->line, n->key);
    }
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        tutti_status st = text_take(root, heads[i].key, &p->arena, page, heads[i].to, err);
        if (st) return st;
    }
    if (strcmp(p->provenance, "read") && strcmp(p->provenance, "abstract") && strcmp(p->provenance, "recalled"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: provenance '%s' is none of read, abstract, recalled", page,
                          p->provenance);
    return TUTTI_OK;
}

static tutti_status figures_take(const char *page, const tutti_yaml_node *root, tutti_paper *p, tutti_failure *err)
{
    const tutti_yaml_node *list = tutti_yaml_get(root, "figures");
    if (!list || list->kind != TUTTI_YAML_LIST || !list->child)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: 'figures' wants a list", page);
    p->figures = TUTTI_ARENA_NEW(&p->arena, tutti_paper_figure, list->nchildren);
    for (const tutti_yaml_node *n = list->child; n; n = n->next) {
        tutti_paper_figure *f = &p->figures[p->nfigures++];
        const tutti_options_into into = {&table, &p->arena, f};
        tutti_status st = n->kind == TUTTI_YAML_MAP
                              ? tutti_options_read(&into, page, n, NULL, 0, err)
                              : tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: a figure is a map", page, n->line);
        if (st) return st;
        st = tutti_paper_compute(f, err);
        if (st) return tutti_fail_at(err, "%s: line %d", page, n->line);
        f->verdict = tutti_paper_verdict(p->provenance, f->published, f->lo, f->hi);
    }
    return TUTTI_OK;
}

tutti_status tutti_paper_load(const char *path, tutti_paper *out, tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    tutti_yaml *yaml = NULL;
    tutti_paper p = {0};
    tutti_status st = tutti_file_read(path, MAX_PAGE_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (!st) st = tutti_yaml_parse(path, text, nbytes, &yaml, err);
    if (!st && tutti_yaml_root(yaml)->kind != TUTTI_YAML_MAP)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: a page is a map", path);
    if (!st) {
        const char *slash = strrchr(path, '/');
        char *name = tutti_arena_strdup(&p.arena, slash ? slash + 1 : path), *dot = strrchr(name, '.');
        if (dot) *dot = '\0';
        p.name = name;
        st = heads_take(path, tutti_yaml_root(yaml), &p, err);
    }
    if (!st) st = figures_take(path, tutti_yaml_root(yaml), &p, err);
    tutti_yaml_destroy(yaml);
    free(text);
    if (st)
        tutti_paper_release(&p);
    else
        *out = p;
    return st;
}

void tutti_paper_release(tutti_paper *paper)
{
    tutti_arena_release(&paper->arena);
    *paper = (tutti_paper){0};
}

static void print_json(const tutti_paper *p, tutti_strbuf *out)
{
    for (int i = 0; i < p->nfigures; i++) {
        const tutti_paper_figure *f = &p->figures[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "paper", p->name);
        tutti_json_text(&j, "what", f->what);
        tutti_json_text(&j, "provenance", p->provenance);
        tutti_json_text(&j, "method", f->method);
        tutti_json_real(&j, "published", f->published > 0 ? f->published : NAN);
        tutti_json_real(&j, "ours", f->lo);
        tutti_json_real(&j, "ours_most", f->hi);
        tutti_json_real(&j, "ratio", f->published > 0 && f->lo == f->hi ? f->lo / f->published : NAN);
        tutti_json_text(&j, "verdict", f->verdict);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
}

/* Prints "label: text", broken between words before column WIDTH; further lines are indented. */
static void print_wrapped(tutti_strbuf *out, const char *label, const char *text)
{
    enum { WIDTH = 110, INDENT = 4 };
    tutti_strbuf_printf(out, "%s:", label);
    size_t column = strlen(label) + 1;
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column + 1 + word > WIDTH) {
            tutti_strbuf_printf(out, "\n%*s", INDENT - 1, "");
            column = INDENT - 1;
        }
        tutti_strbuf_puts(out, " ");
        tutti_strbuf_add(out, text, word);
        column += 1 + word;
        text += word + strspn(text + word, " \n");
    }
    tutti_strbuf_puts(out, "\n");
}

void tutti_paper_print(const tutti_paper *p, bool json, tutti_strbuf *out)
{
    if (json) {
        print_json(p, out);
        return;
    }
    tutti_strbuf_printf(out, "%s: %s\n%s\n\n", p->name, p->title, p->source);
    char claim[64];
    snprintf(claim, sizeof claim, "claim (%.20s)", p->provenance);
    print_wrapped(out, claim, p->claim);
    print_wrapped(out, "against", p->against);
    print_wrapped(out, "conditions", p->conditions);
    print_wrapped(out, "reconstruction", p->reconstruction);
    tutti_strbuf_puts(out, "\n");
    tutti_strbuf_printf(out, "%-46s %10s %16s %7s  %-16s %s\n", "", "published", "ours", "ratio", "verdict", "method");
    for (int i = 0; i < p->nfigures; i++) {
        const tutti_paper_figure *f = &p->figures[i];
        char published[32] = "-", ours[48], ratio[32] = "-";
        if (f->published > 0) snprintf(published, sizeof published, "%.6g", f->published);
        if (f->lo == f->hi)
            snprintf(ours, sizeof ours, "%.6g", f->lo);
        else
            snprintf(ours, sizeof ours, "%.3g to %.3g", f->lo, f->hi);
        if (f->published > 0 && f->lo == f->hi) snprintf(ratio, sizeof ratio, "%.3f", f->lo / f->published);
        tutti_strbuf_printf(out, "%-46s %10s %16s %7s  %-16s %s\n", f->what, published, ours, ratio, f->verdict,
                            f->method);
    }
}
