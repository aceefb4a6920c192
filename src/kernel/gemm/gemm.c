/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c: runs a matrix product by its plan. Each thread computes a rectangle of C. The thread cuts the rectangle into
 * blocks of columns, of k and of rows, and those into register blocks. Threads share nothing: each thread packs what it
 * needs, even if another thread packs the same elements. */
#include "gemm.h"

#include <assert.h>
#include <string.h>

#include "../crew.h"
#include "gemm_impl.h"

enum { MOST_SUMS = 32 * 32 };        /* largest number of sums in a register block */
enum { LINE = 64, LINE_CELLS = 16 }; /* a cache line, in bytes and in cells (32 bits, gemm_impl.h) */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* ---- operands that the caller packs before ---- */

/* Label in front of the cells of a packed operand: the row of loops and the sizes for which the operand was packed. */
typedef struct {
    const tutti_gemm_row *row;
    int64_t operand, side, k, block_k;
} packed_label;
static_assert(sizeof(packed_label) <= TUTTI_GEMM_ALIGNED, "cells begin at the next line");

static int64_t side_of(const tutti_gemm_plan *plan, tutti_gemm_operand which)
{
    return which == TUTTI_GEMM_A ? plan->gemm.m : plan->gemm.n;
}

static int64_t panel_of(const tutti_gemm_plan *plan, tutti_gemm_operand which)
{
    return which == TUTTI_GEMM_A ? plan->row->rows : plan->row->columns;
}

int64_t tutti_gemm_packed_bytes(const tutti_gemm_plan *plan, tutti_gemm_operand which)
{
    const int64_t width = up(side_of(plan, which), panel_of(plan, which)) * panel_of(plan, which);
    const int64_t nbytes = width * tutti_gemm_steps(plan->row, plan->gemm.k) * (int64_t)sizeof(tutti_gemm_cell);
    return up(nbytes, TUTTI_GEMM_ALIGNED) * TUTTI_GEMM_ALIGNED + TUTTI_GEMM_ALIGNED;
}

static packed_label label_of(const tutti_gemm_plan *plan, tutti_gemm_operand which)
{
    return (packed_label){plan->row, which, side_of(plan, which), plan->gemm.k, plan->block_k};
}

/* A part of an operand: n elements of its side (rows of A, columns of B) from i on, and nk elements of k from p on. */
typedef struct {
    int64_t i, n, p, nk;
} matrix_part;

/* Packs the part m of an operand, panel by panel. */
static void pack_panels(const tutti_gemm_plan *plan, tutti_gemm_operand which, const tutti_gemm_source *matrix,
                        const matrix_part *m, tutti_gemm_cell *to)
{
    const tutti_gemm_row *row = plan->row;
    const int64_t panel = panel_of(plan, which), at = m->i * matrix->apart_i + m->p * matrix->apart_p;
    tutti_gemm_source part = *matrix;
    part.from = (const char *)matrix->from + (size_t)at * tutti_dtype_bytes(matrix->type);
    (which == TUTTI_GEMM_A ? row->pack_a : row->pack_b)(&part, m->n, m->nk, (int)panel, to,
                                                        panel * tutti_gemm_steps(row, m->nk));
}

/* Returns where the panels from row i on, of the block of k from p on, begin in a packed operand. A panel begins at
 * i. */
static int64_t packed_at(const tutti_gemm_plan *plan, tutti_gemm_operand which, int64_t i, int64_t p, int64_t nk)
{
    const int64_t width = up(side_of(plan, which), panel_of(plan, which)) * panel_of(plan, which);
    return width * (p / plan->row->pair) + i * tutti_gemm_steps(plan->row, nk);
}

void tutti_gemm_pack(const tutti_gemm_plan *plan, tutti_gemm_operand which, const void *from, void *packed)
{
    const tutti_gemm *g = &plan->gemm;
    const tutti_gemm_source matrix = tutti_gemm_source_of(g, which, from, 0);
    const packed_label label = label_of(plan, which);
    /* the plan may have exchanged A and B, so the caller must pack only an operand that this plan takes packed */
    assert(which == TUTTI_GEMM_A ? g->packed_a : g->packed_b);
    memcpy(packed, &label, sizeof label);
    tutti_gemm_cell *cells = (tutti_gemm_cell *)(void *)((char *)packed + TUTTI_GEMM_ALIGNED);
    for (int64_t p = 0; p < g->k; p += plan->block_k) {
        const int64_t nk = least(plan->block_k, g->k - p);
        const matrix_part all = {0, side_of(plan, which), p, nk};
        pack_panels(plan, which, &matrix, &all, cells + packed_at(plan, which, 0, p, nk));
    }
}

