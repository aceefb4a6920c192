/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_plan.c: plans a matrix product: its row of loops, its blocks, its threads, and which operands are packed. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "gemm_impl.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- rows ---- */

#if defined(TUTTI_X86_LOOPS)
const tutti_gemm_row *const tutti_gemm_rows[] = {
    &tutti_gemm_avx512, &tutti_gemm_avx2,        &tutti_gemm_generic,
    &tutti_gemm_amx,    &tutti_gemm_avx512_bf16, &tutti_gemm_tiles,
};
#else
const tutti_gemm_row *const tutti_gemm_rows[] = {&tutti_gemm_generic, &tutti_gemm_tiles};
#endif
const int tutti_gemm_nrows = sizeof tutti_gemm_rows / sizeof *tutti_gemm_rows;

static const tutti_gemm_row *find_row(const char *name)
{
    for (int i = 0; i < tutti_gemm_nrows; i++)
        if (strcmp(tutti_gemm_rows[i]->name, name) == 0) return tutti_gemm_rows[i];
    return NULL;
}

const char *tutti_gemm_row_name(int i)
{
    return i >= 0 && i < tutti_gemm_nrows ? tutti_gemm_rows[i]->name : NULL;
}

bool tutti_gemm_row_is_here(const char *name)
{
    const tutti_gemm_row *row = find_row(name);
    return row && row->is_here();
}

const tutti_gemm_row *tutti_gemm_fastest(tutti_dtype multiplied)
{
    for (int i = 0; i < tutti_gemm_nrows; i++)
        if (tutti_gemm_rows[i]->multiplied == multiplied && tutti_gemm_rows[i]->is_here()) return tutti_gemm_rows[i];
    return NULL;
}

bool tutti_gemm_multiplies(tutti_dtype type)
{
    return tutti_gemm_fastest(type) != NULL;
}

tutti_dtype tutti_gemm_row_type(const char *name)
{
    const tutti_gemm_row *row = find_row(name);
    return row ? row->multiplied : TUTTI_F32;
}

const char *tutti_gemm_plan_row(const tutti_gemm_plan *plan)
{
    return plan->row->name;
}

static tutti_status pick_row(const tutti_gemm *g, const tutti_gemm_row **row, tutti_failure *err)
{
    *row = g->row ? find_row(g->row) : tutti_gemm_fastest(g->multiplied);
    if (g->row && !(*row && (*row)->is_here()))
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: there is no row %s %s", g->row,
                          *row ? "on this processor, or TUTTI_ISA rules it out" : "in this build");
    if (*row && (*row)->multiplied != g->multiplied)
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: row %s multiplies %s, not %s", g->row,
                          tutti_dtype_name((*row)->multiplied), tutti_dtype_name(g->multiplied));
    if (!*row)
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: no row multiplies %s; there are f32 and bf16",
                          tutti_dtype_name(g->multiplied));
    return TUTTI_OK;
}

/* ---- checks of the request ---- */

static bool is_real(tutti_dtype type)
{
    return type == TUTTI_F32 || type == TUTTI_BF16 || type == TUTTI_F16;
}

static tutti_status check(const tutti_gemm *g, tutti_failure *err)
{
    enum { MOST = INT32_MAX };
    if (g->m < 1 || g->n < 1 || g->k < 0 || g->batch < 0 || g->m > MOST || g->n > MOST || g->k > MOST ||
        g->batch > MOST)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "matrix product of (%" PRId64 ", %" PRId64 ") and (%" PRId64 ", %" PRId64 "), %" PRId64
                          " times: sizes are 1 .. 2^31 - 1, k may be 0",
                          g->m, g->k, g->k, g->n, g->batch);
    const int64_t row_a = g->transpose_a ? g->m : g->k, row_b = g->transpose_b ? g->k : g->n;
    if ((g->stride_a && g->stride_a < row_a) || (g->stride_b && g->stride_b < row_b) ||
        (g->stride_c && g->stride_c < g->n))
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: a stride is shorter than its row");
    if (!is_real(g->type_a) || !is_real(g->type_b) || !is_real(g->type_c))
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: matrices are f32, bf16 or f16");
    if (g->accumulate && (g->type_c != TUTTI_F32 || g->bias || g->map))
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product: what is summed into is f32, without bias and map");
    if (g->nthreads < 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "matrix product by %d threads: at least 1", g->nthreads);
    return TUTTI_OK;
}

/* Replaces zeros in the request by the defaults that they stand for. */
static void fill_in(tutti_gemm *g)
{
    if (!g->stride_a) g->stride_a = g->transpose_a ? g->m : g->k;
    if (!g->stride_b) g->stride_b = g->transpose_b ? g->k : g->n;
    if (!g->stride_c) g->stride_c = g->n;
    if (!g->batch) g->batch = 1;
}

