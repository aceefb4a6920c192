/* SPDX-License-Identifier: Apache-2.0 */
/* packing_text.c: prints and reads a packing as text (docs/packing.md). The text may be anything: every number has a
 * range; tutti_packing_check checks the rest. */
#include <stdlib.h>
#include <string.h>

#include "../../base/text/strbuf.h"
#include "packing.h"

#define MAX_NUMBER ((int64_t)1 << 50)
#define MAX_TOTAL  ((int64_t)1 << 60) /* limit of all weights together, so that their sum cannot overflow */

char *tutti_packing_print(const tutti_packing *p)
{
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "tutti packing 1\nuse %s\n", tutti_packing_use_name(p->use));
    if (p->use == TUTTI_PACKING_BROADCAST) tutti_strbuf_printf(&sb, "root %d\n", p->root);
    tutti_strbuf_printf(&sb, "ranks %d\nnodes %d\nunit %lld/%lld\nbound %lld/%lld\n", p->nranks, p->nnodes,
                        (long long)p->unit.num, (long long)p->unit.den, (long long)p->bound.num,
                        (long long)p->bound.den);
    for (int32_t i = 0; i < p->ntrees; i++) {
        tutti_strbuf_printf(&sb, "tree %lld root %d", (long long)p->trees[i].weight, p->trees[i].root);
        for (int32_t k = 0; k < p->nranks - 1; k++) {
            const tutti_tree_edge *e = &p->edges[p->trees[i].first_edge + k];
            tutti_strbuf_printf(&sb, " %d>", e->src);
            for (int32_t h = 0; h < e->nvia; h++) tutti_strbuf_printf(&sb, "%d>", p->via[e->first_via + h]);
            tutti_strbuf_printf(&sb, "%d", e->dst);
        }
        tutti_strbuf_puts(&sb, "\n");
    }
    return tutti_strbuf_detach(&sb);
}

/* Position of the reader; it skips blank lines and text after #. */
typedef struct {
    const char *name, *at, *end, *line_end;
    int line;
    int64_t left; /* sum that further weights may still have: MAX_TOTAL less the weights so far */
    tutti_failure *err;
} reader;

static tutti_status wrong(const reader *r, const char *wanted)
{
    return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: %s is wanted", r->name, r->line, wanted);
}

