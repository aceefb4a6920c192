/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits.c: where elastic visits to a centre are stable: a noisy quadratic, played by the rules that run, just
 * inside and just outside of the bound that the formulas of a visit have as a product of matrices.
 *
 * Only the order of visits counts: what a worker's step reads of others is the centre, once. With e = rate * curvature
 * a visit by sgd is a symmetric matrix with eigenvalues in [-1, 1] while a < (4 - 2 e) / (4 - e): there any order of
 * visits is stable. Its determinant is (1 - e)(1 - a) - a, below -1 where a > 1: there none is. Where moves of the
 * centre are lost, a visit makes each element no larger than the largest was while a <= 1 - e / 2. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "training/method/method.h"
#include "training/method/rule/rule.h"

enum { MAX_WORKERS = 8, MAX_SIZE = 2 * MAX_WORKERS + 1 /* weight and momentum of each, and the centre */ };

typedef struct {
    const char *rule;
    double mu; /* of momentum */
    int nworkers;
    int period; /* local steps */
    double e;   /* rate * curvature */
} setting;

static const double RATE = 0.5;

/* ---- by the formulas ---- */

typedef struct {
    int n;
    double at[MAX_SIZE][MAX_SIZE];
} matrix;

static void multiply(const matrix *a, const matrix *b, matrix *out)
{
    matrix product = {.n = a->n};
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->n; k++)
            for (int j = 0; j < a->n; j++) product.at[i][j] += a->at[i][k] * b->at[k][j];
    *out = product;
}

/* A local step of one worker: v <- mu v + h w, w <- w - rate v, and in a visit w and c by a of their distance. */
static matrix step_matrix(const setting *s, int worker, double alpha)
{
    matrix m = {.n = 2 * s->nworkers + 1};
    const int w = worker, v = s->nworkers + worker, c = 2 * s->nworkers;
    for (int i = 0; i < m.n; i++) m.at[i][i] = 1;
    m.at[v][v] = s->mu;
    m.at[v][w] = s->e / RATE;
    m.at[w][w] = 1 - s->e - alpha;
    m.at[w][v] = -RATE * s->mu;
    m.at[w][c] = alpha;
    m.at[c][w] = alpha;
    m.at[c][c] = 1 - alpha;
    return m;
}

/* The spectral radius of a round of all workers' periods, by squaring: of the norm of M^(2^k) the 2^k-th root. */
static double spectral_radius(const setting *s, double alpha)
{
    enum { NSQUARES = 24 };
    matrix all = {.n = 2 * s->nworkers + 1};
    for (int i = 0; i < all.n; i++) all.at[i][i] = 1;
    for (int worker = 0; worker < s->nworkers; worker++)
        for (int t = 1; t <= s->period; t++) {
            const matrix one = step_matrix(s, worker, t == s->period ? alpha : 0);
            multiply(&one, &all, &all);
        }
    double logarithm = 0;
    for (int k = 0; k < NSQUARES; k++) {
        double norm = 0;
        multiply(&all, &all, &all);
        for (int i = 0; i < all.n * MAX_SIZE; i++) norm = fmax(norm, fabs(all.at[i / MAX_SIZE][i % MAX_SIZE]));
        for (int i = 0; i < all.n * MAX_SIZE; i++) all.at[i / MAX_SIZE][i % MAX_SIZE] /= norm;
        logarithm += ldexp(log(norm), -k - 1);
    }
    return exp(logarithm);
}

/* The least alpha that is not stable. */
static double bound_of(const setting *s)
{
    double in = 0.02, out = 0.02;
    assert_true(spectral_radius(s, in) < 1);
    while (spectral_radius(s, out) < 1) in = out, out += 0.02;
    while (out - in > 1e-9) {
        const double middle = (in + out) / 2;
        *(spectral_radius(s, middle) < 1 ? &in : &out) = middle;
    }
    return in;
}

/* ---- by the rules that run ---- */

