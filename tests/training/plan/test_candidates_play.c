/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates_play.c: whole networks of the zoo, narrow, with every candidate of the table asked for where it fits,
 * and with each pass by another: the gradients of a step are those of the reference in f32 and in 16 bits; where sums
 * are canonical two and four ranks have one rank's bits; candidates whose bits are the same at any number of threads
 * keep to that. Its long form has all networks. */
#define PLAYED_BATCH 8 /* two samples a slot: batch norm of one value a channel has no variance */
#include "plan_player.h"

#include "device/device_row.h"

#include "../told_kernels.h"
#include "../zoo.h"

enum { MOST_TENSORS = 512, TURNS = 3 };

/* Parameters in the order of what step returns, control numbers behind. */
typedef struct {
    char name[64];
    int64_t first, count;
    bool is_learned;
} tensor;

/* What there is to know of a scene before it is played. */
typedef struct {
    tensor tensors[MOST_TENSORS];
    int ntensors;
    bool is_asked; /* passes of products are computed by what it asks for */
    int njoined;   /* products whose passes are computed by several */
} look;

static void look_at(const scene *sc, look *out)
{
    player *y = calloc(1, sizeof *y);
    int64_t first = 0;
    begin(y, sc);
    *out = (look){.ntensors = y->graph->nparams, .njoined = told_joined(y->graph)};
    assert_true(out->ntensors <= MOST_TENSORS);
    for (int i = 0; i < out->ntensors; i++) {
        const tutti_param *p = &y->graph->params[i];
        tensor *t = &out->tensors[i];
        *t = (tensor){.first = first, .count = p->count, .is_learned = p->layer >= 0 && tutti_param_is_learned(p)};
        snprintf(t->name, sizeof t->name, "%s", p->name);
        first += p->count;
    }
    for (int l = 0; l < y->graph->nkernels; l++) {
        const tutti_kernel *k = &y->graph->kernels[l];
        for (int pass = 0; pass < TUTTI_NPASSES && told_is_product(k); pass++)
            out->is_asked = out->is_asked || (k->chosen[pass].name && k->chosen[pass].why == TUTTI_CHOSEN_ASKED);
    }
    end(y);
    free(y);
}

/* Whether any pass of a product of the model is computed by what the scene asks for. */
static bool computes_some(const scene *sc, look *out)
{
    if (!strcmp(sc->engine, "reference")) return false;
    look_at(sc, out);
    return out->is_asked;
}

/* ---- how far gradients are apart ---- */

typedef struct {
    double norm, apart;
} gap;

static void add_squares(const float *want, const float *got, int64_t n, gap *sum)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)want[i], d = (double)got[i] - x;
        sum->norm += x * x;
        sum->apart += d * d;
    }
}

static gap roots(gap squares)
{
    return (gap){sqrt(squares.norm), sqrt(squares.apart)};
}

/* Of all that is learned. */
static gap gap_of_all(const look *l, const float *want, const float *got)
{
    gap all = {0};
    for (int i = 0; i < l->ntensors; i++)
        if (l->tensors[i].is_learned)
            add_squares(want + l->tensors[i].first, got + l->tensors[i].first, l->tensors[i].count, &all);
    return roots(all);
}

/* Each tensor for itself, so that small gradients count as large ones do; but one that is nothing save rounding (a bias
 * before a batch norm) beside all. */
static void expect_near(const scene *sc, const look *l, const float *want, const float *got)
{
    const gap all = gap_of_all(l, want, got);
    assert_true(all.norm > 0);
    for (int i = 0; i < l->ntensors; i++) {
        const tensor *t = &l->tensors[i];
        gap g = {0};
        if (!t->is_learned) continue;
        add_squares(want + t->first, got + t->first, t->count, &g);
        g = roots(g);
        if (!(g.apart <= 2e-4 * g.norm + 1e-6 * all.norm))
            fail_msg("%s by %s: the gradient of %s is %g from the reference's, which is %g long", sc->model, sc->engine,
                     t->name, g.apart, g.norm);
    }
}

/* ---- f32 and 16 bits ---- */