/* ---- which operand takes which role ---- */

/* True if it is faster to turn the product, that is, to compute C^T with B as the left operand. The loops read the left
 * operand where it lies if neighbours of k lie side by side, but they pack the right operand. So turning pays if A is
 * much smaller than B. For rows with vectors (not tiles), measurements showed that turning pays if the rows of C fill
 * panels, and if k is long compared with the cost of transposing the sums. */
static bool is_better_turned(const tutti_gemm *g, const tutti_gemm_row *row)
{
    enum {
        FEW_ROWS = 128,
        FEW_ROWS_OF_VECTORS = 64,
        MOST_WASTE = 4 /* at most one of MOST_WASTE rows of the panels may be filling */
    };
    if (!row->turns || g->packed_a || g->packed_b || !g->transpose_b || g->type_b != g->multiplied) return false;
    if (g->k % row->step || g->stride_b % row->pair || g->n < 4 * g->m) return false;
    if (row->a_in_tiles) return g->m <= FEW_ROWS;
    const int64_t waste = round_up(g->m, row->columns) - g->m,
                  parts = g->k > row->block_k ? MOST_WASTE : 2 * MOST_WASTE;
    return g->m <= FEW_ROWS_OF_VECTORS && g->k > row->block_k / 2 && waste * parts <= g->m;
}

static void turn(tutti_gemm_plan *plan)
{
    const tutti_gemm g = plan->gemm;
    tutti_gemm *to = &plan->gemm;
    plan->is_turned = true;
    to->m = g.n, to->n = g.m;
    to->transpose_a = !g.transpose_b, to->transpose_b = !g.transpose_a;
    to->stride_a = g.stride_b, to->stride_b = g.stride_a;
    to->apart_a = g.apart_b, to->apart_b = g.apart_a;
    to->type_a = g.type_b, to->type_b = g.type_a;
}

/* ---- blocks ---- */

static int64_t cache_bytes(int name, int64_t otherwise)
{
    const long nbytes = sysconf(name);
    return nbytes > 0 ? nbytes : otherwise;
}

bool tutti_gemm_b_stays(const tutti_gemm_plan *plan)
{
    return plan->row->b_stays && !plan->is_turned;
}

/* Makes all blocks of rows about equally large. All panels of B are read once for each block of rows, so a last block
 * of few rows would be expensive. The number of blocks is rounded to the nearest whole number, so a block grows by at
 * most a half. */
static void even_rows(tutti_gemm_plan *plan)
{
    const int64_t m = (plan->gemm.m + plan->nteams_m - 1) / plan->nteams_m,
                  n = (2 * m + plan->block_m) / (2 * plan->block_m);
    if (!tutti_gemm_b_stays(plan)) return;
    if (n > 0) plan->block_m = round_up((m + n - 1) / n, plan->row->rows);
}

/* Chooses the blocks. With vectors, the block of A takes half of the second-level cache and the block of B a part of
 * the third, which cores share. Tiles read faster than the third level delivers: there the block of B takes half of the
 * second level, beside a quarter for A. If C has 16 bits, each sum must be rounded only once, so all of k is one
 * block. */
static void choose_blocks(tutti_gemm_plan *plan)
{
    enum { MOST_B = 4 << 20 };
    const tutti_gemm *g = &plan->gemm;
    const tutti_gemm_row *row = plan->row;
    const int64_t second = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 256 << 10),
                  third = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 2 << 20), cell = sizeof(tutti_gemm_cell);
    /* with vectors, transposing the sums back and forth costs as much as about 50 steps of k */
    const int64_t block_k = plan->is_turned && !row->a_in_tiles ? 2 * row->block_k : row->block_k;
    plan->block_k = g->type_c == TUTTI_F32 || g->k < block_k ? block_k : round_up(g->k, row->step);
    /* with vectors, a row of cells counts one byte more, so that no block fills its share of a cache completely and a
     * panel still fits beside it */
    const int64_t left = row->a_in_tiles ? 0 : 1;
    const int64_t cells = tutti_gemm_steps(row, least(plan->block_k, g->k)), line = cells ? cells * cell + left : 1;
    const int64_t most_a = second / 4, most_b = row->a_in_tiles ? second / 2 : least(third / 8, MOST_B);
    const int64_t rows = most_a / line / row->rows, columns = most_b / line / row->columns;
    plan->block_m = (rows < 1 ? 1 : rows) * row->rows;
    plan->block_n = (columns < 1 ? 1 : columns) * row->columns;
}