/* ---- a rectangle of C ---- */

/* The part of one product that a thread computes. */
typedef struct {
    const tutti_gemm_plan *plan;
    tutti_gemm_source a, b;
    tutti_gemm_source next_b; /* B of the next product; its `from` is NULL if there is none or if it is packed */
    const tutti_gemm_cell *packed_a, *packed_b; /* operands that were packed before; NULL if they were not */
    const float *bias;
    char *c;
    int64_t m0, m1, n0, n1;
    tutti_gemm_cell *block_a, *block_b; /* memory of this thread for packed blocks of A and B */
} rectangle;

/* A part of k: nk elements from p on, which are `steps` cells. */
typedef struct {
    int64_t p, nk, steps;
    bool is_first, is_last;
} depth;

/* Cells of an operand, as register blocks read them. */
typedef struct {
    const tutti_gemm_cell *at;
    int64_t apart_i, apart_p, panel; /* distances in cells: of rows of A (columns of B), of steps of k, of panels */
    /* the last panel, if it is not full and so is packed apart from panels that are read in place; else NULL */
    const tutti_gemm_cell *last;
} panels;

static panels panels_packed(const tutti_gemm_plan *plan, tutti_gemm_operand which, const tutti_gemm_cell *at,
                            const depth *d)
{
    const int64_t side = panel_of(plan, which), tile = plan->row->vector;
    if (which == TUTTI_GEMM_A && plan->row->a_in_tiles) return (panels){at, tile, side * tile, side * d->steps, NULL};
    return (panels){at, 1, side, side * d->steps, NULL};
}

/* Finds the panels of the side from i on: packed before, packed now into `block`, or where they lie in the matrix. */
static panels find_panels(const rectangle *r, tutti_gemm_operand which, int64_t i, int64_t n, const depth *d)
{
    const tutti_gemm_plan *plan = r->plan;
    const bool is_a = which == TUTTI_GEMM_A;
    const tutti_gemm_source *matrix = is_a ? &r->a : &r->b;
    const tutti_gemm_cell *packed = is_a ? r->packed_a : r->packed_b;
    tutti_gemm_cell *block = is_a ? r->block_a : r->block_b, *last = NULL;
    if (packed) return panels_packed(plan, which, packed + packed_at(plan, which, i, d->p, d->nk), d);
    if (is_a ? plan->copies_a : plan->copies_b) {
        pack_panels(plan, which, matrix, &(matrix_part){i, n, d->p, d->nk}, block);
        return panels_packed(plan, which, block, d);
    }
    const tutti_gemm_cell *cells = matrix->from;
    const int64_t pair = plan->row->pair; /* elements in a cell: distances in elements are divided by it */
    const int64_t apart_i = matrix->apart_i == 1 ? 1 : matrix->apart_i / pair, apart_p = matrix->apart_p;
    const int64_t step = is_a && plan->row->a_in_tiles ? plan->row->vector : apart_p, over = n % panel_of(plan, which);
    if (is_a && plan->row->a_in_tiles && over % plan->row->vector) {
        last = block;
        pack_panels(plan, which, matrix, &(matrix_part){i + n - over, over, d->p, d->nk}, last);
    }
    return (panels){cells + i * apart_i + d->p / pair * apart_p, apart_i, step, panel_of(plan, which) * apart_i, last};
}

static float *floats_at(const rectangle *r, int64_t i, int64_t j)
{
    return (float *)(void *)r->c + i * r->plan->gemm.stride_c + j;
}

/* A register block of C, or of C^T. */
typedef struct {
    int64_t i, j, rows, columns;
} place;

