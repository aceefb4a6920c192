/* SPDX-License-Identifier: Apache-2.0 */
/* svm_select.c: selects the working set: the most violating pair of all ranks and the next worst violators.
 *
 * A violator on the up side has gamma < b_low, on the low side gamma > b_up. A free sample may be on both sides and
 * counts where it is worse, so the sides share no sample. Each rank offers its worst of both sides. From all offers the
 * worst are taken; ties go to the highest number. If all that a rank offered was taken and it has more, all ranks offer
 * twice as many, so the choice is exact. Selection is linear in the samples: only the few chosen samples are sorted. */
#include <math.h>
#include <stdlib.h>

#include "svm_context.h"

/* --- the most violating pair --- */

/* Reverses the order of numbers: among equals argmin takes the lowest index, but the sample with the highest number is
 * to win. */
static int64_t reversed(int64_t number)
{
    return INT64_MAX - number;
}

static void find_own(const tutti_svm_state *state, tutti_f64_at *up, tutti_f64_at *low)
{
    *up = *low = (tutti_f64_at){INFINITY, INT64_MAX};
    bool is_number = true;
    for (int64_t k = 0; k < state->nactive; k++) {
        const double g = state->gamma[k];
        const int64_t number = state->number[k];
        is_number &= g == g;
        if ((state->sides[k] & TUTTI_SVM_UP) && (g < up->value || (g == up->value && number > reversed(up->index))))
            *up = (tutti_f64_at){g, reversed(number)};
        if ((state->sides[k] & TUTTI_SVM_LOW) &&
            (-g < low->value || (-g == low->value && number > reversed(low->index))))
            *low = (tutti_f64_at){-g, reversed(number)};
    }
    if (!is_number) up->value = NAN;
}

tutti_status tutti_svm_find_extremes(tutti_svm_solver *s, int wish, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    tutti_f64_at *found = e->extremes;
    find_own(&s->state, &e->extremes[0], &e->extremes[1]);
    e->extremes[2] = (tutti_f64_at){-wish, 0};
    tutti_svm_charge(&e->account, TUTTI_SVM_CHOOSING);
    if (e->nranks > 1) {
        tutti_status st = tutti_request_start(e->extremes_request, err);
        if (!st) st = tutti_request_wait(e->extremes_request, err);
        tutti_svm_charge_moving(&e->account, sizeof e->agreed);
        if (st) return st;
        found = e->agreed;
    }
    s->b_up = found[0].value, s->b_low = -found[1].value;
    s->worst_up = reversed(found[0].index), s->worst_low = reversed(found[1].index);
    s->wish = (int)-found[2].value;
    if (!isfinite(s->b_up) || !isfinite(s->b_low))
        return tutti_fail(
            err, TUTTI_ERR_DATA,
            "round %lld: gradients are not finite numbers any more: values or parameters of the kernel are "
            "too large; scale the features",
            (long long)s->state.round);
    return TUTTI_OK;
}

/* --- the n smallest keys --- */

static bool is_before(const tutti_svm_key *a, const tutti_svm_key *b)
{
    return a->value < b->value || (a->value == b->value && a->number > b->number);
}

static void swap(tutti_svm_key *a, tutti_svm_key *b)
{
    const tutti_svm_key t = *a;
    *a = *b, *b = t;
}

/* Brings the median of the first, middle and last key to the middle. */
static void order_three(tutti_svm_key *keys, int64_t low, int64_t high)
{
    tutti_svm_key *a = keys + low, *b = keys + low + (high - low) / 2, *c = keys + high;
    if (is_before(b, a)) swap(a, b);
    if (is_before(c, b)) swap(b, c);
    if (is_before(b, a)) swap(a, b);
}

/* Quickselect (Hoare 1961). Keys differ, so both sides shrink. */
void tutti_svm_put_first(tutti_svm_key *keys, int64_t nkeys, int64_t n)
{
    int64_t low = 0, high = nkeys - 1;
    if (n <= 0 || n >= nkeys) return;
    while (low < high) {
        order_three(keys, low, high);
        const tutti_svm_key pivot = keys[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (is_before(&keys[i], &pivot)) i++;
            while (is_before(&pivot, &keys[j])) j--;
            if (i <= j) swap(&keys[i++], &keys[j--]);
        }
        if (n - 1 <= j)
            high = j;
        else if (n - 1 >= i)
            low = i;
        else
            return;
    }
}