/* floats in one way of the first-level cache. Rows that lie PAGE floats apart compete for the same sets, also in the
 * second level */
enum { PAGE = 1024 };

/* Makes the block of B small enough for the second-level cache if C has few rows. Such a block is read only a few
 * times, so its first read from memory is a large part of the cost. The block takes half of that cache; the other half
 * is for a block of k of all rows of A, which is copied again for each block of B. If rows of B compete for cache sets,
 * blocks are larger, so that long pieces are packed at once. With tiles this was not measured, so their blocks stay as
 * they are. */
static void keep_b_near(tutti_gemm_plan *plan)
{
    const tutti_gemm *g = &plan->gemm;
    const int64_t second = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 256 << 10), panel = plan->row->columns;
    const int64_t line = tutti_gemm_steps(plan->row, least(plan->block_k, g->k)) * (int64_t)sizeof(tutti_gemm_cell);
    const bool is_far = !g->packed_b && !g->transpose_b && g->stride_b % PAGE == 0;
    const bool is_read_again = plan->copies_b || (g->packed_b && !tutti_gemm_b_stays(plan));
    if (plan->row->a_in_tiles || !is_read_again || g->m * line > second / 4) return;
    const int64_t columns = (is_far ? 2 * second : second / 2) / (line + 1) / panel * panel;
    plan->block_n = least(plan->block_n, columns < panel ? panel : columns);
}

/* ---- threads ---- */

/* Gives threads to different products of the batch first. If there are more threads than products, each product's C is
 * cut so that threads pack as few elements twice as possible: into the parts that are most nearly square. */
static void choose_teams(tutti_gemm_plan *plan)
{
    const tutti_gemm *g = &plan->gemm;
    const int64_t down = (g->m + plan->row->rows - 1) / plan->row->rows,
                  across = (g->n + plan->row->columns - 1) / plan->row->columns;
    int64_t best = INT64_MAX;
    plan->nteams_batch = (int)least(g->nthreads, g->batch);
    const int64_t each = g->nthreads / plan->nteams_batch;
    plan->nteams_m = plan->nteams_n = 1;
    for (int64_t m = 1; m <= least(each, down); m++) {
        const int64_t n = least(each / m, across);
        const int64_t largest = ((down + m - 1) / m) * ((across + n - 1) / n), packed = g->m * n + g->n * m;
        const int64_t cost = largest * plan->row->rows * plan->row->columns * g->nthreads * 8 + packed;
        if (cost >= best) continue;
        best = cost;
        plan->nteams_m = (int)m;
        plan->nteams_n = (int)n;
    }
}

/* ---- packing ---- */

tutti_gemm_source tutti_gemm_source_of(const tutti_gemm *g, tutti_gemm_operand which, const void *matrix,
                                       int64_t product)
{
    const bool is_a = which == TUTTI_GEMM_A,
               along = is_a ? !g->transpose_a : g->transpose_b; /* true if neighbours along k lie side by side */
    const int64_t stride = is_a ? g->stride_a : g->stride_b, apart = is_a ? g->apart_a : g->apart_b;
    tutti_gemm_source s = {
        .type = is_a ? g->type_a : g->type_b, .apart_i = along ? stride : 1, .apart_p = along ? 1 : stride};
    s.from = (const char *)matrix + (size_t)(apart * product) * tutti_dtype_bytes(s.type);
    return s;
}

int64_t tutti_gemm_steps(const tutti_gemm_row *row, int64_t nk)
{
    return round_up(nk, row->step) / row->pair;
}

/* True if C has too few rows for packing B to pay (measured: bench/kernels/NOTES.md). The limit is lower if panels of B
 * are to stay in the first-level cache and every fourth row of B competes for the same sets. */
static bool reads_b_too_seldom(const tutti_gemm_plan *plan)
{
    enum { FEW_ROWS = 128, FEWER = 95, FEWEST = 47 };
    const tutti_gemm *g = &plan->gemm;
    const bool falls = tutti_gemm_b_stays(plan) && g->stride_b % (PAGE / 4) == 0;
    return g->m / plan->nteams_m <= (!falls ? FEW_ROWS : g->k > plan->block_k ? FEWEST : FEWER);
}

/* True if the operand is packed, false if it is read in place. Only a matrix whose elements are cells already can be
 * read in place; pairs of bf16 are cells if neighbours of k lie side by side and no row ends within a pair. Such an A
 * is read in place, except if its rows compete for sets of the first-level cache. A turned product has no such
 * exception: its six rows leave two of the cache's eight ways free. Such a B is read in place if it is read seldom. */
