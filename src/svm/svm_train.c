/* SPDX-License-Identifier: Apache-2.0 */
/* svm_train.c: trains an SVM of many classes, one-vs-one. Pairs follow each other, each solved by all ranks and
 * threads: a pair's rows lie on all ranks, and a rank that had a pair for itself would need them all. */
#include <math.h>
#include <stdlib.h>

#include "../base/arena.h"
#include "checkpoint/svm_checkpoint.h"

tutti_svm_config tutti_svm_config_default(void)
{
    tutti_svm_config c = {.kernel = {.type = TUTTI_SVM_RBF, .degree = 3},
                          .cost = 1,
                          .eps = 1e-3,
                          .cache_mb = 100,
                          .nthreads = 1,
                          .seed = 1,
                          .checkpoint_s = 60};
    if (tutti_svm_elimination_parse(NULL, NULL, &c.elimination, NULL))
        c.elimination = (tutti_svm_elimination){.name = "none", .kind = TUTTI_SVM_KEEP_ALL};
    return c;
}

static tutti_status check_config(const tutti_svm_config *c, tutti_failure *err)
{
    const tutti_svm_kernel *k = &c->kernel;
    if (!(c->cost > 0) || !isfinite(c->cost))
        return tutti_fail(err, TUTTI_ERR_USAGE, "C = %g: the cost must be a number above 0", c->cost);
    if (!(c->eps > 0) || !isfinite(c->eps))
        return tutti_fail(err, TUTTI_ERR_USAGE, "eps = %g: the tolerance must be a number above 0", c->eps);
    if (!(c->cache_mb > 0) || !isfinite(c->cache_mb))
        return tutti_fail(err, TUTTI_ERR_USAGE, "cache of %g MB: give a number above 0", c->cache_mb);
    if (k->type < 0 || k->type >= TUTTI_SVM_NKERNELS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "no such kernel: %d", k->type);
    if (!(k->gamma >= 0) || !isfinite(k->gamma))
        return tutti_fail(err, TUTTI_ERR_USAGE, "gamma = %g: give a number, 0 or above", k->gamma);
    if (!isfinite(k->coef0)) return tutti_fail(err, TUTTI_ERR_USAGE, "coef0 = %g: give a number", k->coef0);
    if (k->degree < 0) return tutti_fail(err, TUTTI_ERR_USAGE, "degree %d: give 0 or above", k->degree);
    if (c->nthreads < 1) return tutti_fail(err, TUTTI_ERR_USAGE, "%d threads: give 1 at least", c->nthreads);
    if (c->block < 0 || c->block % 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "a working set of %d samples: give an even number, 2 at least",
                          c->block);
    for (int i = 0; i < c->nweights; i++)
        if (!(c->weight[i] > 0) || !isfinite(c->weight[i]))
            return tutti_fail(err, TUTTI_ERR_USAGE, "weight %g of class %d: give a number above 0", c->weight[i],
                              c->weight_label[i]);
    return TUTTI_OK;
}

static tutti_status check_classes(const tutti_svm_config *config, const tutti_svm_classes *c, tutti_failure *err)
{
    if (c->n >= 2 || config->lenient) return TUTTI_OK;
    if (c->n == 0) return tutti_fail(err, TUTTI_ERR_DATA, "no samples");
    return tutti_fail(err, TUTTI_ERR_DATA, "all samples are of class %d: training wants two classes at least",
                      c->label[0]);
}

tutti_status tutti_svm_training_begin(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      tutti_svm_training *t, tutti_svm_classes *classes, tutti_failure *err)
{
    *t = (tutti_svm_training){.comm = comm, .data = data, .config = config};
    *classes = (tutti_svm_classes){0};
    tutti_status st = check_config(config, err);
    if (!st) st = tutti_svm_classes_find(comm, data, classes, err);
    if (!st) st = check_classes(config, classes, err);
    if (!st) st = tutti_svm_context_create(comm, data, config, &t->context, err);
    if (st) tutti_svm_training_end(t, classes);
    return st;
}

void tutti_svm_training_end(tutti_svm_training *t, tutti_svm_classes *classes)
{
    tutti_svm_context_destroy(t->context);
    t->context = NULL;
    tutti_svm_classes_release(classes);
}

