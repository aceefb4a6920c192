/* SPDX-License-Identifier: Apache-2.0 */
/* test_evaluate.c: figures of a test set do not depend on who counts which part of it. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "training/run/step/evaluate.h"
#include "training/run/step/sparsity.h"

static const char model_text[] = "name: tiny\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n"
                                 "  - flatten: {}\n"
                                 "  - dense: {units: 10}\n"
                                 "  - softmax-cross-entropy: {}\n";

typedef struct {
    tutti_model *model;
    tutti_dataset *data;
    tutti_graph *graph;
    float *weights;
    int64_t offset[2];
    tutti_packed_weights packed;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    tutti_failure err = {0};
    tutti_graph *g = NULL;
    const tutti_dataset_config c = {.set = "digits", .seed = 1, .train_samples = 1, .test_samples = 330};
    if (tutti_model_parse("tiny", model_text, strlen(model_text), &f->model, &err)) fail_msg("%s", err.text);
    if (tutti_dataset_open(&c, TUTTI_SPLIT_TEST, &f->data, &err)) fail_msg("%s", err.text);
    if (tutti_graph_build(f->model,
                          &(tutti_graph_config){.batch = 1, .engine = "reference", .nthreads = 1, .training = false},
                          &g, &err))
        fail_msg("%s", err.text);
    assert_int_equal(g->nparams, 2);
    f->weights = calloc((size_t)(g->params[0].count + g->params[1].count), sizeof(float));
    f->offset[1] = g->params[0].count;
    for (int p = 0; p < 2; p++) tutti_graph_init_param(&g->params[p], 1, f->weights + f->offset[p]);
    f->graph = g;
    f->packed = (tutti_packed_weights){g, f->weights, f->offset};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    tutti_dataset_destroy(f->data);
    tutti_graph_destroy(f->graph);
    tutti_model_destroy(f->model);
    free(f->weights);
    free(f);
    return 0;
}

static void parts_of_the_set_add_up_to_the_whole_exactly(void **state)
{
    fixture *f = *state;
    tutti_evaluator *e;
    tutti_eval_result whole;
    tutti_failure err = {0};
    assert_int_equal(tutti_evaluator_create(f->graph, f->data, tutti_device_cpu(), &e, &err), TUTTI_OK);
    assert_int_equal(tutti_evaluator_run(e, &f->packed, 0, 1, &whole, NULL), TUTTI_OK);
    assert_int_equal(whole.nsamples, 330); /* three blocks of 100 and one of 30 */
    assert_true(whole.loss > 0);
    for (int nparts = 2; nparts <= 7; nparts++) {
        tutti_eval_result sum = {0}, part;
        for (int r = 0; r < nparts; r++) {
            assert_int_equal(tutti_evaluator_run(e, &f->packed, r, nparts, &part, NULL), TUTTI_OK);
            sum.nsamples += part.nsamples;
            sum.correct += part.correct;
            sum.loss += part.loss;
        }
        assert_int_equal(sum.nsamples, whole.nsamples);
        assert_int_equal(sum.correct, whole.correct);
        assert_true(sum.loss == whole.loss);
    }
    tutti_evaluator_destroy(e);
}

static int after_two_blocks(void *arg)
{
    return ++*(int *)arg > 2 ? 15 : 0;
}

static void a_test_ends_early_when_it_is_asked_to(void **state)
{
    fixture *f = *state;
    tutti_evaluator *e;
    tutti_eval_result r;
    tutti_failure err = {0};
    int nasked = 0;
    assert_int_equal(tutti_evaluator_create(f->graph, f->data, tutti_device_cpu(), &e, &err), TUTTI_OK);
    tutti_evaluator_watch(e, after_two_blocks, &nasked, (tutti_headway){0});
    assert_int_equal(tutti_evaluator_run(e, &f->packed, 0, 1, &r, NULL), TUTTI_OK);
    assert_int_equal(r.stopped, 15);
    assert_int_equal(r.nsamples, 200);
    tutti_evaluator_destroy(e);
}