static void skip_spaces(reader *r)
{
    while (r->at < r->line_end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

/* Moves to the next line with text; false at the end. */
static bool next_line(reader *r)
{
    while (r->line_end < r->end || r->line == 0) {
        if (r->line) r->at = r->line_end + 1;
        if (r->at >= r->end) return false;
        const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->line++;
        r->line_end = newline ? newline : r->end;
        const char *comment = memchr(r->at, '#', (size_t)(r->line_end - r->at)), *whole = r->line_end;
        if (comment) r->line_end = comment;
        skip_spaces(r);
        bool says = r->at < r->line_end;
        if (says) return true;
        r->line_end = whole;
    }
    return false;
}

static bool word(reader *r, const char *text)
{
    size_t n = strlen(text);
    skip_spaces(r);
    if ((size_t)(r->line_end - r->at) < n || memcmp(r->at, text, n)) return false;
    r->at += n;
    return true;
}

/* Skips at least one space, or returns false. */
static bool space(reader *r)
{
    const char *begin = r->at;
    skip_spaces(r);
    return r->at > begin;
}

static bool number(reader *r, int64_t lowest, int64_t highest, int64_t *out)
{
    const char *begin = r->at;
    int64_t value = 0;
    while (r->at < r->line_end && *r->at >= '0' && *r->at <= '9' && value <= MAX_NUMBER)
        value = value * 10 + (*r->at++ - '0');
    *out = value;
    return r->at > begin && value >= lowest && value <= highest;
}

static bool line_is_over(reader *r)
{
    skip_spaces(r);
    bool over = r->at == r->line_end;
    if (over) { /* skips a comment, up to the end of the line */
        const char *newline = memchr(r->line_end, '\n', (size_t)(r->end - r->line_end));
        r->line_end = newline ? newline : r->end;
    }
    return over;
}

static tutti_status named_number(reader *r, const char *name, int64_t lowest, int64_t highest, int32_t *out)
{
    int64_t value;
    if (!next_line(r) || !word(r, name) || !space(r) || !number(r, lowest, highest, &value) || !line_is_over(r))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: '%s' and a number from %lld to %lld are wanted",
                          r->name, r->line, name, (long long)lowest, (long long)highest);
    *out = (int32_t)value;
    return TUTTI_OK;
}

static tutti_status named_ratio(reader *r, const char *name, int64_t lowest, tutti_ratio *out)
{
    int64_t num, den;
    if (!next_line(r) || !word(r, name) || !space(r) || !number(r, lowest, MAX_NUMBER, &num) || !word(r, "/") ||
        !number(r, 1, (int64_t)1 << 30, &den) || !line_is_over(r))
        return tutti_fail(r->err, TUTTI_ERR_DATA, "%s: line %d: '%s' and a ratio such as 24/7 are wanted", r->name,
                          r->line, name);
    *out = tutti_ratio_of(num, den);
    return TUTTI_OK;
}

/* Reads "3>8>5": a rank, switches, a rank. */
static tutti_status read_edge(reader *r, tutti_packing *p)
{
    int32_t nodes[16], n = 0;
    do {
        int64_t node;
        skip_spaces(r);
        if (n == 16 || !number(r, 0, p->nnodes - 1, &node)) return wrong(r, "an edge such as 3>5 or 3>8>5");
        nodes[n++] = (int32_t)node;
    } while (r->at < r->line_end && *r->at == '>' && r->at++);
    if (n < 2 || nodes[0] >= p->nranks || nodes[n - 1] >= p->nranks)
        return wrong(r, "an edge from rank to rank, such as 3>5,");
    for (int32_t i = 1; i < n - 1; i++)
        if (nodes[i] < p->nranks) return wrong(r, "nothing but switches between the ends of an edge");
    tutti_packing_edge(p, nodes[0], nodes[n - 1], nodes + 1, n - 2);
    return TUTTI_OK;
}

static tutti_status read_tree(reader *r, tutti_packing *p)
{
    int64_t weight, root;
    if (!word(r, "tree") || !space(r) || !number(r, 1, r->left < MAX_NUMBER ? r->left : MAX_NUMBER, &weight) ||
        !word(r, "root") || !space(r) || !number(r, 0, p->nranks - 1, &root))
        return wrong(r, "'tree WEIGHT root RANK' and its edges");
    r->left -= weight;
    tutti_packing_tree(p, (int32_t)root, weight);
    for (int32_t k = 0; k < p->nranks - 1; k++) {
        tutti_status st = read_edge(r, p);
        if (st != TUTTI_OK) return st;
    }
    return line_is_over(r) ? TUTTI_OK : wrong(r, "one edge fewer than ranks");
}

static tutti_status read_use(reader *r, tutti_packing *p)
{
    if (!next_line(r) || !word(r, "tutti packing 1") || !line_is_over(r)) return wrong(r, "'tutti packing 1'");
    if (!next_line(r) || !word(r, "use") || !space(r)) return wrong(r, "'use'");
    for (int use = 0; use < TUTTI_NPACKING_USES; use++) {
        if (!word(r, tutti_packing_use_name((tutti_packing_use)use))) continue;
        p->use = (tutti_packing_use)use;
        return line_is_over(r) ? TUTTI_OK : wrong(r, "nothing behind the use");
    }
    return wrong(r, "'broadcast', 'allreduce' or 'all-gather'");
}

static tutti_status read_packing(reader *r, tutti_packing *p)
{
    tutti_status st = read_use(r, p);
    if (st == TUTTI_OK && p->use == TUTTI_PACKING_BROADCAST)
        st = named_number(r, "root", 0, TUTTI_PACKING_MAX_NODES - 1, &p->root);
    if (st == TUTTI_OK) st = named_number(r, "ranks", p->root + 1, TUTTI_PACKING_MAX_NODES, &p->nranks);
    if (st == TUTTI_OK) st = named_number(r, "nodes", p->nranks, TUTTI_PACKING_MAX_NODES, &p->nnodes);
    if (st == TUTTI_OK) st = named_ratio(r, "unit", 1, &p->unit);
    if (st == TUTTI_OK) st = named_ratio(r, "bound", 0, &p->bound);
    while (st == TUTTI_OK && next_line(r)) st = read_tree(r, p);
    return st;
}

tutti_status tutti_packing_parse(const char *name, const char *text, size_t nbytes, tutti_packing *out,
                                 tutti_failure *err)
{
    reader r = {.name = name, .at = text, .end = text + nbytes, .line_end = text, .left = MAX_TOTAL, .err = err};
    tutti_packing p = {.nranks = 1};
    tutti_status st = read_packing(&r, &p);
    if (st == TUTTI_OK)
        *out = p;
    else
        tutti_packing_release(&p);
    return st;
}
