/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c: `tutti eval CKPT`: tests a checkpoint on the data of its job or on other data, with the answers of each
 * sample and a confusion matrix. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/host/memory.h"
#include "../../metrics/chart/chart.h"
#include "../../training/run/tell/predictions.h"
#include "trained_flags.h"

static const tutti_flag flags[] = {
    TUTTI_TRAINED_FLAGS, /* these rows must come first: see trained_flags.h */
    {"predictions", "FILE",
     "write label, prediction and probabilities of each sample: .csv, .jsonl, or .npy (these alone)",
     TUTTI_FLAG_WRITES},
    {"per-class", NULL, "print the accuracy of each class, the worst first", 0},
    {"confusion", "[FILE.svg]", "print which classes are taken for which, or draw it",
     TUTTI_FLAG_WRITES | TUTTI_FLAG_OPTIONAL},
};

static const char about[] =
    "Prints accuracy and loss of a checkpoint on the test set. CKPT is a checkpoint "
    "(DIR/checkpoints/step_N) or a run's\n"
    "folder (then its newest whole checkpoint), or a file of weights with --model and --data, or --job.";

/* Outputs that are made from the answers for the samples. */
typedef struct {
    const char *predictions_path, *picture_path; /* files for the predictions and for the picture; NULL: not asked
                                                  * for */
    bool per_class, confusion;
    const tutti_predictions_form *form;
    tutti_predictions predictions;
    tutti_confusion classes;
    tutti_names names;
} answers;

static void take(void *arg, const tutti_answer *answer)
{
    answers *a = arg;
    if (a->form) tutti_predictions_add(&a->predictions, answer);
    if (a->classes.seen) tutti_confusion_add(&a->classes, answer->label, answer->predicted);
}

static bool is_listening(const answers *a)
{
    return a->form || a->per_class || a->confusion;
}

static tutti_status read_wishes(const tutti_flags *f, answers *a, tutti_failure *err)
{
    a->predictions_path = tutti_cli_value(f, "predictions", NULL);
    a->picture_path = tutti_cli_value(f, "confusion", NULL);
    a->per_class = tutti_cli_has(f, "per-class");
    a->confusion = tutti_cli_has(f, "confusion");
    const size_t n = a->picture_path ? strlen(a->picture_path) : 0;
    if (a->picture_path && (n < 5 || strcmp(a->picture_path + n - 4, ".svg") != 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--confusion=%s: the picture's name ends in .svg", a->picture_path);
    return a->predictions_path ? tutti_predictions_find(a->predictions_path, &a->form, err) : TUTTI_OK;
}

static tutti_status begin_answers(const tutti_trained *t, const tutti_dataset *test, answers *a, tutti_failure *err)
{
    const int n = t->model->nclasses;
    tutti_status st = TUTTI_OK;
    if (a->form) st = tutti_predictions_begin(a->form, tutti_dataset_count(test), n, &a->predictions, err);
    if (st || !(a->per_class || a->confusion)) return st;
    const double cells = (a->confusion ? (double)n * n : 0) + 2.0 * n;
    st = tutti_memory_check((int64_t)(cells * sizeof(int64_t)), "counts of classes", "leave --confusion out", err);
    if (st) return st;
    tutti_trained_names(t, &a->names);
    a->classes =
        (tutti_confusion){.nclasses = n, .name = (const char *const *)a->names.name, .nnames = (int)a->names.n};
    a->classes.seen = tutti_alloc(sizeof(int64_t) * (size_t)n);
    a->classes.right = tutti_alloc(sizeof(int64_t) * (size_t)n);
    if (a->confusion) a->classes.count = tutti_alloc(sizeof(int64_t) * (size_t)n * (size_t)n);
    return TUTTI_OK;
}

static tutti_status end_answers(const answers *a, tutti_failure *err)
{
    tutti_strbuf text = {0}, picture = {0};
    tutti_status st = TUTTI_OK;
    if (a->form) st = tutti_predictions_write(&a->predictions, a->predictions_path, err);
    if (a->per_class) tutti_confusion_accuracy(&a->classes, &text);
    if (a->confusion && !a->picture_path) tutti_confusion_text(&a->classes, &text);
    if (!st && text.length) st = tutti_cli_write(NULL, text.text, err);
    if (!st && a->picture_path) {
        tutti_confusion_svg(&a->classes, &picture);
        st = tutti_file_write_atomic(a->picture_path, picture.text, picture.length, err);
    }
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&picture);
    return st;
}

static void release_answers(answers *a)
{
    tutti_predictions_release(&a->predictions);
    tutti_names_release(&a->names);
    free(a->classes.seen);
    free(a->classes.right);
    free(a->classes.count);
}

static tutti_status evaluate(tutti_trained *t, const tutti_dataset *test, answers *a, tutti_failure *err)
{
    tutti_eval_result r;
    const tutti_answer_listener listener = {take, a};
    tutti_status st = begin_answers(t, test, a, err);
    if (!st)
        st = tutti_evaluate(&(tutti_packed_weights){t->graph, t->weights, t->offset}, test,
                            is_listening(a) ? &listener : NULL, &r, err);
    if (st) return st;
    char hash[17];
    tutti_hash_text(t->weights_hash, hash);
    printf("weights %s step %" PRId64 " samples %" PRId64 " loss %.6f accuracy %.4f\n", hash, t->step, r.nsamples,
           isnan(r.loss) ? (double)NAN : r.loss, (double)r.correct / (double)r.nsamples);
    return end_answers(a, err);
}

static tutti_status eval(const tutti_flags *f, tutti_failure *err)
{
    tutti_trained_question asked = {0};
    tutti_trained t = {0};
    tutti_dataset *test = NULL;
    answers a = {0};
    tutti_status st = read_wishes(f, &a, err);
    if (!st) st = tutti_trained_open_flags("eval", f, &asked, &t, err);
    if (!st && is_listening(&a)) st = tutti_train_check_classes(t.model, err);
    if (!st) st = tutti_dataset_open(&t.data, TUTTI_SPLIT_TEST, &test, err);
    if (!st) st = tutti_trained_check_data(&t, test, err);
    if (!st && *tutti_dataset_notes(test)) fprintf(stderr, "tutti eval: test: %s\n", tutti_dataset_notes(test));
    if (!st) st = evaluate(&t, test, &a, err);
    release_answers(&a);
    tutti_dataset_destroy(test);
    tutti_trained_release(&t);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "eval",
        .usage = "tutti eval CKPT|W.safetensors [--model NAME|FILE] [--predictions FILE] [--per-class] [--confusion "
                 "[FILE.svg]] [--data set=S,path=DIR]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one checkpoint is wanted: tutti eval CKPT [options]; the name behind --confusion ends in .svg",
        .run = eval,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_eval = {"eval", "test accuracy of a checkpoint, and its answers", run_command};