static void meet(float alpha, float *centre, float *w, float *seen, int64_t n)
{
    tutti_elements_run(&(tutti_elements){.loop = tutti_action_row_of(TUTTI_DO_MEET)->loop,
                                         .alpha = alpha,
                                         .to = centre,
                                         .from = w,
                                         .other = seen,
                                         .n = n});
}

typedef struct {
    const setting *s;
    tutti_update update;
    float alpha;
    float w[MAX_WORKERS], v[MAX_WORKERS], centre;
    uint64_t nsteps;
} play;

static play begun(const setting *s, double alpha)
{
    play p = {.s = s, .centre = 1, .alpha = tutti_centre_alpha(&(tutti_centre){.rho = alpha / RATE}, RATE)};
    p.update = (tutti_update){.rule = tutti_rule_find(s->rule), .value = {s->mu}};
    for (int i = 0; i < s->nworkers; i++) p.w[i] = i ? -1 : 2;
    return p;
}

/* The kernels, on the worker's own weights, and its rule; centre: NULL, or what it has seen. */
static void apply(play *p, int worker, const float *centre)
{
    const tutti_update_step step = {.lr = RATE, .unscale = 1, .trust = 1, .nupdates = 1};
    const tutti_random4 r = tutti_random(5, TUTTI_STREAM_TEST, p->nsteps++, 0);
    const float noise = 0.1f * (tutti_random_unit(r.word[0]) - 0.5f);
    const float gradient = (float)(p->s->e / RATE * p->w[worker]) + noise;
    const tutti_update_slice slice = {.w = &p->w[worker],
                                      .state = {&p->v[worker]},
                                      .sum = &gradient,
                                      .n = 1,
                                      .centre = centre,
                                      .alpha = centre ? p->alpha : 0};
    tutti_update_apply(&p->update, &step, TUTTI_PARAM_WEIGHT, &slice);
}

static void play_period(play *p, int worker)
{
    float seen = NAN;
    for (int t = 1; t < p->s->period; t++) apply(p, worker, NULL);
    meet(p->alpha, &p->centre, &p->w[worker], &seen, 1);
    apply(p, worker, &seen);
}

static double farthest(const play *p)
{
    double most = fabs(p->centre);
    for (int i = 0; i < p->s->nworkers; i++) most = fmax(most, fabs(p->w[i]));
    return most;
}

static double farthest_after(const setting *s, double alpha, int64_t nrounds)
{
    play p = begun(s, alpha);
    for (int64_t round = 0; round < nrounds; round++)
        for (int i = 0; i < s->nworkers; i++) play_period(&p, i);
    return farthest(&p);
}

/* ---- tests ---- */

/* How many rounds make so much of it. */
static int64_t rounds_of(double radius, double factor)
{
    const double n = ceil(log(factor) / fabs(log(radius)));
    assert_true(n < 1e6);
    return (int64_t)n;
}

/* Inside, what they began with is gone and noise is left; outside they go away as fast as the spectral radius says. */
static void plays_agree_with_matrices(const setting *s)
{
    const double bound = bound_of(s), in = spectral_radius(s, 0.99 * bound), out = spectral_radius(s, 1.01 * bound);
    if (!(in < 1 && out > 1)) fail_msg("%s, %d workers, e %g: radii %g, %g", s->rule, s->nworkers, s->e, in, out);
    const double inside = farthest_after(s, 0.99 * bound, rounds_of(in, 1e6));
    const int64_t n = rounds_of(out, 1e12);
    const double half = farthest_after(s, 1.01 * bound, n), whole = farthest_after(s, 1.01 * bound, 2 * n);
    if (!(inside < 1 && fabs(log(whole / half) / ((double)n * log(out)) - 1) < 0.1))
        fail_msg("%s, %d workers, period %d, e %g, bound %g: %g inside; outside %g, then %g after %lld rounds at %g",
                 s->rule, s->nworkers, s->period, s->e, bound, inside, half, whole, (long long)n, out);
}