/* Copies sums from a buffer to C. Once the sums contain all of k, it adds the bias and applies the map. */
static void put_sums(const rectangle *r, const float *sums, const place *at, bool is_last)
{
    const tutti_gemm *g = &r->plan->gemm;
    tutti_gemm_finish f = {.rows = at->rows,
                           .columns = at->columns,
                           .sums = sums,
                           .sums_apart = r->plan->row->columns,
                           .type = g->type_c,
                           .to = r->c + (size_t)(at->i * g->stride_c + at->j) * tutti_dtype_bytes(g->type_c),
                           .to_apart = g->stride_c};
    if (is_last) {
        f.row_bias = g->bias == TUTTI_GEMM_BIAS_OF_ROWS ? r->bias + at->i : NULL;
        f.column_bias = g->bias == TUTTI_GEMM_BIAS_OF_COLUMNS ? r->bias + at->j : NULL;
        f.map = g->map;
    }
    r->plan->row->finish(&f);
}

/* Multiplies a register block of C^T. Sums are read from C, and transposed before and after the product. */
static void multiply_turned(const rectangle *r, const depth *d, tutti_gemm_block *b, const place *at)
{
    const int64_t rows = at->rows, columns = at->columns;
    const tutti_gemm_row *row = r->plan->row;
    _Alignas(TUTTI_GEMM_ALIGNED) float own[MOST_SUMS], turned[MOST_SUMS];
    b->begin = NULL;
    if (!d->is_first || r->plan->gemm.accumulate) {
        for (int64_t x = 0; x < columns; x++)
            memcpy(turned + x * row->columns, floats_at(r, at->j + x, at->i), (size_t)rows * sizeof *own);
        row->turn(turned, columns, rows, own, row->columns);
        b->begin = own;
    }
    b->sums = own;
    b->begin_apart = b->sums_apart = row->columns;
    row->multiply(b, rows, columns);
    row->turn(own, rows, columns, turned, row->columns);
    put_sums(r, turned, &(place){at->j, at->i, at->columns, at->rows}, d->is_last);
}

/* True if sums are kept in C itself: its vectors are whole, and no bias or map is applied afterwards. */
static bool goes_to_c(const rectangle *r, const depth *d, int64_t columns)
{
    const tutti_gemm *g = &r->plan->gemm;
    return columns % r->plan->row->vector == 0 && g->type_c == TUTTI_F32 && !r->plan->is_turned &&
           (!d->is_last || !(g->bias || g->map));
}

/* Multiplies register blocks whose sums go to C. */
static void multiply_in_c(const rectangle *r, const depth *d, tutti_gemm_block *b, const place *at)
{
    const int64_t rows = at->rows, columns = at->columns;
    b->sums = floats_at(r, at->i, at->j);
    b->begin = !d->is_first || r->plan->gemm.accumulate ? b->sums : NULL;
    b->begin_apart = b->sums_apart = r->plan->gemm.stride_c;
    b->streams = r->plan->streams && (uintptr_t)b->sums % LINE == 0;
    r->plan->row->multiply(b, rows, columns);
}

/* Multiplies a register block whose sums go to a buffer first, and then to C. */
static void multiply_beside(const rectangle *r, const depth *d, tutti_gemm_block *b, const place *at)
{
    const int64_t rows = at->rows, columns = at->columns;
    const tutti_gemm *g = &r->plan->gemm;
    const tutti_gemm_row *row = r->plan->row;
    const bool goes_on = !d->is_first || g->accumulate, is_whole = columns % row->vector == 0;
    _Alignas(TUTTI_GEMM_ALIGNED) float own[MOST_SUMS];
    b->begin = goes_on ? floats_at(r, at->i, at->j) : NULL;
    b->begin_apart = g->stride_c;
    b->sums = own;
    b->sums_apart = row->columns;
    if (goes_on && !is_whole) {
        for (int64_t y = 0; y < rows; y++)
            memcpy(own + y * row->columns, b->begin + y * g->stride_c, (size_t)columns * sizeof *own);
        b->begin = own;
        b->begin_apart = row->columns;
    }
    row->multiply(b, rows, columns);
    put_sums(r, own, at, d->is_last);
}

/* ---- prefetching while something else is multiplied ---- */

static tutti_gemm_fetched fetch_packed(const tutti_gemm_cell *cells, int64_t ncells, int64_t lines)
{
    return (tutti_gemm_fetched){.at = (const char *)cells,
                                .i = LINE,
                                .p = LINE * LINE_CELLS,
                                .left = up(ncells, lines * LINE_CELLS),
                                .of_side = 1,
                                .of_this = 1,
                                .apart = lines * LINE};
}

/* Describes memory of a matrix to fetch: n rows of A, or columns of B, from i on, over the part d of k. The memory is
 * fetched in parts of `lines` cache lines. */
