/* SPDX-License-Identifier: Apache-2.0 */
/* chooser.c: the chooser of kernels: the one place that decides which candidate computes a layer's pass (candidate.h).
 *
 * Each request has two views. One view is the request as it is, for rows that read its types. In the other view all
 * values are f32, for rows that run behind half_adapter.c. A *way* to compute the request is one candidate for all
 * passes that are run, or one candidate for each pass if these can be joined. Each pass has a rank: the request names
 * the candidate (best), it reads the request's types, it needs f32, its time is unknown (worst). The rank of a way is
 * the sum over its passes, and the lowest rank wins. Among equal ranks the fewest seconds win, then the first place in
 * the table. One candidate for all passes is preferred to several that are no faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../device/device_row.h"
#include "candidate.h"
#include "order_rule.h"

enum { AS_IT_STANDS, WIDENED, NVIEWS };
/* How well a candidate meets the request; smaller is better. A way with one pass of unknown time ranks behind every way
 * whose times are all known, so FITS exceeds the sum of the smaller ranks. A candidate of unknown time may be the only
 * one that fits, if parameters already lie in its order. */
enum { NAMED, TAKES_IT, IS_WIDENED_FOR, FITS = IS_WIDENED_FOR * TUTTI_NPASSES + 1, CANNOT = FITS * TUTTI_NPASSES + 1 };

/* One view of the request: the kernel and the request that the functions of candidates get. shape: the text of the
 * kernel's shape, by which measured seconds are found. */
typedef struct {
    tutti_kernel k;
    tutti_kernel_request r;
    char shape[TUTTI_CANDIDATE_SHAPE];
} view;

typedef struct {
    const tutti_candidate_table *table;
    view views[NVIEWS];
    int nviews; /* number of views in use; 1 if all values are f32 */
    bool runs[TUTTI_NPASSES];
    bool *barred[NVIEWS]; /* for each view and candidate: true if its kernel could not be made */
    bool keeps_together;  /* true after kernels of several candidates could not be joined */
} search;

typedef struct {
    const tutti_kernel_candidate *c;
    int at, rank; /* at: the view (below NVIEWS); rank: how well the candidate meets the request */
    double seconds;
    bool measured;
} pick;

typedef struct {
    pick of[TUTTI_NPASSES];
    int rank;
    double seconds;
} way;

static const way NO_WAY = {.rank = TUTTI_NPASSES * CANNOT};

/* ---- one candidate, one pass ---- */

static const tutti_kernel_row *row_of(const tutti_kernel_candidate *c, const tutti_op_row *op)
{
    return c->row ? c->row : op->reference;
}

static bool is_wide(const tutti_kernel *k, tutti_precision precision)
{
    bool wide = precision == TUTTI_PRECISION_F32;
    for (int i = 0; i < k->ninputs; i++) wide = wide && k->in[i].dtype == TUTTI_F32;
    return wide;
}

static bool is_for(const tutti_kernel_candidate *c, const tutti_op_row *op)
{
    return !c->op || strcmp(c->op, op->name) == 0;
}

static bool fits(const tutti_kernel_candidate *c, const view *v, tutti_kernel_pass pass)
{
    if (!is_for(c, v->r.op) || !(c->passes >> pass & 1)) return false;
    if (c->device != (int)tutti_device_kind_of(v->r.device) || c->isa > tutti_isa_here()) return false;
    if (c->threads == TUTTI_THREADS_ONE && v->r.nthreads > 1) return false;
    if (!(c->precisions >> v->r.precision & 1)) return false;
    if (!is_wide(&v->k, v->r.precision) && !row_of(c, v->r.op)->takes_halves) return false;
    return !c->fits || c->fits(&v->k, &v->r, pass);
}

static int compare_entries(const tutti_tuned_entry *a, const tutti_tuned_entry *b)
{
    const char *const x[] = {a->op, a->shape, a->precision, a->pass, a->candidate}, *const y[] = {b->op, b->shape,
                                                                                                  b->precision, b->pass,
                                                                                                  b->candidate};
    int order = 0;
    for (size_t i = 0; i < sizeof x / sizeof *x && order == 0; i++) order = strcmp(x[i], y[i]);
    return order;
}

