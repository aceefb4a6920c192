/* SPDX-License-Identifier: Apache-2.0 */
/* svm_model.c: prints and writes a model in LIBSVM's format. Coefficients have 17 digits and are read back exactly.
 * Entries have 8 digits: writing and reading a model changes them once, and not again when it is repeated. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "svm_model_impl.h"

const char *tutti_svm_kernel_name(tutti_svm_kernel_type t)
{
    static const char *const names[TUTTI_SVM_NKERNELS] = {"linear", "polynomial", "rbf", "sigmoid", "precomputed"};
    return names[t];
}

static int64_t npairs_of(const tutti_svm_model *m)
{
    return (int64_t)m->nclasses * (m->nclasses - 1) / 2;
}

static void add_numbers(tutti_strbuf *sb, const char *key, const double *numbers, int64_t n)
{
    tutti_strbuf_puts(sb, key);
    for (int64_t i = 0; i < n; i++) tutti_strbuf_printf(sb, " %.17g", numbers[i]);
    tutti_strbuf_puts(sb, "\n");
}

static void add_header(tutti_strbuf *sb, const tutti_svm_model *m)
{
    const tutti_svm_kernel *k = &m->kernel;
    tutti_strbuf_printf(sb, "svm_type c_svc\nkernel_type %s\n", tutti_svm_kernel_name(k->type));
    if (k->type == TUTTI_SVM_POLY) tutti_strbuf_printf(sb, "degree %d\n", k->degree);
    if (k->type == TUTTI_SVM_POLY || k->type == TUTTI_SVM_RBF || k->type == TUTTI_SVM_SIGMOID)
        tutti_strbuf_printf(sb, "gamma %.17g\n", k->gamma);
    if (k->type == TUTTI_SVM_POLY || k->type == TUTTI_SVM_SIGMOID) tutti_strbuf_printf(sb, "coef0 %.17g\n", k->coef0);
    tutti_strbuf_printf(sb, "nr_class %d\ntotal_sv %lld\n", m->nclasses, (long long)m->nsv);
    add_numbers(sb, "rho", m->rho, npairs_of(m));
    tutti_strbuf_puts(sb, "label");
    for (int c = 0; c < m->nclasses; c++) tutti_strbuf_printf(sb, " %d", m->label[c]);
    tutti_strbuf_puts(sb, "\n");
    if (m->prob_a) add_numbers(sb, "probA", m->prob_a, npairs_of(m));
    if (m->prob_b) add_numbers(sb, "probB", m->prob_b, npairs_of(m));
    tutti_strbuf_puts(sb, "nr_sv");
    for (int c = 0; c < m->nclasses; c++) tutti_strbuf_printf(sb, " %lld", (long long)m->nsv_of[c]);
    tutti_strbuf_puts(sb, "\nSV\n");
}

/* Adds "3:0.25 ". Small whole numbers, which are frequent in sparse sets, need no printf for reals. */
static void add_entry(tutti_strbuf *sb, int32_t index, double value)
{
    char text[48];
    const bool small = fabs(value) < 1e7 && value == (double)(int32_t)value && !(value == 0 && signbit(value));
    const int n = small ? snprintf(text, sizeof text, "%d:%d ", index, (int)value)
                        : snprintf(text, sizeof text, "%d:%.8g ", index, value);
    tutti_strbuf_add(sb, text, (size_t)n);
}

static void add_vector(tutti_strbuf *sb, const tutti_svm_model *m, int64_t v)
{
    char text[48];
    for (int c = 0; c + 1 < m->nclasses; c++) {
        const int n = snprintf(text, sizeof text, "%.17g ", m->coef[c * m->nsv + v]);
        tutti_strbuf_add(sb, text, (size_t)n);
    }
    const int64_t begin = m->sv.start[v];
    if (m->kernel.type == TUTTI_SVM_PRECOMPUTED)
        /* for a precomputed kernel, a support vector is only the number of its row */
        tutti_strbuf_printf(sb, "0:%d ", (int)m->sv.value[begin]);
    else
        for (int64_t i = begin; i < m->sv.start[v + 1]; i++) add_entry(sb, m->sv.index[i], m->sv.value[i]);
    tutti_strbuf_puts(sb, "\n");
}

char *tutti_svm_model_print(const tutti_svm_model *model, size_t *nbytes)
{
    tutti_strbuf sb = {0};
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = c ? uselocale(c) : (locale_t)0;
    add_header(&sb, model);
    for (int64_t v = 0; v < model->nsv; v++) add_vector(&sb, model, v);
    if (c) {
        uselocale(old);
        freelocale(c);
    }
    *nbytes = sb.length;
    return tutti_strbuf_detach(&sb);
}

tutti_status tutti_svm_model_write(const tutti_svm_model *model, const char *path, tutti_failure *err)
{
    size_t nbytes;
    char *text = tutti_svm_model_print(model, &nbytes);
    tutti_status st = tutti_file_write_atomic(path, text, nbytes, err);
    free(text);
    return st;
}

void tutti_svm_model_release(tutti_svm_model *model)
{
    if (!model) return;
    free(model->label);
    free(model->nsv_of);
    free(model->rho);
    free(model->prob_a);
    free(model->prob_b);
    free(model->coef);
    tutti_svm_data_release(&model->sv);
    *model = (tutti_svm_model){0};
}
