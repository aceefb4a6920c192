/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_svm_predict.c: `tutti svm-predict`: predicts labels of a data file by a model, with LIBSVM's messages and file
 * formats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/host/cores.h"
#include "../../base/host/memory.h"
#include "../../base/text/strbuf.h"
#include "svm_flags.h"

static const tutti_flag flags[] = {
    {"threads", "N", "threads (default: all cores)", 0},
    {"lenient", NULL, "accept NaN and models that are cut off, as LIBSVM does, and blank lines at the end", 0},
    {"decisions", "FILE", "decision values there too: a line a sample, a column a pair of classes", TUTTI_FLAG_WRITES},
};
static const tutti_svm_letter letters[] = {
    {'b', "0|1", "1: probabilities of all classes beside each label (default 0)"},
    {'q', NULL, "say nothing"},
};
enum { NFLAGS = sizeof flags / sizeof *flags, NLETTERS = sizeof letters / sizeof *letters };

static const char about[] = "Writes the predicted label of each sample of DATA to OUT, a line each, and prints the "
                            "accuracy. Also as a program\n"
                            "of its own, svm-predict.";

typedef struct {
    bool probability, quiet;
    int nthreads;
    const char *decisions; /* file for decision values; NULL = not asked for */
} order;

typedef struct {
    int64_t n;
    double *label, *decision, *probability;
} answers;

static void write_labels(const tutti_svm_model *m, const answers *a, tutti_strbuf *out)
{
    if (a->probability) {
        tutti_strbuf_puts(out, "labels");
        for (int k = 0; k < m->nclasses; k++) tutti_strbuf_printf(out, " %d", m->label[k]);
        tutti_strbuf_puts(out, "\n");
    }
    for (int64_t i = 0; i < a->n; i++) {
        tutti_strbuf_printf(out, "%.17g", a->label[i]);
        for (int k = 0; a->probability && k < m->nclasses; k++)
            tutti_strbuf_printf(out, " %g", a->probability[i * m->nclasses + k]);
        tutti_strbuf_puts(out, "\n");
    }
}

static void write_decisions(int npairs, const answers *a, tutti_strbuf *out)
{
    for (int64_t i = 0; i < a->n; i++)
        for (int p = 0; p < npairs; p++)
            tutti_strbuf_printf(out, "%.17g%c", a->decision[i * npairs + p], p + 1 < npairs ? ' ' : '\n');
}

static void print_accuracy(const tutti_svm_data *data, const answers *a)
{
    int64_t right = 0;
    for (int64_t i = 0; i < a->n; i++) right += a->label[i] == data->label[i];
    if (a->n == 0)
        printf("Accuracy = nan%% (0/0) (classification)\n");
    else
        printf("Accuracy = %g%% (%lld/%lld) (classification)\n", 100.0 * (double)right / (double)a->n, (long long)right,
               (long long)a->n);
}

static tutti_status answer(const order *o, const tutti_svm_model *m, const tutti_svm_data *data, const char *path,
                           tutti_failure *err)
{
    const int npairs = m->nclasses * (m->nclasses - 1) / 2;
    const size_t n = (size_t)data->nrows;
    const double columns = 1.0 + (o->decisions ? npairs : 0) + (o->probability ? m->nclasses : 0), number = 8 + 25;
    const double need = number * columns * (double)n; /* each number is held as a double and as text */
    tutti_status st = tutti_memory_check(need < 9e18 ? (int64_t)need : INT64_MAX, "the answers",
                                         "predict a part of the rows at a time", err);
    if (st) return st;
    answers a = {data->nrows, tutti_alloc((n + 1) * sizeof(double)), NULL, NULL};
    if (o->decisions) a.decision = tutti_alloc((n * (size_t)npairs + 1) * sizeof(double));
    if (o->probability) a.probability = tutti_alloc((n * (size_t)m->nclasses + 1) * sizeof(double));
    tutti_strbuf text = {0}, decisions = {0};
    st = tutti_svm_predict(m, data, o->nthreads, a.label, a.decision, a.probability, err);
    if (!st) {
        write_labels(m, &a, &text);
        st = tutti_cli_write(path, text.length ? text.text : "", err);
    }
    if (!st && o->decisions) {
        write_decisions(npairs, &a, &decisions);
        st = tutti_cli_write(o->decisions, decisions.length ? decisions.text : "", err);
    }
    if (!st && !o->quiet) print_accuracy(data, &a);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&decisions);
    free(a.label);
    free(a.decision);
    free(a.probability);
    return st;
}