static void weights_of_zero_know_one_class_and_lose_log_10(void **state)
{
    fixture *f = *state;
    tutti_eval_result r;
    tutti_failure err = {0};
    int64_t zeros = 0;
    memset(f->weights, 0, sizeof(float) * (size_t)f->offset[1]);
    memset(f->weights + f->offset[1], 0, sizeof(float) * 10);
    assert_int_equal(tutti_evaluate(&f->packed, f->data, NULL, &r, &err), TUTTI_OK);
    float *sample = malloc(sizeof(float) * 28 * 28);
    tutti_reader *reader = tutti_reader_create(f->data);
    for (int64_t i = 0; i < 330; i++) {
        int32_t label;
        assert_int_equal(tutti_reader_read(reader, (tutti_pass){0}, i, sample, &label, &err), TUTTI_OK);
        zeros += label == 0;
    }
    tutti_reader_destroy(reader);
    free(sample);
    assert_int_equal(r.correct, zeros); /* the first of equal logits wins */
    assert_true(r.loss > 2.302584 && r.loss < 2.302586);
}

static void data_that_do_not_fit_the_model_are_refused_with_both_shapes(void **state)
{
    fixture *f = *state;
    tutti_failure err = {0};
    tutti_eval_result r;
    f->model->input.dim[1] = 14;
    assert_int_equal(tutti_evaluate(&f->packed, f->data, NULL, &r, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "(1, 28, 28)"));
    assert_non_null(strstr(err.text, "(1, 14, 28)"));
    f->model->input.dim[1] = 28;
}

/* What a listener heard: rows of (index, label, prediction), and all probabilities. */
typedef struct {
    int64_t n, ncorrect;
    int32_t predicted[330];
    float probability[330][10];
    double loss;
} heard;

static void hear(void *arg, const tutti_answer *a)
{
    heard *h = arg;
    assert_true(a->index == h->n && a->nclasses == 10);
    double sum = 0;
    for (int k = 0; k < 10; k++) {
        assert_true(a->probability[k] >= 0 && a->probability[k] <= a->probability[a->predicted]);
        h->probability[h->n][k] = a->probability[k];
        sum += (double)a->probability[k];
    }
    assert_true(fabs(sum - 1) < 1e-6);
    h->loss -= log((double)a->probability[a->label]);
    h->ncorrect += a->predicted == a->label;
    h->predicted[h->n++] = a->predicted;
}

static void answers_come_in_order_and_agree_with_accuracy_and_loss(void **state)
{
    fixture *f = *state;
    tutti_eval_result r, alone;
    tutti_failure err = {0};
    heard *h = calloc(1, sizeof *h);
    assert_int_equal(tutti_evaluate(&f->packed, f->data, &(tutti_answer_listener){hear, h}, &r, &err), TUTTI_OK);
    assert_int_equal(tutti_evaluate(&f->packed, f->data, NULL, &alone, &err), TUTTI_OK);
    assert_int_equal(h->n, 330);
    assert_int_equal(h->ncorrect, r.correct);
    assert_true(fabs(h->loss / 330 - r.loss) < 1e-5);
    assert_true(r.correct == alone.correct && r.loss == alone.loss); /* whoever listens */
    free(h);
}

static void one_sample_alone_has_the_answer_that_it_has_in_the_set(void **state)
{
    fixture *f = *state;
    tutti_eval_result r;
    tutti_failure err = {0};
    tutti_classifier *c;
    heard *h = calloc(1, sizeof *h);
    float sample[28 * 28], probability[10];
    int32_t label;
    assert_int_equal(tutti_evaluate(&f->packed, f->data, &(tutti_answer_listener){hear, h}, &r, &err), TUTTI_OK);
    assert_int_equal(tutti_classifier_create(&f->packed, &c, &err), TUTTI_OK);
    tutti_reader *reader = tutti_reader_create(f->data);
    for (int64_t i = 0; i < 330; i += 7) {
        assert_int_equal(tutti_reader_read(reader, (tutti_pass){0}, i, sample, &label, &err), TUTTI_OK);
        assert_int_equal(tutti_classify(c, sample, probability), h->predicted[i]);
        for (int k = 0; k < 10; k++) assert_true(probability[k] == h->probability[i][k]); /* the reference kernels */
    }
    tutti_reader_destroy(reader);
    tutti_classifier_destroy(c);
    free(h);
}

static void a_loss_without_classes_has_no_answers(void **state)
{
    fixture *f = *state;
    tutti_failure err = {0};
    tutti_eval_result r;
    tutti_classifier *c;
    heard h = {0};
    const tutti_op_row *loss = f->model->layers[f->model->nlayers - 1].op;
    tutti_op_row other = *loss;
    other.name = "squared-distance";
    f->model->layers[f->model->nlayers - 1].op = &other;
    assert_int_equal(tutti_classifier_create(&f->packed, &c, &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_evaluate(&f->packed, f->data, &(tutti_answer_listener){hear, &h}, &r, &err),
                     TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "squared-distance, which tells no classes apart"));
    assert_int_equal(h.n, 0);
    f->model->layers[f->model->nlayers - 1].op = loss;
}

