/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint_identity.c: the identity of a training: data and settings. The hash of a data set is the sum of its
 * rows' hashes; a row's hash includes the row's number. A sum of whole numbers is the same however the rows are
 * distributed over ranks. */
#include "svm_checkpoint_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "../solve/svm_context.h"

static uint64_t hash_of_row(const tutti_svm_data *d, int64_t i)
{
    const size_t n = (size_t)(d->start[i + 1] - d->start[i]);
    uint64_t parts[] = {(uint64_t)(d->first + i), 0, tutti_hash(d->index + d->start[i], n * sizeof *d->index),
                        tutti_hash(d->value + d->start[i], n * sizeof *d->value)};
    memcpy(&parts[1], &d->label[i], sizeof parts[1]);
    return tutti_hash(parts, sizeof parts);
}

static tutti_status hash_of_data(tutti_svm_context *e, uint64_t *out, tutti_failure *err)
{
    int64_t mine[2] = {0}, *all = tutti_alloc(2 * (size_t)e->nranks * sizeof *all);
    uint64_t sum = 0;
    for (int64_t i = 0; i < e->data->nrows; i++) sum += hash_of_row(e->data, i);
    memcpy(&mine[0], &sum, sizeof sum);
    const tutti_status st = tutti_svm_context_share(e, mine, all, err);
    *out = 0;
    for (int r = 0; r < e->nranks && !st; r++) *out += (uint64_t)all[2 * r];
    free(all);
    return st;
}

static void add_real(tutti_strbuf *out, const char *name, double value)
{
    tutti_strbuf_printf(out, "%s: ", name);
    tutti_strbuf_add_real(out, value);
    tutti_strbuf_puts(out, "\n");
}

static void add_kernel(const tutti_svm_kernel *k, tutti_strbuf *out)
{
    const bool is_poly = k->type == TUTTI_SVM_POLY;
    tutti_strbuf_printf(out, "kernel (-t): %s\n", tutti_svm_kernel_name(k->type));
    if (is_poly) tutti_strbuf_printf(out, "degree (-d): %d\n", k->degree);
    if (is_poly || k->type == TUTTI_SVM_RBF || k->type == TUTTI_SVM_SIGMOID) add_real(out, "gamma (-g)", k->gamma);
    if (is_poly || k->type == TUTTI_SVM_SIGMOID) add_real(out, "coef0 (-r)", k->coef0);
}

static void add_elimination(const tutti_svm_elimination *rule, tutti_strbuf *out)
{
    static const char *const kinds[] = {
        [TUTTI_SVM_KEEP_ALL] = "none", [TUTTI_SVM_SINGLE] = "single", [TUTTI_SVM_MULTI] = "multi"};
    tutti_strbuf_printf(out, "elimination (--elimination): %s\n", kinds[rule->kind]);
    if (rule->kind == TUTTI_SVM_KEEP_ALL) return;
    tutti_strbuf_printf(out, "threshold (--threshold): ");
    if (rule->iterations) {
        tutti_strbuf_printf(out, "random:%lld\n", (long long)rule->iterations);
    } else {
        tutti_strbuf_puts(out, "samples:");
        tutti_strbuf_add_real(out, 100 * rule->share);
        tutti_strbuf_puts(out, "%\n");
    }
}

tutti_status tutti_svm_identity(tutti_svm_training *t, const tutti_svm_classes *classes, tutti_strbuf *out,
                                tutti_failure *err)
{
    const tutti_svm_context *e = t->context;
    const tutti_svm_config *config = t->config;
    uint64_t hash;
    char words[17];
    const tutti_status st = hash_of_data(t->context, &hash, err);
    if (st) return st;
    tutti_hash_text(hash, words);
    tutti_strbuf_printf(out, "samples: %lld\nfeatures: %d\nhash of the data: %s\n", (long long)e->data->total,
                        e->data->width, words);
    add_kernel(&e->kernel, out);
    for (int k = 0; k < classes->n; k++) {
        char name[48];
        snprintf(name, sizeof name, "cost (-c, -w) of class %d", classes->label[k]);
        add_real(out, name, tutti_svm_cost_of(config, classes->label[k]));
    }
    add_real(out, "tolerance (-e)", config->eps);
    tutti_strbuf_printf(out, "probabilities (-b): %d\n", config->probability);
    if (config->probability) tutti_strbuf_printf(out, "seed (--seed): %llu\n", (unsigned long long)config->seed);
    add_elimination(&config->elimination, out);
    tutti_strbuf_printf(out, "precision (--precision): %s\n", e->precision == TUTTI_SVM_F32 ? "f32" : "f64");
    tutti_strbuf_printf(out, "working set (--block): %d\n", e->block);
    return TUTTI_OK;
}
