/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates_play.c: whole networks of the zoo, narrow, with every candidate of the table asked for where it fits: the gradients of a
 * step are those of the reference, and where sums are canonical two ranks have one rank's bits. Its long form has all networks. */
#define PLAYED_BATCH 8 /* two samples a slot: batch norm of one value a channel has no variance */
#include "plan_player.h"

#define NARROW(name) TUTTI_SOURCE_DIR "/tests/golden/train/" name ".yaml"

static const char *const models[] = {"lenet",
                                     NARROW("alexnet"),
                                     NARROW("cd-dnn"),
                                     NARROW("googlenet"),
                                     NARROW("resnet20"),
                                     NARROW("vgg-a"),
                                     NARROW("alexnet-bn"),
                                     NARROW("alexnet-torch"),
                                     NARROW("alexnet-nogroups"),
                                     NARROW("fcn5"),
                                     NARROW("resnet50"),
                                     NARROW("overfeat-fast"),
                                     NARROW("resnet56"),
                                     NARROW("fcn8")};
enum { NMODELS = sizeof models / sizeof *models, NSHORT = 5 };

static int nmodels(void)
{
    return getenv("TUTTI_LONG") ? NMODELS : NSHORT;
}

/* Whether any pass of a product of the model is computed by it. */
static bool computes_some(const scene *sc)
{
    player *y = calloc(1, sizeof *y);
    bool some = false;
    begin(y, sc);
    for (int l = 0; l < y->graph->nkernels; l++) {
        const tutti_kernel *k = &y->graph->kernels[l];
        const bool product = !strcmp(k->op->name, "conv") || !strcmp(k->op->name, "dense");
        for (int pass = 0; pass < TUTTI_NPASSES; pass++)
            some = some || (product && k->chosen[pass].name && k->chosen[pass].why == TUTTI_CHOSEN_ASKED);
    }
    end(y);
    free(y);
    return some;
}

static double norm_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* What they differ by beside how long they are. */
static double distance(const float *want, float *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++) got[i] -= want[i];
    return norm_of(got, n) / norm_of(want, n);
}

static void gradients_are_the_references_by_every_candidate(void **state)
{
    (void)state;
    const char *name;
    for (int m = 0; m < nmodels(); m++) {
        int64_t count, other;
        float *want = step(&(scene){models[m], "reference", 1, 0, true, TUTTI_PRECISION_F32}, true, &count);
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
            const scene sc = {models[m], name, 1, 0, true, TUTTI_PRECISION_F32};
            if (!strcmp(name, "reference") || !computes_some(&sc)) continue;
            float *got = step(&sc, true, &other);
            assert_int_equal(count, other);
            const double apart = distance(want, got, count);
            if (!(apart < 1e-3)) fail_msg("%s by %s: gradients differ by %g of their norm", models[m], name, apart);
            free(got);
        }
        free(want);
    }
}

static void canonical_bits_are_those_of_one_rank_by_every_candidate(void **state)
{
    (void)state;
    const char *name;
    for (int m = 0; m < nmodels(); m++)
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
            scene sc = {models[m], name, 1, 4, true, m % 2 ? TUTTI_PRECISION_BF16 : TUTTI_PRECISION_F32};
            int64_t count;
            if (!strcmp(name, "reference") || !computes_some(&sc)) continue;
            float *alone = step(&sc, true, &count);
            sc.nranks = 2;
            expect_same_bits(&sc, alone, count);
            free(alone);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_references_by_every_candidate),
        cmocka_unit_test(canonical_bits_are_those_of_one_rank_by_every_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