/* ---- zeros of ReLUs ---- */

static const char relu_text[] = "name: rectified\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n"
                                "  - flatten: {}\n"
                                "  - dense: {name: hidden, units: 12}\n"
                                "  - relu: {name: middle}\n"
                                "  - dense: {name: out, units: 10}\n"
                                "  - softmax-cross-entropy: {}\n";

typedef struct {
    tutti_model *parsed, *model;
    tutti_graph *graph;
    float *weights;
    int64_t offset[4];
    tutti_evaluator *e;
} rectified;

static void open_rectified(rectified *r, const fixture *f, bool merged)
{
    tutti_failure err = {0};
    int64_t n = 0;
    if (tutti_model_parse("rectified", relu_text, strlen(relu_text), &r->parsed, &err)) fail_msg("%s", err.text);
    r->model = merged ? tutti_model_fuse(r->parsed) : r->parsed;
    const tutti_graph_config config = {.batch = 1, .engine = "reference", .nthreads = 1};
    if (tutti_graph_build(r->model, &config, &r->graph, &err)) fail_msg("%s", err.text);
    assert_int_equal(r->graph->nparams, 4);
    for (int p = 0; p < 4; p++) r->offset[p] = n, n += r->graph->params[p].count;
    r->weights = calloc((size_t)n, sizeof(float));
    for (int p = 0; p < 4; p++) tutti_graph_init_param(&r->graph->params[p], 1, r->weights + r->offset[p]);
    assert_int_equal(tutti_evaluator_create(r->graph, f->data, tutti_device_cpu(), &r->e, &err), TUTTI_OK);
}

static void close_rectified(rectified *r)
{
    tutti_evaluator_destroy(r->e);
    tutti_graph_destroy(r->graph);
    if (r->model != r->parsed) tutti_model_destroy(r->model);
    tutti_model_destroy(r->parsed);
    free(r->weights);
}

static int64_t zeros_of(rectified *r, int part, int nparts)
{
    int64_t *zeros;
    tutti_eval_result ignored;
    assert_int_equal(tutti_evaluator_run(r->e, &(tutti_packed_weights){r->graph, r->weights, r->offset}, part, nparts,
                                         &ignored, NULL),
                     TUTTI_OK);
    const tutti_relus *relus = tutti_evaluator_relus(r->e, &zeros);
    assert_int_equal(relus->n, 1);
    assert_string_equal(relus->relus[0].name, "middle");
    assert_int_equal(relus->relus[0].elements, 12);
    return zeros[0];
}

/* Weights of zero leave the biases: five of twelve are not above it. */
static void zeros_of_a_relu_are_counted_exactly(void **state)
{
    static const float bias[12] = {-1, 1, 0, 2, -3, 4, 5, -0.0f, 6, 7, 8, -9};
    for (int merged = 0; merged < 2; merged++) {
        rectified r;
        open_rectified(&r, *state, merged);
        memset(r.weights + r.offset[0], 0, (size_t)r.graph->params[0].count * sizeof(float));
        memcpy(r.weights + r.offset[1], bias, sizeof bias);
        assert_int_equal(zeros_of(&r, 0, 1), 5 * 330);
        close_rectified(&r);
    }
}

static void zeros_of_parts_add_up_to_those_of_the_whole(void **state)
{
    rectified r;
    open_rectified(&r, *state, true);
    const int64_t whole = zeros_of(&r, 0, 1);
    assert_in_range(whole, 1, 12 * 330 - 1);
    for (int nparts = 2; nparts <= 7; nparts++) {
        int64_t sum = 0;
        for (int part = 0; part < nparts; part++) sum += zeros_of(&r, part, nparts);
        assert_int_equal(sum, whole);
    }
    close_rectified(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_of_the_set_add_up_to_the_whole_exactly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_test_ends_early_when_it_is_asked_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(weights_of_zero_know_one_class_and_lose_log_10, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_come_in_order_and_agree_with_accuracy_and_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_sample_alone_has_the_answer_that_it_has_in_the_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loss_without_classes_has_no_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zeros_of_a_relu_are_counted_exactly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zeros_of_parts_add_up_to_those_of_the_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_that_do_not_fit_the_model_are_refused_with_both_shapes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