/* --- new members --- */

/* Finds violators that are not members: those of the up side from the front, those of the low side from the back. */
static void find_violators(tutti_svm_solver *s, int64_t *nup, int64_t *nlow)
{
    const tutti_svm_state *state = &s->state;
    tutti_svm_key *front = s->keys, *back = s->keys + state->nactive;
    for (int64_t k = 0; k < state->nactive; k++) {
        const uint8_t sides = state->sides[k];
        if (sides & TUTTI_SVM_MEMBER) continue;
        const double g = state->gamma[k];
        const double up = sides & TUTTI_SVM_UP ? s->b_low - g : 0, low = sides & TUTTI_SVM_LOW ? g - s->b_up : 0;
        if (up > 0 && up >= low)
            *front++ = (tutti_svm_key){g, state->number[k], k};
        else if (low > 0)
            *--back = (tutti_svm_key){-g, state->number[k], k};
    }
    *nup = front - s->keys, *nlow = s->keys + state->nactive - back;
}

/* Divides `want` alternately between both sides while both last. */
static void divide(int64_t want, int64_t nup, int64_t nlow, int64_t *up, int64_t *low)
{
    const int64_t half = (want + 1) / 2, others = want - nlow;
    *up = others > half ? others : half;
    if (*up > nup) *up = nup;
    *low = nlow < want - *up ? nlow : want - *up;
}

static tutti_svm_candidate candidate_of(const tutti_svm_solver *s, int64_t k)
{
    const tutti_svm_state *state = &s->state;
    return (tutti_svm_candidate){state->gamma[k], state->alpha[k], state->number[k],
                                 tutti_svm_row_entries(s->e, s->target[k])};
}

static void pick_own(tutti_svm_solver *s, const tutti_svm_key *keys, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = keys[i].position;
        s->pick[s->npicks++] = (tutti_svm_pick){candidate_of(s, k), s->e->rank, k};
    }
}

static void select_alone(tutti_svm_solver *s, int want, int64_t nup, int64_t nlow)
{
    int64_t up, low;
    divide(want, nup, nlow, &up, &low);
    tutti_svm_key *lows = s->keys + s->state.nactive - nlow;
    tutti_svm_put_first(s->keys, nup, up);
    tutti_svm_put_first(lows, nlow, low);
    pick_own(s, s->keys, up);
    pick_own(s, lows, low);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Fills a rank's message: its number of violators on each side, then its worst violators of both sides. */
static void fill_offer(tutti_svm_solver *s, tutti_svm_candidate *block, int offer, int64_t nup, int64_t nlow)
{
    tutti_svm_key *lows = s->keys + s->state.nactive - nlow;
    const int64_t up = least(offer, nup), low = least(offer, nlow);
    tutti_svm_put_first(s->keys, nup, up);
    tutti_svm_put_first(lows, nlow, low);
    block[0] = (tutti_svm_candidate){.number = nup, .entries = nlow};
    for (int64_t i = 0; i < up; i++) block[1 + i] = candidate_of(s, s->keys[i].position);
    for (int64_t i = 0; i < low; i++) block[1 + offer + i] = candidate_of(s, lows[i].position);
}

/* Takes the n worst violators of one side from all messages. Returns false if some rank may have more of them than it
 * offered. */
static bool merge_side(tutti_svm_solver *s, const tutti_svm_candidate *offers, int offer, bool low, int64_t n)
{
    const int64_t apart = tutti_svm_offer_length(offer);
    int64_t nkeys = 0;
    for (int r = 0; r < s->e->nranks; r++) {
        const tutti_svm_candidate *block = offers + r * apart;
        const int64_t many = least(offer, low ? block->entries : block->number), at = r * apart + 1 + (low ? offer : 0);
        for (int64_t i = at; i < at + many; i++)
            s->merged[nkeys++] = (tutti_svm_key){low ? -offers[i].gamma : offers[i].gamma, offers[i].number, i};
    }
    n = least(n, nkeys);
    tutti_svm_put_first(s->merged, nkeys, n);
    int64_t *taken = s->e->nrows_of;
    for (int r = 0; r < s->e->nranks; r++) taken[r] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = s->merged[i].position, rank = at / apart, mine = at % apart - 1;
        taken[rank]++;
        int64_t position = -1;
        if (rank == s->e->rank)
            position = low ? s->keys[s->state.nactive - offers[rank * apart].entries + mine - offer].position
                           : s->keys[mine].position;
        s->pick[s->npicks++] = (tutti_svm_pick){offers[at], (int32_t)rank, position};
    }
    for (int r = 0; r < s->e->nranks; r++) {
        const tutti_svm_candidate *block = offers + r * apart;
        if (taken[r] == offer && (low ? block->entries : block->number) > offer) return false;
    }
    return true;
}