static tutti_gemm_fetched fetch_matrix(const tutti_gemm_source *s, int64_t i, int64_t n, const depth *d, int64_t lines)
{
    const int64_t size = (int64_t)tutti_dtype_bytes(s->type), apart = s->apart_i * size, down = s->apart_p * size;
    const bool by_k = s->apart_p == 1;
    /* distance between parts along k: in bytes if neighbours of k lie side by side (by_k), else in elements of k */
    const int64_t along = by_k ? lines * LINE / LINE_CELLS : lines;
    const int64_t parts = along ? up(by_k ? d->nk * size : d->nk, along) : 1;
    tutti_gemm_fetched f = {.at = (const char *)s->from + i * apart + d->p * down, .of_side = parts, .of_this = parts};
    f.i = by_k ? apart : parts * down;
    f.p = by_k ? LINE : f.i * LINE_CELLS;
    f.left = (by_k ? up(n, LINE_CELLS) : up(n * size, LINE)) * parts;
    f.apart = by_k ? LINE_CELLS * apart : LINE;
    f.along = by_k ? along : down;
    return f;
}

static tutti_gemm_fetched find_fetched(const rectangle *r, tutti_gemm_operand which, int64_t i, int64_t n,
                                       const depth *d)
{
    const tutti_gemm_plan *plan = r->plan;
    const bool is_a = which == TUTTI_GEMM_A;
    const tutti_gemm_cell *packed = is_a ? r->packed_a : r->packed_b;
    if (!plan->row->fetch) return (tutti_gemm_fetched){0};
    const int64_t lines = up(d->steps, plan->row->fetch), panel = panel_of(plan, which);
    if (packed)
        return fetch_packed(packed + packed_at(plan, which, i, d->p, d->nk), up(n, panel) * panel * d->steps, lines);
    return fetch_matrix(is_a ? &r->a : &r->b, i, n, d, lines);
}

/* The order of the register blocks of a block of C. A panel of one operand stays in the cache while all panels of the
 * other pass; row->b_stays says which one stays. */
typedef struct {
    int64_t i0, i1, j0, j1;
    bool b_stays;
    int64_t nstaying, npassing; /* number of panels of the operand that stays in the cache, and of the other operand */
} sweep;

static sweep sweep_of(const tutti_gemm_plan *plan, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const int64_t down = up(i1 - i0, plan->row->rows), across = up(j1 - j0, plan->row->columns);
    const bool b_stays = tutti_gemm_b_stays(plan);
    return (sweep){i0, i1, j0, j1, b_stays, b_stays ? across : down, b_stays ? down : across};
}

/* Finds the row *i and the column *j of C at which the register block of these two panels begins. stays: number of the
 * panel of the operand that stays in the cache; passes: number of the other operand's panel. */
static void place_of(const rectangle *r, const sweep *s, int64_t stays, int64_t passes, int64_t *i, int64_t *j)
{
    *i = s->i0 + (s->b_stays ? passes : stays) * r->plan->row->rows;
    *j = s->j0 + (s->b_stays ? stays : passes) * r->plan->row->columns;
}

/* Returns the sums of the register block that follows the block of panels `stays` and `passes`. Returns NULL if there
 * is none, or if sums do not go to C one by one. */
static float *sums_behind(const rectangle *r, const sweep *s, int64_t stays, int64_t passes)
{
    int64_t i, j;
    if (r->plan->gemm.type_c != TUTTI_F32 || r->plan->is_turned || r->plan->streams) return NULL;
    if (++passes == s->npassing) stays++, passes = 0;
    if (stays == s->nstaying) return NULL;
    place_of(r, s, stays, passes, &i, &j);
    return floats_at(r, i, j);
}

/* Describes the memory to fetch if A is read from the matrix without packing: the panels after the current one. They
 * are fetched while the current panel is read for the first time. */
static tutti_gemm_fetched fetch_in_place(const rectangle *r, const depth *d, const sweep *s, int64_t stays)
{
    const int64_t rows = r->plan->row->rows, below = s->i0 + (stays + 1) * rows;
    if (r->packed_a || r->plan->copies_a || below >= s->i1 || (s->b_stays && stays)) return (tutti_gemm_fetched){0};
    tutti_gemm_fetched f = find_fetched(r, TUTTI_GEMM_A, below, s->b_stays ? s->i1 - below : rows, d);
    f.blocks = s->b_stays ? 0 : s->npassing;
    return f;
}