static void gradients_are_the_references_by_every_candidate(void **state)
{
    (void)state;
    const char *name;
    char model[ZOO_PATH];
    for (int m = 0; zoo_at(m, model); m++) {
        int64_t count, other;
        scene sc = {.model = model, .engine = "reference", .nranks = 1, .fused = true};
        float *want = step(&sc, true, &count);
        look l;
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
            sc.engine = name;
            if (!computes_some(&sc, &l)) continue;
            float *got = step(&sc, true, &other);
            assert_int_equal(count, other);
            expect_near(&sc, &l, want, got);
            free(got);
        }
        free(want);
    }
}

static double distance_of(const scene *sc, const look *l, const float *want)
{
    int64_t count;
    float *got = step(sc, true, &count);
    const gap g = gap_of_all(l, want, got);
    free(got);
    return g.apart / g.norm;
}

/* Numbers of 16 bits move gradients as if samples were others, the more the deeper the network: a ReLU that falls to
 * the other side is 5 % of the gradients of a small one. So the measure is how far plain loops are moved. What is exact
 * in 16 bits, test_candidates compares. */
static void gradients_of_16_bits_are_as_near_as_the_references_by_every_candidate(void **state)
{
    (void)state;
    const tutti_precision last = getenv("TUTTI_LONG") ? TUTTI_PRECISION_F16 : TUTTI_PRECISION_BF16;
    const char *name;
    char model[ZOO_PATH];
    for (int m = 0; zoo_at(m, model); m++) {
        int64_t count;
        scene sc = {.model = model, .engine = "reference", .nranks = 1, .fused = true};
        float *want = step(&sc, true, &count);
        for (sc.precision = TUTTI_PRECISION_BF16; sc.precision <= last; sc.precision++) {
            look l;
            sc.engine = "reference";
            look_at(&sc, &l);
            const double plain = distance_of(&sc, &l, want);
            for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
                sc.engine = name;
                if (!computes_some(&sc, &l)) continue;
                const double apart = distance_of(&sc, &l, want);
                if (!(apart <= 2 * plain + 0.1))
                    fail_msg("%s by %s in %s: gradients are %g of their norm from those in f32, the reference's %g",
                             model, name, tutti_precision_name(sc.precision), apart, plain);
            }
        }
        free(want);
    }
}

/* ---- each pass by another ---- */

/* What the chooser is to be told so that it takes these in the scene. Another kernel leaves its output in another
 * order, which is another shape for the one behind it: so it is told again, until there is nothing new. */
static void tell(scene sc, told_choice *choose, const void *arg, tutti_tune_file *out)
{
    for (int before = -1; out->nentries > before;) {
        player *y = calloc(1, sizeof *y);
        const tutti_tuned tuned = tutti_tune_file_tuned(out);
        before = out->nentries;
        sc.tuned = &tuned;
        begin(y, &sc);
        told_kernels(y->graph, choose, arg, out);
        end(y);
        free(y);
    }
}

static void gradients_are_the_references_by_each_pass_of_another(void **state)
{
    (void)state;
    const bool is_long = getenv("TUTTI_LONG");
    char model[ZOO_PATH];
    for (int m = 0; zoo_at(m, model); m++) {
        int64_t count, other;
        scene sc = {.model = model, .engine = "reference", .nranks = 1, .fused = true};
        float *want = step(&sc, true, &count);
        int njoined = 0;
        sc.engine = "auto";
        for (int turn = is_long ? 0 : m % TURNS; turn < TURNS; turn += is_long ? 1 : TURNS) {
            tutti_tune_file file = {0};
            look l;
            tell(sc, told_another, &turn, &file);
            const tutti_tuned tuned = tutti_tune_file_tuned(&file);
            sc.tuned = &tuned;
            look_at(&sc, &l);
            float *got = step(&sc, true, &other);
            expect_near(&sc, &l, want, got);
            njoined += l.njoined;
            free(got);
            tutti_tune_file_release(&file);
        }
        free(want);
        assert_true(njoined > 0 || !is_built("onednn"));
    }
}

/* ---- bits ---- */