static void a_noisy_quadratic_converges_inside_the_bound_and_diverges_outside(void **state)
{
    (void)state;
    static const int workers[] = {1, 2, 3, 8};
    for (int i = 0; i < 4; i++)
        for (double e = 0.1; e < 1.6; e += 0.7)
            for (int period = 1; period <= 3; period += 2) {
                const setting sgd = {"sgd", 0, workers[i], period, e};
                const setting momentum = {"momentum", 0.5, workers[i], period, e};
                plays_agree_with_matrices(&sgd);
                plays_agree_with_matrices(&momentum);
            }
}

static double bound_of_one(double e)
{
    return (4 - 2 * e) / (4 - e);
}

/* More workers in turn are stable as far as one is, and nobody beyond 1. */
static void the_bound_of_one_worker_is_that_of_the_formula_and_holds_for_more(void **state)
{
    (void)state;
    for (double e = 0.1; e < 1.9; e += 0.2)
        for (int p = 1; p <= MAX_WORKERS; p++) {
            const setting s = {"sgd", 0, p, 1, e};
            const double bound = bound_of(&s);
            if (p == 1 ? fabs(bound - bound_of_one(e)) > 1e-6 : bound < bound_of_one(e) - 1e-6 || bound > 1 + 1e-6)
                fail_msg("%d workers, e %g: %g, of one worker %g", p, e, bound, bound_of_one(e));
        }
}

/* By arrival: who comes next is drawn. */
static double farthest_in_any_order(const setting *s, double alpha, int nvisits)
{
    play p = begun(s, alpha);
    for (int k = 0; k < nvisits; k++) {
        const tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, (uint64_t)k, 0);
        play_period(&p, (int)(r.word[0] % (uint32_t)s->nworkers));
    }
    return farthest(&p);
}

static void visits_in_any_order_are_stable_inside_and_not_beyond_one(void **state)
{
    (void)state;
    for (double e = 0.1; e < 1.6; e += 0.7)
        for (int p = 2; p <= MAX_WORKERS; p *= 2) {
            const setting s = {"sgd", 0, p, 1, e};
            const double inside = farthest_in_any_order(&s, 0.99 * bound_of_one(e), 40000);
            const double outside = farthest_in_any_order(&s, 1.05, 40000);
            if (!(inside < 1 && !(outside < 1e6)))
                fail_msg("%d workers, e %g: %g inside, %g outside", p, e, inside, outside);
        }
}

/* Without a lock: two visit at once, and the centre keeps one's move, drawn which. */
static double farthest_with_lost_moves(const setting *s, double alpha, int nvisits)
{
    play p = begun(s, alpha);
    for (int k = 0; k < nvisits; k++) {
        const tutti_random4 r = tutti_random(9, TUTTI_STREAM_TEST, (uint64_t)k, 0);
        const int one = (int)(r.word[0] % (uint32_t)s->nworkers);
        const int other = (one + 1 + (int)(r.word[1] % (uint32_t)(s->nworkers - 1))) % s->nworkers;
        float moved[2] = {p.centre, p.centre}, seen[2];
        meet(p.alpha, &moved[0], &p.w[one], &seen[0], 1);
        meet(p.alpha, &moved[1], &p.w[other], &seen[1], 1);
        p.centre = moved[r.word[2] % 2];
        apply(&p, one, &seen[0]);
        apply(&p, other, &seen[1]);
    }
    return farthest(&p);
}

static void visits_whose_moves_are_lost_are_stable_below_their_bound(void **state)
{
    (void)state;
    for (double e = 0.1; e < 1.6; e += 0.7)
        for (int p = 2; p <= MAX_WORKERS; p *= 2) {
            const setting s = {"sgd", 0, p, 1, e};
            const double inside = farthest_with_lost_moves(&s, 0.99 * (1 - e / 2), 40000);
            if (!(inside < 1)) fail_msg("%d workers, e %g: %g", p, e, inside);
        }
}

