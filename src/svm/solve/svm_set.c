/* SPDX-License-Identifier: Apache-2.0 */
/* svm_set.c: the working set: slots of its members, their kernel matrix, and what their optimisation does to all
 * gradients.
 *
 * In a full set most members stay where they are. The slots of the oldest members change hands, and so most of the
 * matrix stays, too:
 *
 *          kept    new
 *   kept    .    mirrored
 *   new   computed  computed
 *
 * New rows are computed against all members; the new columns of kept rows are their mirror image. In the first round,
 * and when few violators are left, the kept members move to the front, the new ones follow, and the whole matrix is
 * computed. A precomputed matrix need not be symmetric, so it is always computed whole: the set's matrix follows from
 * its members alone.
 *
 * A member's gradient on all ranks is that of the local optimisation: the same number everywhere. Up to rounding it is
 * what the sum over all changed members would give. */
#include <string.h>

#include "svm_context.h"
#include "svm_pairs.h"

/* Returns the slot of the i-th oldest member. */
static int slot_of_age(const tutti_svm_state *state, int i)
{
    return (state->next + i) % state->nmembers;
}

static int64_t own_position(const tutti_svm_solver *s, int slot)
{
    return s->owned[slot] < 0 ? -1 : s->state.position[s->owned[slot]];
}

void tutti_svm_set_shrink(tutti_svm_solver *s, int keep)
{
    const tutti_svm_state *state = &s->state;
    for (int i = 0; i < state->nmembers - keep; i++) {
        const int64_t k = own_position(s, slot_of_age(state, i));
        if (k >= 0) state->sides[k] &= (uint8_t)~TUTTI_SVM_MEMBER;
    }
}

/* --- computing the kernel matrix --- */

typedef struct {
    const tutti_svm_solver *s;
    const tutti_svm_rows *targets;
    char *out;
} block_of_rows;

static void fill_part(void *arg, int64_t begin, int64_t end)
{
    const block_of_rows *b = arg;
    const tutti_svm_targets targets = {b->targets, b->s->at, begin, end};
    tutti_svm_tile_values(b->s->e->tile, &targets, b->out, b->s->stride);
}

enum { SQUARE = 16 }; /* side of a square that is mirrored at once: it stays in the first-level cache */

static void mirror_f32(float *m, int64_t stride, int64_t row, int64_t column)
{
    for (int64_t c = column; c < column + SQUARE; c++)
        for (int64_t r = row; r < row + SQUARE; r++) m[c * stride + r] = m[r * stride + c];
}

static void mirror_f64(double *m, int64_t stride, int64_t row, int64_t column)
{
    for (int64_t c = column; c < column + SQUARE; c++)
        for (int64_t r = row; r < row + SQUARE; r++) m[c * stride + r] = m[r * stride + c];
}

/* Copies rows [first, first + n) of columns [begin, end) to the mirrored places. */
static void mirror(const tutti_svm_solver *s, int first, int n, int begin, int end)
{
    for (int column = begin; column < end; column += SQUARE)
        for (int row = first; row < first + n; row += SQUARE)
            if (s->e->precision == TUTTI_SVM_F32)
                mirror_f32(s->matrix, s->stride, row, column);
            else
                mirror_f64(s->matrix, s->stride, row, column);
}

/* Computes rows [first, first + n) against all members. Columns [first, first + n) of the other rows are their mirror
 * image. */
static void fill_matrix(tutti_svm_solver *s, int first, int n)
{
    tutti_svm_context *e = s->e;
    const int members = s->state.nmembers;
    const tutti_svm_rows sources = tutti_svm_store_sources(&s->store);
    const tutti_svm_rows targets = tutti_svm_store_targets(e, &s->store);
    for (int row = first; row < first + n; row += e->lanes) {
        const int many = first + n - row < e->lanes ? first + n - row : e->lanes;
        block_of_rows b = {s, &targets, (char *)s->matrix + (size_t)(row * s->stride) * e->value_bytes};
        tutti_svm_tile_fill(e->tile, &sources, s->at + row, 0, many);
        tutti_pool_for(e->pool, members, fill_part, &b);
    }
    if (n == members) return;
    mirror(s, first, n, 0, first);
    mirror(s, first, n, first + n, members);
}

/* --- moving slots and fetching members' rows --- */

/* Drops the rows of members that left, and fetches the rows of the picks, rank by rank, behind the rows that stay.
 * Collective. */