static tutti_status gather_offers(tutti_svm_context *e, const tutti_svm_candidate *mine, tutti_svm_candidate *all,
                                  int offer, tutti_failure *err)
{
    if (offer == e->offer) {
        const tutti_status st = tutti_request_start(e->offer_request, err);
        return st ? st : tutti_request_wait(e->offer_request, err);
    }
    const int64_t nbytes = tutti_svm_offer_length(offer) * (int64_t)sizeof *mine;
    return tutti_comm_all_gather(e->comm, mine, all, nbytes, TUTTI_U8, err);
}

/* The offer of one rank, which has nup and nlow violators on the two sides. `all` receives the offers of all ranks. */
typedef struct {
    int offer; /* most candidates of each side */
    tutti_svm_candidate *mine, *all;
    int64_t nup, nlow;
} offering;

/* Gathers offers once. *enough becomes true if the choice is the same as from all violators. */
static tutti_status select_together(tutti_svm_solver *s, int want, const offering *o, bool *enough, tutti_failure *err)
{
    const int offer = o->offer;
    tutti_svm_candidate *all = o->all;
    int64_t up = 0, low = 0, ups = 0, lows = 0;
    fill_offer(s, o->mine, offer, o->nup, o->nlow);
    tutti_svm_charge(&s->e->account, TUTTI_SVM_CHOOSING);
    const tutti_status st = gather_offers(s->e, o->mine, all, offer, err);
    tutti_svm_charge_moving(&s->e->account, tutti_svm_offer_length(offer) * s->e->nranks * (int64_t)sizeof *all);
    if (st) return st;
    for (int r = 0; r < s->e->nranks; r++) {
        const tutti_svm_candidate *block = all + r * tutti_svm_offer_length(offer);
        ups += block->number, lows += block->entries;
    }
    divide(want, ups, lows, &up, &low);
    s->npicks = 0;
    *enough = merge_side(s, all, offer, false, up) && merge_side(s, all, offer, true, low);
    return TUTTI_OK;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = ((const tutti_svm_pick *)a)->is.number, y = ((const tutti_svm_pick *)b)->is.number;
    return (x > y) - (x < y);
}

tutti_status tutti_svm_select(tutti_svm_solver *s, int want, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    tutti_status st = TUTTI_OK;
    int64_t nup, nlow;
    find_violators(s, &nup, &nlow);
    s->npicks = 0;
    if (e->nranks == 1) {
        select_alone(s, want, nup, nlow);
    } else {
        bool enough = false;
        offering o = {e->offer, e->offered, e->offers, nup, nlow};
        st = select_together(s, want, &o, &enough, err);
        while (!st && !enough) {
            o.offer *= 2;
            const size_t n = (size_t)tutti_svm_offer_length(o.offer);
            o.mine = tutti_alloc(sizeof *o.mine * n * (size_t)(1 + e->nranks));
            o.all = o.mine + n;
            st = select_together(s, want, &o, &enough, err);
            free(o.mine);
        }
    }
    if (!st) qsort(s->pick, (size_t)s->npicks, sizeof *s->pick, by_number);
    tutti_svm_charge(&e->account, TUTTI_SVM_CHOOSING);
    return st;
}