/* Short: f32 and bf16 by turns. */
static void canonical_bits_are_those_of_one_rank_by_every_candidate(void **state)
{
    (void)state;
    const char *name;
    char model[ZOO_PATH];
    const bool is_long = getenv("TUTTI_LONG");
    for (int m = 0; zoo_at(m, model); m++)
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
            for (int p = TUTTI_PRECISION_F32; p <= TUTTI_PRECISION_BF16; p++) {
                scene sc = {.model = model, .engine = name, .nranks = 1, .slots = 4, .fused = true};
                int64_t count;
                look l;
                sc.precision = (tutti_precision)p;
                if ((!is_long && (m + i) % 2 != p) || !computes_some(&sc, &l)) continue;
                float *alone = step(&sc, true, &count);
                for (sc.nranks = 2; sc.nranks <= 4; sc.nranks *= 2) expect_same_bits(&sc, alone, count);
                free(alone);
            }
}

/* As the table of candidates says. */
static bool is_steady(const char *name, const char *op, tutti_precision precision)
{
    const tutti_kernel_candidate *c = tutti_candidate_find(name, op, precision);
    return c && c->threads == TUTTI_THREADS_ALIKE && c->device == TUTTI_DEVICE_CPU;
}

/* Whether all passes of products are computed by these and plain loops. */
static bool is_all_steady(const scene *sc)
{
    player *y = calloc(1, sizeof *y);
    bool all = true;
    begin(y, sc);
    for (int l = 0; l < y->graph->nkernels; l++) {
        const tutti_kernel *k = &y->graph->kernels[l];
        for (int pass = 0; pass < TUTTI_NPASSES && told_is_product(k); pass++) {
            const char *name = k->chosen[pass].name;
            all = all && (!name || is_steady(name, k->op->name, sc->precision) ||
                          is_steady(name, k->op->name, TUTTI_PRECISION_F32)); /* behind half_adapter.c */
        }
    }
    end(y);
    free(y);
    return all;
}

static bool is_told(const tutti_tune_file *f, const char *name)
{
    for (int i = 0; i < f->nentries; i++)
        if (!strcmp(f->entries[i].candidate, name)) return true;
    return false;
}

/* Plain loops compute what the candidate does not fit, but in bf16, where what reads bf16 comes before them: there only
 * networks that it computes whole are compared. */
static void compare_threads(const char *model, const char *name, tutti_precision precision)
{
    scene sc = {.model = model, .engine = "auto", .nranks = 1, .fused = true, .nthreads = 2, .precision = precision};
    tutti_tune_file file = {0};
    int64_t count;
    tell(sc, told_name, name, &file);
    const tutti_tuned tuned = tutti_tune_file_tuned(&file);
    sc.tuned = &tuned;
    if (is_told(&file, name)) {
        const bool compares = is_all_steady(&sc);
        if (!compares && precision == TUTTI_PRECISION_F32) fail_msg("%s by %s: others compute, too", model, name);
        float *two = step(&sc, true, &count);
        sc.nthreads = 1;
        if (compares) expect_same_bits(&sc, two, count);
        free(two);
    }
    tutti_tune_file_release(&file);
}

static void bits_are_the_same_on_two_threads_where_that_is_said(void **state)
{
    (void)state;
    char model[ZOO_PATH];
    const char *name;
    for (int m = 0; zoo_at(m, model); m++)
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
            for (int p = TUTTI_PRECISION_F32; p <= TUTTI_PRECISION_BF16; p++) {
                const bool of_conv = is_steady(name, "conv", (tutti_precision)p),
                           of_dense = is_steady(name, "dense", (tutti_precision)p);
                if ((of_conv || of_dense) && strcmp(name, "reference") != 0)
                    compare_threads(model, name, (tutti_precision)p);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoo_is_whole_and_narrow),
        cmocka_unit_test(gradients_are_the_references_by_every_candidate),
        cmocka_unit_test(gradients_of_16_bits_are_as_near_as_the_references_by_every_candidate),
        cmocka_unit_test(gradients_are_the_references_by_each_pass_of_another),
        cmocka_unit_test(canonical_bits_are_those_of_one_rank_by_every_candidate),
        cmocka_unit_test(bits_are_the_same_on_two_threads_where_that_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