static tutti_status fetch_rows(tutti_svm_solver *s, int first, const int32_t *kept_slots, int nkept, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    int64_t n = 0, base = 0;
    for (int64_t i = 0; i < s->store.n; i++) s->kept[i] = -1;
    for (int i = 0; i < nkept; i++) s->kept[s->at[kept_slots[i]]] = 0;
    tutti_svm_store_keep(&s->store, s->kept);
    for (int i = 0; i < nkept; i++) s->at[kept_slots[i]] = s->kept[s->at[kept_slots[i]]];
    base = s->store.n;
    for (int r = 0; r < e->nranks; r++) e->nrows_of[r] = e->entries_of[r] = 0;
    for (int i = 0; i < s->npicks; i++) {
        const tutti_svm_pick *p = &s->pick[i];
        e->nrows_of[p->rank]++, e->entries_of[p->rank] += p->is.entries;
        if (p->rank == e->rank) s->mine[n++] = s->target[p->position];
    }
    const tutti_status st = tutti_svm_travel(e, &s->store, s->mine, n, err);
    for (int r = 0; r < e->nranks; r++) { /* from here on nrows_of[r] is the place of the next row of rank r */
        const int64_t many = e->nrows_of[r];
        e->nrows_of[r] = base, base += many;
    }
    for (int i = 0; i < s->npicks; i++) s->at[first + i] = (int32_t)e->nrows_of[s->pick[i].rank]++;
    return st;
}

static void put_members(tutti_svm_solver *s, int first)
{
    tutti_svm_state *state = &s->state;
    const tutti_svm_rows rows = tutti_svm_store_sources(&s->store);
    for (int i = 0; i < s->npicks; i++) {
        const tutti_svm_pick *p = &s->pick[i];
        const int slot = first + i;
        const bool positive = p->is.number < s->positives;
        state->member[slot] = p->is.number;
        state->member_alpha[slot] = p->is.alpha, state->member_gamma[slot] = p->is.gamma;
        s->y[slot] = positive ? 1 : -1;
        s->cost[slot] = positive ? s->problem->cost_positive : s->problem->cost_negative;
        s->diagonal[slot] = tutti_svm_tile_diagonal(s->e->tile, &rows, s->at[slot]);
        s->owned[slot] = -1;
        if (p->rank != s->e->rank) continue;
        s->owned[slot] = state->sample[p->position];
        state->sides[p->position] |= TUTTI_SVM_MEMBER;
    }
}

/* Moves the slots from[0 .. n - 1] to the front, in this order. Eight bytes for each member are enough for every field
 * of a slot. */
static void move_slots(tutti_svm_solver *s, const int32_t *from, int n)
{
    tutti_svm_state *state = &s->state;
    double *wide[] = {state->member_alpha, state->member_gamma, s->y, s->cost, s->diagonal};
    int32_t *narrow[] = {s->at, s->owned};
    for (size_t a = 0; a < sizeof wide / sizeof *wide; a++) {
        for (int i = 0; i < n; i++) s->scratch[i] = wide[a][from[i]];
        memcpy(wide[a], s->scratch, sizeof *s->scratch * (size_t)n);
    }
    for (size_t a = 0; a < sizeof narrow / sizeof *narrow; a++) {
        for (int i = 0; i < n; i++) s->changed[i] = narrow[a][from[i]];
        memcpy(narrow[a], s->changed, sizeof *s->changed * (size_t)n);
    }
    int64_t *member = (int64_t *)(void *)s->scratch;
    for (int i = 0; i < n; i++) member[i] = state->member[from[i]];
    memcpy(state->member, member, sizeof *member * (size_t)n);
}

tutti_status tutti_svm_set_admit(tutti_svm_solver *s, int keep, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    const int block = s->e->block, renewed = block - keep;
    const bool whole = state->nmembers < block || s->npicks < renewed || s->e->precomputed;
    const bool in_place = !whole && block % renewed == 0 && renewed % SQUARE == 0;
    int32_t *slots = s->slots;
    for (int i = 0; i < keep; i++) slots[i] = slot_of_age(state, state->nmembers - keep + i);
    int first = state->next;
    if (in_place) {
        state->next = (state->next + renewed) % block;
    } else {
        move_slots(s, slots, keep);
        for (int i = 0; i < keep; i++) slots[i] = i;
        first = keep, state->next = 0;
        state->nmembers = keep + s->npicks;
    }
    const tutti_status st = fetch_rows(s, first, slots, keep, err);
    tutti_svm_charge(&s->e->account, TUTTI_SVM_MOVING);
    if (st) return st;
    put_members(s, first);
    if (in_place)
        fill_matrix(s, first, renewed);
    else
        fill_matrix(s, 0, state->nmembers);
    tutti_svm_charge(&s->e->account, TUTTI_SVM_ALIKE);
    return TUTTI_OK;
}

