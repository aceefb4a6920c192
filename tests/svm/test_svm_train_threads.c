/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_train_threads.c: several classes, folds and probabilities, over ranks that are threads: the same bits at any
 * number. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testing.h"

#include "base/arena.h"
#include "base/file.h"
#include "collective/comm_ranks.h"
#include "svm_sets.h"
#include "tutti/svm.h"

enum { N = 240 };

typedef struct {
    const char *path;
    tutti_svm_config config;
    int nfolds;          /* 0: a model */
    tutti_status wanted; /* of all ranks */
    const char *words;   /* in its text */
    char *model;         /* its text, from rank 0 */
    double predicted[N]; /* of a cross validation */
    tutti_svm_summary summary;
} trial;

static const char *train(tutti_comm *comm, trial *t, const tutti_svm_data *data, tutti_failure *errp)
{
    tutti_failure err = {0};
    tutti_svm_model model = {0};
    tutti_svm_summary summary = {0};
    const tutti_status st = tutti_svm_train(comm, data, &t->config, &model, &summary, &err);
    *errp = err;
    EXPECT(st == t->wanted);
    if (st) EXPECT(strstr(err.text, t->words));
    if (!st && tutti_comm_rank(comm) == 0) {
        char path[64];
        size_t nbytes;
        snprintf(path, sizeof path, "/tmp/tutti_svm_%d.model", (int)getpid());
        EXPECT(!tutti_svm_model_write(&model, path, &err));
        free(t->model);
        EXPECT(!tutti_file_read(path, 1 << 24, TUTTI_ERR_DATA, &t->model, &nbytes, &err));
        unlink(path);
        tutti_svm_summary_release(&t->summary);
        t->summary = summary;
        summary = (tutti_svm_summary){0};
    }
    if (tutti_comm_rank(comm) != 0) EXPECT(model.nsv == 0 && !model.coef);
    tutti_svm_model_release(&model);
    tutti_svm_summary_release(&summary);
    return NULL;
}

static const char *play(tutti_comm *comm, void *arg)
{
    trial *t = arg;
    tutti_failure err = {0};
    tutti_svm_data data = {0};
    const tutti_svm_reading how = {0};
    EXPECT(!tutti_svm_data_read(comm, t->path, &how, &data, &err));
    const char *words = NULL;
    if (t->nfolds) {
        double *predicted = tutti_alloc((size_t)(data.nrows + 1) * sizeof *predicted);
        EXPECT(!tutti_svm_cross_validate(comm, &data, &t->config, t->nfolds, predicted, &err));
        memcpy(t->predicted + data.first, predicted, (size_t)data.nrows * sizeof *predicted);
        free(predicted);
    } else {
        words = train(comm, t, &data, &err);
    }
    tutti_svm_data_release(&data);
    return words;
}

static void write_set(char path[64], char *text)
{
    tutti_failure err = {0};
    snprintf(path, 64, "/tmp/tutti_svm_%d.txt", (int)getpid());
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), &err), TUTTI_OK);
    free(text);
}

static void models_have_the_same_bytes_at_any_number_of_ranks(bool probability)
{
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default()};
    t.config.probability = probability;
    t.config.nthreads = 2;
    write_set(path, svm_blobs(N, 4, 0.8));
    run_comms(1, 20, play, &t);
    char *alone = t.model;
    t.model = NULL;
    assert_non_null(strstr(alone, "nr_class 4\n"));
    assert_non_null(strstr(alone, "label 3 -1 7 12\n"));
    assert_int_equal(t.summary.npairs, 6);
    assert_true(!strstr(alone, "probA") == !probability);
    for (int nranks = 2; nranks <= 4; nranks++) {
        run_comms(nranks, 20, play, &t);
        assert_string_equal(t.model, alone);
    }
    free(alone);
    free(t.model);
    tutti_svm_summary_release(&t.summary);
    unlink(path);
}

static void four_classes(void **state)
{
    (void)state;
    models_have_the_same_bytes_at_any_number_of_ranks(false);
}

static void four_classes_with_probabilities(void **state)
{
    (void)state;
    models_have_the_same_bytes_at_any_number_of_ranks(true);
}

static void a_cross_validation_predicts_the_same_at_any_number_of_ranks(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default(), .nfolds = 5};
    double alone[N];
    int right = 0;
    write_set(path, svm_blobs(N, 3, 0.5));
    run_comms(1, 20, play, &t);
    memcpy(alone, t.predicted, sizeof alone);
    static const int label[] = {3, -1, 7};
    for (int i = 0; i < N; i++) right += alone[i] == label[i % 3];
    assert_in_range(right, N * 9 / 10, N - 1); /* the classes overlap a little */
    for (int probability = 0; probability < 2; probability++)
        for (int nranks = 2 - probability; nranks <= 3; nranks++) {
            t.config.probability = probability;
            run_comms(nranks, 20, play, &t);
            if (probability && nranks == 1) memcpy(alone, t.predicted, sizeof alone);
            assert_memory_equal(t.predicted, alone, sizeof alone);
        }
    unlink(path);
}