static const tutti_tuned_entry *find_tuned(const view *v, tutti_kernel_pass pass, const tutti_kernel_candidate *c)
{
    const tutti_tuned *t = v->r.tuned;
    const tutti_tuned_entry wanted = {
        v->r.op->name, v->shape, tutti_precision_name(v->r.precision), tutti_kernel_pass_name(pass), c->name, 0};
    for (int first = 0, end = t && !v->r.canonical ? t->n : 0; first < end;) {
        const int middle = first + (end - first) / 2, order = compare_entries(&wanted, &t->entries[middle]);
        if (order == 0) return &t->entries[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

static bool is_named(const search *s, const tutti_kernel_candidate *c)
{
    return strcmp(c->name, s->views[0].r.engine) == 0;
}

/* ---- the candidates of a pass, in one view of the request ---- */

typedef struct {
    bool any, measured;
    tutti_sums sums; /* order of additions of the first candidate that fits */
} field;

static field look_over(const search *s, int at, tutti_kernel_pass pass)
{
    const view *v = &s->views[at];
    field f = {0};
    for (int i = 0; i < s->table->n; i++) {
        const tutti_kernel_candidate *c = &s->table->rows[i];
        if (s->barred[at][i] || !fits(c, v, pass)) continue;
        if (!f.any) f.sums = c->sums;
        f.any = true;
        f.measured = f.measured || find_tuned(v, pass, c);
    }
    return f;
}

/* Judges candidate i for this pass. The rank is CANNOT if the candidate does not fit. */
static pick consider(const search *s, int at, int i, tutti_kernel_pass pass)
{
    const view *v = &s->views[at];
    const tutti_kernel_candidate *c = &s->table->rows[i];
    pick p = {.c = c, .at = at, .rank = CANNOT};
    if (s->barred[at][i] || !fits(c, v, pass)) return p;
    if (is_named(s, c)) {
        p.rank = NAMED;
        return p;
    }
    const field f = look_over(s, at, pass);
    const tutti_tuned_entry *e = find_tuned(v, pass, c);
    if ((v->r.canonical && c->sums != f.sums) || (f.measured && !e)) return p;
    p.measured = e != NULL;
    p.seconds = e ? e->seconds : c->seconds ? c->seconds(&v->k, &v->r, pass) : -1;
    p.rank = p.seconds < 0 ? FITS : at == AS_IT_STANDS ? TAKES_IT : IS_WIDENED_FOR;
    return p;
}

static bool is_better(const pick *a, const pick *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->rank < CANNOT && a->seconds < b->seconds);
}

/* ---- ways: a candidate for each pass ---- */

static void add_pass(way *w, tutti_kernel_pass pass, const pick *p)
{
    w->of[pass] = *p;
    w->rank += p->rank;
    w->seconds += p->seconds;
}

static way by_one(const search *s, int at, int i)
{
    way w = {.rank = 0};
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        if (!s->runs[pass]) continue;
        const pick p = consider(s, at, i, (tutti_kernel_pass)pass);
        if (p.rank == CANNOT) return NO_WAY;
        add_pass(&w, (tutti_kernel_pass)pass, &p);
    }
    return w;
}

static pick best_of_pass(const search *s, tutti_kernel_pass pass)
{
    pick best = {.rank = CANNOT};
    for (int at = 0; at < s->nviews; at++)
        for (int i = 0; i < s->table->n; i++) {
            const pick p = consider(s, at, i, pass);
            if (p.c->joins && is_better(&p, &best)) best = p;
        }
    return best;
}

static way by_several(const search *s)
{
    way w = {.rank = 0};
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        if (!s->runs[pass]) continue;
        const pick p = best_of_pass(s, (tutti_kernel_pass)pass);
        if (p.rank == CANNOT) return NO_WAY;
        add_pass(&w, (tutti_kernel_pass)pass, &p);
    }
    return w;
}

static bool is_shorter(const way *a, const way *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->seconds < b->seconds);
}

static way choose(const search *s)
{
    way best = NO_WAY;
    for (int at = 0; at < s->nviews; at++)
        for (int i = 0; i < s->table->n; i++) {
            const way w = by_one(s, at, i);
            if (is_shorter(&w, &best)) best = w;
        }
    const way several = s->keeps_together ? NO_WAY : by_several(s);
    return is_shorter(&several, &best) ? several : best;
}

/* ---- describing the choice ---- */

/* True if the request names a row for this op, or, with `any`, for any op. */
static bool names_a_row(const search *s, bool any)
{
    bool named = false;
    for (int i = 0; i < s->table->n; i++) {
        const tutti_kernel_candidate *c = &s->table->rows[i];
        named = named || (is_named(s, c) && (any || is_for(c, s->views[0].r.op)));
    }
    return named;
}

static tutti_kernel_chosen explain(const search *s, tutti_kernel_pass pass, const pick *p)
{
    tutti_kernel_chosen chosen = {.name = p->c->name, .why = TUTTI_CHOSEN_ASKED, .seconds = p->seconds};
    if (p->rank == NAMED) return chosen;
    chosen.in_vain = names_a_row(s, false);
    chosen.why = p->measured ? TUTTI_CHOSEN_MEASURED : TUTTI_CHOSEN_RULE;
    int nothers = 0;
    for (int i = 0; i < s->table->n; i++) {
        const pick other = consider(s, p->at, i, pass);
        /* the reference row fits every request, so it does not count as a rival */
        const bool is_timed = other.rank < FITS && other.c->op;
        if (other.c == p->c || other.rank != p->rank || !is_timed) continue;
        nothers++;
        if (chosen.next && other.seconds >= chosen.next_seconds) continue;
        chosen.next = other.c->name;
        chosen.next_seconds = other.seconds;
    }
    if (!nothers) chosen.why = TUTTI_CHOSEN_ALONE;
    return chosen;
}