/* Results that are collected while pairs are solved. */
typedef struct {
    double *coef; /* [nclasses - 1][nrows] coefficients, in LIBSVM's arrangement */
    double *rho, *prob_a, *prob_b;
    tutti_svm_summary summary;
} harvest;

static void keep_part(const tutti_svm_training *t, const tutti_svm_part *part, int i, int j, int pair, harvest *h)
{
    const int64_t nrows = t->data->nrows;
    double *first = h->coef + (j - 1) * nrows, *second = h->coef + i * nrows;
    for (int64_t s = 0; s < part->n; s++) (part->y[s] > 0 ? first : second)[part->row[s]] = part->y[s] * part->alpha[s];
    h->rho[pair] = part->result.rho;
    h->summary.pair[pair] = part->result;
}

static tutti_status train_pair(tutti_svm_training *t, const tutti_svm_classes *c, int i, int j, harvest *h,
                               tutti_failure *err)
{
    const int pair = tutti_svm_pair_number(i, j, c->n);
    tutti_svm_part part = {0};
    tutti_status st = TUTTI_OK;
    tutti_svm_sigmoid sigmoid = {0, 0};
    if (h->prob_a) st = tutti_svm_platt_fit(t, c, i, j, &sigmoid, err);
    if (h->prob_a) h->prob_a[pair] = sigmoid.a, h->prob_b[pair] = sigmoid.b;
    if (!st) st = tutti_svm_part_train(t, c, i, j, &part, err);
    if (!st) keep_part(t, &part, i, j, pair, h);
    tutti_svm_part_release(&part);
    return st ? tutti_fail_at(err, "classes %d and %d", c->label[i], c->label[j]) : TUTTI_OK;
}

static tutti_status train_pairs(tutti_svm_training *t, const tutti_svm_classes *c, tutti_svm_model *model,
                                tutti_svm_summary *summary, tutti_failure *err)
{
    const int npairs = c->n * (c->n - 1) / 2;
    harvest h = {.coef = tutti_alloc(((size_t)c->n * (size_t)t->data->nrows + 1) * sizeof *h.coef),
                 .rho = tutti_alloc((size_t)(npairs + 1) * sizeof *h.rho),
                 .summary = {npairs, tutti_alloc((size_t)(npairs + 1) * sizeof *h.summary.pair)}};
    if (t->config->probability) {
        h.prob_a = tutti_alloc((size_t)(npairs + 1) * sizeof *h.prob_a);
        h.prob_b = tutti_alloc((size_t)(npairs + 1) * sizeof *h.prob_b);
    }
    t->nproblems = npairs * (t->config->probability ? 1 + TUTTI_SVM_PLATT_FOLDS : 1);
    tutti_status st = TUTTI_OK;
    for (int i = 0; !st && i < c->n; i++)
        for (int j = i + 1; !st && j < c->n; j++) st = train_pair(t, c, i, j, &h, err);
    if (!st) st = tutti_svm_model_gather(t, c, h.coef, model, err);
    free(h.coef);
    if (!st && tutti_comm_rank(t->comm) == 0) {
        model->rho = h.rho, model->prob_a = h.prob_a, model->prob_b = h.prob_b;
    } else {
        free(h.rho);
        free(h.prob_a);
        free(h.prob_b);
    }
    if (st)
        tutti_svm_summary_release(&h.summary);
    else
        *summary = h.summary;
    return st;
}

tutti_status tutti_svm_train(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                             tutti_svm_model *model, tutti_svm_summary *summary, tutti_failure *err)
{
    tutti_svm_training t;
    tutti_svm_classes classes;
    tutti_svm_model made = {0};
    tutti_status st = tutti_svm_training_begin(comm, data, config, &t, &classes, err);
    if (st) return st;
    st = tutti_svm_checkpoint_open(&t, &classes, err);
    if (!st) st = train_pairs(&t, &classes, &made, summary, err);
    tutti_svm_checkpoint_close(t.context);
    if (st)
        tutti_svm_model_release(&made);
    else
        *model = made;
    tutti_svm_training_end(&t, &classes);
    return st;
}

void tutti_svm_summary_release(tutti_svm_summary *summary)
{
    free(summary->pair);
    *summary = (tutti_svm_summary){0};
}