/* What a row takes is stable where the loss is flat enough; what it refuses is so nowhere near. */
static void a_row_is_stable_or_not(const tutti_method_row *row, const setting *s, double alpha)
{
    tutti_failure err = {0};
    const tutti_status st = row->accept_centre(&(tutti_centre){.rho = alpha / RATE}, s->nworkers, RATE, &err);
    const double radius = spectral_radius(s, alpha);
    assert_int_equal(st, alpha < 1 ? TUTTI_OK : TUTTI_ERR_USAGE);
    if (st) assert_memory_equal(err.text, "method.rho: ", 12);
    if (st ? !(radius > 1) : !(radius < 1))
        fail_msg("%s, %d workers, rate * rho %g: %s, spectral radius 1 + %g", row->name, s->nworkers, alpha,
                 st ? "refused" : "taken", radius - 1);
    const double far = farthest_after(s, alpha, rounds_of(radius, 1e9));
    if (st ? !(far > 1e3) : !(far < 1))
        fail_msg("%s, %d workers, rate * rho %g: %g", row->name, s->nworkers, alpha, far);
}

static void a_row_refuses_what_no_curvature_makes_stable_and_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {"easgd", "async-easgd", "async-measgd", "hogwild-easgd"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tutti_method_row *row = tutti_method_find(names[i]);
        const bool has_momentum = !strcmp(names[i], "async-measgd");
        for (int p = 1; p <= MAX_WORKERS; p *= 2) {
            const setting s = {has_momentum ? "momentum" : "sgd", has_momentum ? 0.5 : 0, p, 1, 1e-3};
            static const double alphas[] = {0.01, 0.5, 0.9, 0.998, 1.002, 1.1, 1.5};
            for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++) a_row_is_stable_or_not(row, &s, alphas[k]);
        }
        tutti_failure err = {0};
        assert_int_equal(row->accept_centre(&(tutti_centre){.rho = 1 / RATE}, 1, RATE, &err), TUTTI_ERR_USAGE);
        assert_true(spectral_radius(&(setting){"sgd", 0, 1, 1, 1e-3}, 1) > 1);
        assert_int_equal(row->accept_centre(&(tutti_centre){0}, 1, RATE, &err), TUTTI_OK);
    }
}

/* A seat holds what a worker brought, then what it takes along. */
static void what_the_centre_was_may_take_the_place_of_what_was_brought(void **state)
{
    (void)state;
    enum { MOST = 3 * 1024 + 5 };
    static const int64_t lengths[] = {0, 1, 7, 1023, 1024, 1025, MOST};
    static float w[MOST], seat[MOST], seen[MOST], centre[2][MOST];
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (int i = 0; i < MOST; i++) {
            seat[i] = w[i] = sinf((float)i);
            centre[0][i] = centre[1][i] = cosf(0.3F * (float)i);
        }
        meet(0.3F, centre[0], w, seen, lengths[k]);
        meet(0.3F, centre[1], seat, seat, lengths[k]);
        assert_memory_equal(centre[0], centre[1], sizeof centre[0]);
        assert_memory_equal(seat, seen, sizeof *seat * (size_t)lengths[k]);
        assert_memory_equal(seat + lengths[k], w + lengths[k], sizeof *w * (size_t)(MOST - lengths[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_centre_was_may_take_the_place_of_what_was_brought),
        cmocka_unit_test(a_noisy_quadratic_converges_inside_the_bound_and_diverges_outside),
        cmocka_unit_test(the_bound_of_one_worker_is_that_of_the_formula_and_holds_for_more),
        cmocka_unit_test(visits_in_any_order_are_stable_inside_and_not_beyond_one),
        cmocka_unit_test(visits_whose_moves_are_lost_are_stable_below_their_bound),
        cmocka_unit_test(a_row_refuses_what_no_curvature_makes_stable_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