static bool copies(const tutti_gemm_plan *plan, tutti_gemm_operand which)
{
    const tutti_gemm *g = &plan->gemm;
    const tutti_gemm_row *row = plan->row;
    const int64_t pair = row->pair;
    const bool is_far = !row->a_in_tiles && !plan->is_turned && g->stride_a % (PAGE * pair) == 0;
    if (which == TUTTI_GEMM_A ? g->packed_a : g->packed_b) return false;
    const tutti_dtype type = which == TUTTI_GEMM_A ? g->type_a : g->type_b;
    if (!plan->row->reads_in_place || type != g->multiplied) return true;
    if (which == TUTTI_GEMM_A) return g->transpose_a || g->k % row->step || g->stride_a % pair || is_far;
    return pair > 1 || g->transpose_b || g->n % plan->row->vector || !reads_b_too_seldom(plan) ||
           g->stride_b % PAGE == 0;
}

static int64_t aligned(int64_t nbytes)
{
    return round_up(nbytes, TUTTI_GEMM_ALIGNED);
}

static int64_t block_bytes(const tutti_gemm_plan *plan, int64_t side, int64_t panel)
{
    const int64_t nk = least(plan->block_k, plan->gemm.k);
    return aligned(round_up(side, panel) * tutti_gemm_steps(plan->row, nk) * (int64_t)sizeof(tutti_gemm_cell));
}

/* True if stores of C bypass the caches, because C is too large to stay in the third-level cache. False with vectors of
 * half a cache line, because each half line would go to memory by itself (Zen 3: with k = 64 it took a fifth
 * longer). */
static bool streams(const tutti_gemm_plan *plan)
{
    /* LINE: floats of a cache line. MOST: upper limit of the third-level cache, in bytes, because the system may report
     * the size of all processors' caches together */
    enum { LINE = 16, MOST = 32 << 20 };
    const tutti_gemm *g = &plan->gemm;
    const int64_t third = least(cache_bytes(_SC_LEVEL3_CACHE_SIZE, 2 << 20), MOST);
    const int64_t passing =
        g->batch * (g->m * g->n * (int64_t)sizeof(float) + g->m * g->k * (int64_t)tutti_dtype_bytes(g->type_a));
    if (plan->row->a_in_tiles || plan->is_turned || g->type_c != TUTTI_F32 || g->accumulate || g->bias || g->map)
        return false;
    if (plan->row->vector < LINE) return false;
    return g->k <= plan->block_k && g->stride_c % LINE == 0 && passing > third / 2;
}

tutti_status tutti_gemm_plan_make(const tutti_gemm *gemm, tutti_gemm_plan *plan, tutti_failure *err)
{
    /* number of panels in a block, for a B that is read in place: neighbouring panels read the same rows, so these are
     * still in a cache */
    enum { FEW_PANELS = 4 };
    tutti_gemm_plan made = {.gemm = *gemm};
    tutti_status st = check(gemm, err);
    if (st == TUTTI_OK) st = pick_row(gemm, &made.row, err);
    if (st != TUTTI_OK) return st;
    const tutti_gemm *g = &made.gemm;
    const tutti_gemm_row *row = made.row;
    fill_in(&made.gemm);
    if (is_better_turned(g, row)) turn(&made);
    choose_blocks(&made);
    choose_teams(&made);
    even_rows(&made);
    made.copies_a = copies(&made, TUTTI_GEMM_A);
    made.copies_b = copies(&made, TUTTI_GEMM_B);
    keep_b_near(&made);
    if (!made.copies_b && !g->packed_b) made.block_n = FEW_PANELS * row->columns;
    made.streams = streams(&made);
    made.packed_a_bytes = (size_t)tutti_gemm_packed_bytes(&made, TUTTI_GEMM_A);
    made.packed_b_bytes = (size_t)tutti_gemm_packed_bytes(&made, TUTTI_GEMM_B);
    if (made.copies_a)
        made.block_a_bytes = (size_t)block_bytes(&made, least(made.block_m, g->m), row->rows);
    else if (row->a_in_tiles && !g->packed_a && g->m % row->vector)
        /* A is read in place, and only its last panel is packed, because it is not full */
        made.block_a_bytes = (size_t)block_bytes(&made, row->rows, row->rows);
    made.thread_bytes = made.block_a_bytes;
    if (made.copies_b) made.thread_bytes += (size_t)block_bytes(&made, least(made.block_n, g->n), row->columns);
    made.workspace_bytes = made.thread_bytes * (size_t)(made.nteams_batch * made.nteams_m * made.nteams_n);
    *plan = made;
    return TUTTI_OK;
}