/* Multiplies rows i0 .. i1 and columns j0 .. j1 of C. One call computes all register blocks of one size that go to
 * C. */
static void multiply_panels(const rectangle *r, const depth *d, const panels *a, const panels *b, const sweep *s,
                            tutti_gemm_fetched next)
{
    const tutti_gemm_row *row = r->plan->row;
    const panels last = panels_packed(r->plan, TUTTI_GEMM_A, a->last, d);
    tutti_gemm_fetched fetch[2] = {next};
    fetch[0].blocks = s->nstaying * s->npassing;
    for (int64_t stays = 0; stays < s->nstaying; stays++) {
        fetch[1] = fetch_in_place(r, d, s, stays);
        for (int64_t passes = 0, n; passes < s->npassing; passes += n) {
            int64_t i, j;
            place_of(r, s, stays, passes, &i, &j);
            const int64_t rows = least(row->rows, s->i1 - i), columns = least(row->columns, s->j1 - j);
            const panels *of = a->last && rows < row->rows ? &last : a;
            const bool in_c = goes_to_c(r, d, columns);
            const int64_t whole = s->b_stays ? (s->i1 - i) / row->rows : (s->j1 - j) / row->columns;
            n = in_c && whole ? whole : 1;
            tutti_gemm_block block = {.a = of == a ? a->at + (i - s->i0) / row->rows * a->panel : last.at,
                                      .a_i = of->apart_i,
                                      .a_p = of->apart_p,
                                      .b = b->at + (j - s->j0) / row->columns * b->panel,
                                      .b_p = b->apart_p,
                                      .steps = d->steps,
                                      .more = n - 1,
                                      .next_a = s->b_stays ? a->panel : 0,
                                      .next_b = s->b_stays ? 0 : b->panel,
                                      .next_c = s->b_stays ? row->rows * r->plan->gemm.stride_c : row->columns,
                                      .next_sums = sums_behind(r, s, stays, passes + n - 1),
                                      .fetch = fetch};
            (r->plan->is_turned ? multiply_turned
             : in_c             ? multiply_in_c
                                : multiply_beside)(r, d, &block, &(place){i, j, rows, columns});
        }
    }
}

static depth depth_at(const tutti_gemm_plan *plan, int64_t p)
{
    const int64_t k = plan->gemm.k, nk = least(plan->block_k, k - p);
    return (depth){p, nk, tutti_gemm_steps(plan->row, nk), p == 0, p + nk == k};
}

/* Describes the next block of B to fetch. That may be the first block of the next product of the batch. */
static tutti_gemm_fetched fetch_next_b(const rectangle *r, int64_t j, const depth *d)
{
    const tutti_gemm_plan *plan = r->plan;
    const depth next = d->is_last ? depth_at(plan, 0) : depth_at(plan, d->p + d->nk);
    rectangle of = *r;
    if (d->is_last) j += plan->block_n;
    if (j >= r->n1) {
        if (!r->next_b.from) return (tutti_gemm_fetched){0};
        of.b = r->next_b;
        j = r->n0;
    }
    return find_fetched(&of, TUTTI_GEMM_B, j, least(plan->block_n, r->n1 - j), &next);
}

static void multiply_rectangle(const rectangle *r)
{
    const tutti_gemm_plan *plan = r->plan;
    const int64_t k = plan->gemm.k;
    for (int64_t j = r->n0; j < r->n1; j += plan->block_n)
        for (int64_t p = 0; p == 0 || p < k; p += plan->block_k) {
            const int64_t nj = least(plan->block_n, r->n1 - j);
            const depth d = depth_at(plan, p);
            const panels b = find_panels(r, TUTTI_GEMM_B, j, nj, &d);
            for (int64_t i = r->m0; i < r->m1; i += plan->block_m) {
                const int64_t ni = least(plan->block_m, r->m1 - i), below = i + ni;
                const panels a = find_panels(r, TUTTI_GEMM_A, i, ni, &d);
                const tutti_gemm_fetched next =
                    below < r->m1 ? find_fetched(r, TUTTI_GEMM_A, below, least(plan->block_m, r->m1 - below), &d)
                                  : fetch_next_b(r, j, &d);
                const sweep s = sweep_of(plan, i, below, j, j + nj);
                multiply_panels(r, &d, &a, &b, &s, next);
            }
        }
}