tutti_status tutti_svm_set_restore(tutti_svm_solver *s, tutti_failure *err)
{
    const tutti_svm_state *state = &s->state;
    const int block = s->e->block, renewal = tutti_svm_set_renewal(block);
    const bool in_place = state->nmembers == block && block % renewal == 0 && renewal % SQUARE == 0;
    if (in_place ? state->next % renewal : state->next)
        return tutti_fail(err, TUTTI_ERR_DATA, "no working set of ours is like the one in it; remove it to begin anew");
    const tutti_status st = fetch_rows(s, 0, NULL, 0, err);
    if (st) return st;
    put_members(s, 0);
    fill_matrix(s, 0, state->nmembers);
    return TUTTI_OK;
}

/* --- optimising the set --- */

/* A round that lowers the objective by less than this share of its total fall only moves rounding errors: a gap of g is
 * worth about g^2, and doubles resolve gaps to 1e-15. */
static const double STEP = 1e-26;

/* Lists the members that changed, in the order of the slots: slot, index among the sources, y times the step. Returns
 * by how much the objective fell. The objective is quadratic, so this is exactly the sum over members of the step times
 * the mean of the gradients before and after it. Steps of y alpha sum to zero, so the same number may be subtracted
 * from all gammas. It is the middle of the gap: then all terms, and their rounding errors, are small. */
static double list_changes(tutti_svm_solver *s, int *nchanged)
{
    const tutti_svm_state *state = &s->state;
    const double middle = (s->b_up + s->b_low) / 2;
    double lower = 0;
    *nchanged = 0;
    for (int c = 0; c < state->nmembers; c++) {
        const double step = state->member_alpha[c] - s->before[c];
        if (step == 0) continue;
        lower -= s->y[c] * step * ((s->y[c] * s->gradient[c] - middle) + (state->member_gamma[c] - middle)) / 2;
        s->slots[*nchanged] = c, s->changed[*nchanged] = s->at[c];
        s->weight[(*nchanged)++] = s->y[c] * step;
    }
    return lower;
}

/* Writes members' values back to the samples. */
static void write_back(tutti_svm_solver *s)
{
    tutti_svm_state *state = &s->state;
    for (int c = 0; c < state->nmembers; c++) {
        state->member_gamma[c] = s->y[c] * s->gradient[c];
        const int64_t k = own_position(s, c);
        if (k < 0) continue;
        state->alpha[k] = state->member_alpha[c], state->gamma[k] = state->member_gamma[c];
        state->sides[k] = tutti_svm_sides(s->y[c], state->alpha[k], s->cost[c]) | TUTTI_SVM_MEMBER;
    }
}

tutti_status tutti_svm_set_optimise(tutti_svm_solver *s, double until, int64_t most, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    const int n = state->nmembers;
    int64_t iterations = 0;
    int nchanged;
    for (int c = 0; c < n; c++) s->gradient[c] = s->y[c] * state->member_gamma[c];
    memcpy(s->before, state->member_alpha, sizeof *s->before * (size_t)n);
    const tutti_svm_pairs pairs = {.n = n,
                                   .y = s->y,
                                   .cost = s->cost,
                                   .diagonal = s->diagonal,
                                   .matrix = s->matrix,
                                   .stride = s->stride,
                                   .precision = s->e->precision,
                                   .until = until,
                                   .most = most,
                                   .alpha = state->member_alpha,
                                   .gradient = s->gradient};
    const tutti_status st = tutti_svm_pairs_run(&pairs, &iterations, err);
    if (st) return st;
    state->iterations += iterations, state->since += iterations;
    const double lower = list_changes(s, &nchanged);
    state->stalled = lower > STEP * state->lowered ? 0 : state->stalled + 1;
    state->lowered += lower;
    tutti_svm_charge(&s->e->account, TUTTI_SVM_ALIKE);
    if (n < state->active) { /* else all active samples are members, whose gradients are known already */
        const tutti_svm_rows sources = tutti_svm_store_sources(&s->store);
        tutti_svm_update(s, &sources, nchanged);
    }
    write_back(s);
    tutti_svm_charge(&s->e->account, TUTTI_SVM_UPDATING);
    return TUTTI_OK;
}