/* ---- making the kernel ---- */

static tutti_kernel_rows rows_of(const search *s, const way *w)
{
    tutti_kernel_rows rows = {{NULL}, {false}};
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        const pick *p = &w->of[s->runs[pass] ? pass : TUTTI_PASS_FORWARD];
        rows.of[pass] = row_of(p->c, s->views[0].r.op);
        rows.in_f32[pass] = p->at == WIDENED;
    }
    return rows;
}

static void bar(search *s, const way *w)
{
    const pick *first = &w->of[TUTTI_PASS_FORWARD];
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        if (s->runs[pass] && (w->of[pass].c != first->c || w->of[pass].at != first->at)) {
            s->keeps_together = true;
            return;
        }
    s->barred[first->at][first->c - s->table->rows] = true;
}

/* Tries one way after the other until a kernel can be made. If no way works, the failure is that of the last way, the
 * op's reference row. */
static tutti_status make(search *s, tutti_kernel *k, tutti_failure *err)
{
    tutti_kernel_request r = s->views[0].r;
    tutti_failure why = {0};
    tutti_status st = tutti_fail(&why, TUTTI_ERR_FAILED, "no kernel for op %s fits", r.op->name);
    for (way w = choose(s); w.rank != NO_WAY.rank; w = choose(s)) {
        const tutti_kernel_rows rows = rows_of(s, &w);
        r.by = &rows;
        st = tutti_kernel_create(&r, k, &why);
        if (st == TUTTI_OK) {
            for (int pass = 0; pass < TUTTI_NPASSES; pass++)
                if (s->runs[pass]) k->chosen[pass] = explain(s, (tutti_kernel_pass)pass, &w.of[pass]);
            return TUTTI_OK;
        }
        bar(s, &w);
    }
    return tutti_fail(err, st, "%s", why.text);
}

static view widened(const view *v)
{
    view wide = *v;
    wide.r.precision = TUTTI_PRECISION_F32;
    for (int i = 0; i < wide.k.ninputs; i++) {
        tutti_value *in = &wide.k.in[i];
        in->bytes = in->bytes / tutti_dtype_bytes(in->dtype) * sizeof(float);
        in->dtype = TUTTI_F32;
    }
    return wide;
}

static tutti_status open_search(search *s, const tutti_kernel_request *r, tutti_failure *err)
{
    view *first = &s->views[AS_IT_STANDS];
    const tutti_status st = tutti_kernel_begin(r, &first->k, err);
    if (st != TUTTI_OK) return st;
    first->r = *r;
    s->nviews = 1;
    if (!is_wide(&first->k, r->precision)) s->views[s->nviews++] = widened(first);
    for (int at = 0; at < s->nviews; at++) {
        view *v = &s->views[at];
        v->r.in = v->k.in;
        tutti_candidate_shape(&v->k, &v->r, v->shape);
    }
    s->runs[TUTTI_PASS_FORWARD] = true;
    s->runs[TUTTI_PASS_PARAMS] = r->training && first->k.nparams > 0;
    s->runs[TUTTI_PASS_DATA] = r->training;
    return TUTTI_OK;
}

static tutti_status refuse_name(const tutti_candidate_table *table, const char *name, tutti_failure *err)
{
    tutti_fail(err, TUTTI_ERR_USAGE, "no kernels are called '%s'; there are auto", name);
    for (int i = 0; i < table->n && err; i++) {
        bool seen = false;
        for (int before = 0; before < i; before++)
            seen = seen || !strcmp(table->rows[before].name, table->rows[i].name);
        const size_t n = strlen(err->text);
        if (!seen) snprintf(err->text + n, sizeof err->text - n, ", %s", table->rows[i].name);
    }
    return TUTTI_ERR_USAGE;
}

tutti_status tutti_kernel_create_from(const tutti_candidate_table *table, const tutti_kernel_request *r,
                                      tutti_kernel *k, tutti_failure *err)
{
    search s = {.table = table};
    tutti_status st = open_search(&s, r, err);
    if (st == TUTTI_OK && strcmp(r->engine, "auto") != 0 && !names_a_row(&s, true))
        st = refuse_name(table, r->engine, err);
    if (st != TUTTI_OK) return st;
    bool *barred = tutti_alloc((size_t)(NVIEWS * table->n) * sizeof *barred);
    for (int at = 0; at < NVIEWS; at++) s.barred[at] = barred + at * table->n;
    st = make(&s, k, err);
    free(barred);
    return st;
}

int tutti_candidates_that_fit(const tutti_candidate_table *table, const tutti_kernel_request *r, tutti_kernel_pass pass,
                              const tutti_kernel_candidate **out, int most)
{
    search s = {.table = table};
    int n = 0;
    if (open_search(&s, r, NULL) != TUTTI_OK) return 0;
    for (int i = 0; i < table->n && n < most; i++)
        if (fits(&table->rows[i], &s.views[AS_IT_STANDS], pass)) out[n++] = &table->rows[i];
    return n;
}