/* ---- threads ---- */

typedef struct {
    const tutti_gemm_plan *plan;
    const tutti_gemm_operands *operands;
    char *workspace;
} job;

/* Cuts n into `of` parts of whole panels. Part `which` is [*from, *to). */
static void cut(int64_t n, int64_t panel, int64_t which, int64_t of, int64_t *from, int64_t *to)
{
    const int64_t whole = up(n, panel);
    *from = least(n, whole * which / of * panel);
    *to = least(n, whole * (which + 1) / of * panel);
}

static const tutti_gemm_cell *find_packed(const tutti_gemm_plan *plan, tutti_gemm_operand which, const void *packed,
                                          int64_t product)
{
    const bool is_a = which == TUTTI_GEMM_A, one = !(is_a ? plan->gemm.apart_a : plan->gemm.apart_b);
    const char *at =
        (const char *)packed + (one ? 0 : (size_t)product * (is_a ? plan->packed_a_bytes : plan->packed_b_bytes));
    const packed_label label = label_of(plan, which);
    assert(memcmp(at, &label, sizeof label) == 0); /* a packed operand must carry the label of this plan */
    return (const tutti_gemm_cell *)(const void *)(at + TUTTI_GEMM_ALIGNED);
}

static rectangle rectangle_of(const job *w, int64_t product, bool is_last)
{
    const tutti_gemm_plan *plan = w->plan;
    const tutti_gemm *g = &plan->gemm;
    const tutti_gemm_operands *o = w->operands;
    const void *a = plan->is_turned ? o->b : o->a, *b = plan->is_turned ? o->a : o->b;
    rectangle r = {.plan = plan, .bias = o->bias};
    if (g->packed_a)
        r.packed_a = find_packed(plan, TUTTI_GEMM_A, a, product);
    else
        r.a = tutti_gemm_source_of(g, TUTTI_GEMM_A, a, product);
    if (g->packed_b)
        r.packed_b = find_packed(plan, TUTTI_GEMM_B, b, product);
    else
        r.b = tutti_gemm_source_of(g, TUTTI_GEMM_B, b, product);
    if (!g->packed_b && !is_last && g->apart_b) r.next_b = tutti_gemm_source_of(g, TUTTI_GEMM_B, b, product + 1);
    r.c = (char *)o->c + (size_t)(g->apart_c * product) * tutti_dtype_bytes(g->type_c);
    return r;
}

/* Computes team t's part of the work: its rectangle of C, in each of its products. */
static void multiply_team(const job *w, int64_t t)
{
    const tutti_gemm_plan *plan = w->plan;
    const tutti_gemm *g = &plan->gemm;
    const int64_t m = t % plan->nteams_m, n = t / plan->nteams_m % plan->nteams_n,
                  batch = t / plan->nteams_m / plan->nteams_n;
    const int64_t first = g->batch * batch / plan->nteams_batch, end = g->batch * (batch + 1) / plan->nteams_batch;
    char *own = w->workspace + (size_t)t * plan->thread_bytes;
    for (int64_t product = first; product < end; product++) {
        rectangle r = rectangle_of(w, product, product + 1 == end);
        cut(g->m, plan->row->rows, m, plan->nteams_m, &r.m0, &r.m1);
        cut(g->n, plan->row->columns, n, plan->nteams_n, &r.n0, &r.n1);
        r.block_a = (tutti_gemm_cell *)(void *)own;
        r.block_b = (tutti_gemm_cell *)(void *)(own + plan->block_a_bytes);
        multiply_rectangle(&r);
    }
}

static void multiply_teams(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *w = arg;
    const tutti_gemm_row *row = w->plan->row;
    _Alignas(TUTTI_GEMM_ALIGNED) char before[TUTTI_GEMM_ALIGNED];
    (void)thread;
    if (row->enter) row->enter(before);
    for (int64_t t = begin; t < end; t++) multiply_team(w, t);
    if (row->leave) row->leave(before);
}

void tutti_gemm_run(const tutti_gemm_plan *plan, const tutti_gemm_operands *operands, void *workspace)
{
    job w = {plan, operands, workspace};
    const int64_t nteams = (int64_t)plan->nteams_batch * plan->nteams_m * plan->nteams_n;
    tutti_crew_run(plan->gemm.nthreads, nteams, multiply_teams, &w);
}