static void fewer_samples_than_ranks_make_the_same_model(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default()};
    t.config.probability = true;
    write_set(path, svm_blobs(3, 3, 0.5));
    run_comms(1, 20, play, &t);
    char *alone = t.model;
    t.model = NULL;
    run_comms(5, 20, play, &t);
    assert_string_equal(t.model, alone);
    free(alone);
    free(t.model);
    tutti_svm_summary_release(&t.summary);
    unlink(path);
}

/* Of four samples on a line, two of each class, the one left out is outnumbered by the other class: LIBSVM gets none
 * right too. */
static void with_as_many_folds_as_samples_each_is_left_out_alone(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default(), .nfolds = 4};
    static const double wrong[] = {-1, -1, 1, 1};
    write_set(path, strdup("1 1:1\n1 1:2\n-1 1:3\n-1 1:4\n"));
    for (int nranks = 1; nranks <= 6; nranks += 5) {
        run_comms(nranks, 20, play, &t);
        assert_memory_equal(t.predicted, wrong, sizeof wrong);
    }
    unlink(path);
}

/* A class that costs more loses fewer samples; and as there is no single C, there is no nu. */
static void weights_move_the_border(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default()};
    const int32_t heavy[] = {3};
    const double weight[] = {50};
    double rho[2];
    write_set(path, svm_blobs(N, 2, 1.2));
    for (int weighted = 0; weighted < 2; weighted++) {
        t.config.nweights = weighted, t.config.weight_label = heavy, t.config.weight = weight;
        run_comms(2, 20, play, &t);
        rho[weighted] = t.summary.pair[0].rho;
        assert_true(weighted ? t.summary.pair[0].nu == -1 : t.summary.pair[0].nu > 0);
    }
    assert_true(rho[1] < rho[0]); /* f = sum - rho grows towards class 3 */
    free(t.model);
    tutti_svm_summary_release(&t.summary);
    unlink(path);
}

static void one_class_is_refused_on_all_ranks_unless_asked_for(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default(), .wanted = TUTTI_ERR_DATA, .words = "class 3"};
    write_set(path, svm_blobs(9, 1, 1));
    run_comms(3, 20, play, &t);
    t.wanted = TUTTI_OK;
    t.config.lenient = true;
    run_comms(3, 20, play, &t);
    assert_non_null(strstr(t.model, "nr_class 1\ntotal_sv 0\nrho\nlabel 3\nnr_sv 0\nSV\n"));
    free(t.model);
    tutti_svm_summary_release(&t.summary);
    unlink(path);
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    char path[64];
    trial t = {.path = path, .config = tutti_svm_config_default(), .wanted = TUTTI_ERR_USAGE};
    write_set(path, svm_blobs(20, 2, 1));
    t.config.cost = 0, t.words = "C = 0";
    run_comms(2, 20, play, &t);
    t.config = tutti_svm_config_default(), t.config.eps = (double)NAN, t.words = "eps";
    run_comms(2, 20, play, &t);
    t.config = tutti_svm_config_default(), t.config.kernel.gamma = -1, t.words = "gamma = -1";
    run_comms(2, 20, play, &t);
    t.config = tutti_svm_config_default(), t.config.block = 7, t.words = "even";
    run_comms(2, 20, play, &t);
    unlink(path);
}

/* 44,850 pairs of two samples each. With a working set of full size for every pair this took 4 million page faults. */
static void pairs_of_few_samples_take_little_memory(void **state)
{
    (void)state;
    char path[64], *text = tutti_alloc(300 * 16);
    size_t n = 0;
    for (int i = 1; i <= 300; i++) n += (size_t)sprintf(text + n, "%d 1:%d\n", i, i);
    trial t = {.path = path, .config = tutti_svm_config_default()};
    write_set(path, text);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    run_comms(1, 20, play, &t);
    getrusage(RUSAGE_SELF, &after);
    assert_non_null(strstr(t.model, "nr_class 300\ntotal_sv 300\n"));
    assert_true(after.ru_minflt - before.ru_minflt < 100000);
    free(t.model);
    tutti_svm_summary_release(&t.summary);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_classes),
        cmocka_unit_test(four_classes_with_probabilities),
        cmocka_unit_test(a_cross_validation_predicts_the_same_at_any_number_of_ranks),
        cmocka_unit_test(fewer_samples_than_ranks_make_the_same_model),
        cmocka_unit_test(with_as_many_folds_as_samples_each_is_left_out_alone),
        cmocka_unit_test(weights_move_the_border),
        cmocka_unit_test(one_class_is_refused_on_all_ranks_unless_asked_for),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(pairs_of_few_samples_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