static tutti_status check_probability(const order *o, const tutti_svm_model *m, const char *path, tutti_failure *err)
{
    const bool has = m->prob_a && m->prob_b;
    if (o->probability && !has)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a model without probabilities: train it with -b 1", path);
    if (!o->probability && has && !o->quiet)
        printf("Model supports probability estimates, but disabled in prediction.\n");
    return TUTTI_OK;
}

static tutti_status predict(const tutti_svm_words *w, tutti_failure *err)
{
    const tutti_flags *f = &w->long_ones;
    const bool lenient = tutti_cli_has(f, "lenient");
    order o = {.decisions = tutti_cli_value(f, "decisions", NULL)};
    tutti_status st = tutti_svm_threads(f, &o.nthreads, err);
    if (!o.nthreads) o.nthreads = tutti_svm_threads_share(1, tutti_cores_usable());
    for (int i = 0; i < w->n && !st; i++) {
        long n = 1;
        if (w->given[i].letter == 'b') st = tutti_svm_letter_whole('b', w->given[i].value, 0, 1, &n, err);
        *(w->given[i].letter == 'b' ? &o.probability : &o.quiet) = n != 0;
    }
    if (!st && f->nrest != 3) st = tutti_fail(err, TUTTI_ERR_USAGE, "three files are wanted: [options] DATA MODEL OUT");
    const tutti_output files[] = {{.what = "the data", .path = f->rest[0]},
                                  {.what = "the model", .path = f->rest[1]},
                                  {.what = "OUT", .path = f->rest[2], .written = true},
                                  {.what = "--decisions", .path = o.decisions, .written = true}};
    if (!st) st = tutti_outputs_check(files, sizeof files / sizeof *files, err);
    if (!st) st = tutti_outputs_try(files, sizeof files / sizeof *files, err);
    if (st) return st;
    tutti_svm_model model = {0};
    tutti_svm_data data = {0};
    st = tutti_svm_model_read(f->rest[1], lenient, &model, err);
    if (!st) st = check_probability(&o, &model, f->rest[1], err);
    const tutti_svm_reading how = {lenient, model.kernel.type == TUTTI_SVM_PRECOMPUTED, true};
    if (!st) st = tutti_svm_data_read(NULL, f->rest[0], &how, &data, err);
    if (!st) tutti_svm_warn_of_cancelling("svm-predict", tutti_svm_kernel_error(&model.kernel, &data));
    if (!st) st = answer(&o, &model, &data, f->rest[2], err);
    tutti_svm_data_release(&data);
    tutti_svm_model_release(&model);
    return st;
}

static int run_command(int argc, char **argv)
{
    tutti_svm_words w;
    tutti_failure err = {0};
    tutti_status st = tutti_svm_words_split(argc, argv, letters, NLETTERS, flags, NFLAGS, &w, &err);
    if (!st && (w.long_ones.help || argc == 1))
        tutti_svm_words_help("tutti svm-predict [options] DATA MODEL OUT", about, letters, NLETTERS, flags, NFLAGS);
    if (!st && w.long_ones.help) return TUTTI_OK;
    if (!st) st = predict(&w, &err);
    return st ? tutti_cli_fail("svm-predict", &err) : TUTTI_OK;
}

const tutti_command tutti_command_svm_predict = {
    "svm-predict", "labels of a data file by an SVM model (LIBSVM's formats and flags)", run_command};
