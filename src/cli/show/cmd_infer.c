/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_infer.c: `tutti infer CKPT PICTURE..`: classifies pictures by a trained network. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/json.h"
#include "trained_flags.h"

static const tutti_flag flags[] = {
    TUTTI_TRAINED_FLAGS, /* these rows must come first: see trained_flags.h */
    {"top", "K", "print the K most probable classes (default 5)", 0},
    {"json", NULL, "one JSON object a picture", 0},
};
enum { DEFAULT_TOP = 5 };

static const char about[] = "Prints the most probable classes of JPEG and PNG files, or of those in folders and below, "
                            "in the order of their names. CKPT\n"
                            "is a checkpoint or a run's folder. A picture is decoded, resized, cut and normalised as a "
                            "test picture of the checkpoint's\n"
                            "set is; sets that are not `images` want their own size. Files that cannot be read are "
                            "named, the others answered; the exit\n"
                            "code is 3 then. A file of weights comes with --model; pictures are then those of `images` "
                            "with ImageNet's constants\n"
                            "unless --data says otherwise. Probabilities of all samples of a test set: tutti eval "
                            "--predictions.";

typedef struct {
    float p;
    int class_number;
} ranked;

typedef struct {
    tutti_trained_question asked;
    tutti_trained trained;
    tutti_pictures *pictures;
    tutti_classifier *classifier;
    tutti_names names, files;
    float *sample, *probability;
    ranked *ranked;
    int top, nclasses;
    bool json;
    int64_t nanswered, nbad;
} question;

/* ---- one picture ---- */

/* Sorts the most probable first, equal ones by number; NaN comes last. */
static int more_probable_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    const float p = isnan(x->p) ? -1 : x->p, q = isnan(y->p) ? -1 : y->p;
    if (p != q) return p > q ? -1 : 1;
    return (x->class_number > y->class_number) - (x->class_number < y->class_number);
}

static void rank_classes(question *q)
{
    for (int k = 0; k < q->nclasses; k++) q->ranked[k] = (ranked){q->probability[k], k};
    qsort(q->ranked, (size_t)q->nclasses, sizeof *q->ranked, more_probable_first);
}

static const char *name_of(const question *q, int class_number)
{
    return class_number < q->names.n ? q->names.name[class_number] : NULL;
}

static void print_words(const question *q, const char *file, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%s:", file);
    for (int i = 0; i < q->top; i++) {
        const ranked *r = &q->ranked[i];
        const char *name = name_of(q, r->class_number);
        tutti_strbuf_puts(out, i ? ", " : " ");
        if (name)
            tutti_strbuf_puts(out, name);
        else
            tutti_strbuf_printf(out, "%d", r->class_number);
        if (isnan(r->p))
            tutti_strbuf_puts(out, " nan");
        else
            tutti_strbuf_printf(out, " %.4f", (double)r->p);
    }
    tutti_strbuf_puts(out, "\n");
}

static void print_json(const question *q, const char *file, const char *error, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "file", file);
    if (error) tutti_json_text(&j, "error", error);
    if (!error) tutti_json_open(&j, "top", '[');
    for (int i = 0; i < q->top && !error; i++) {
        tutti_json_open(&j, NULL, '{');
        tutti_json_int(&j, "class", q->ranked[i].class_number);
        if (q->names.n) tutti_json_text(&j, "name", name_of(q, q->ranked[i].class_number));
        tutti_json_real(&j, "p", (double)q->ranked[i].p);
        tutti_json_close(&j, '}');
    }
    if (!error) tutti_json_close(&j, ']');
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* Reports a file or folder that cannot be read, and continues with the other files. */
static tutti_status report_bad(question *q, const char *file, const tutti_failure *why, tutti_failure *err)
{
    tutti_strbuf line = {0};
    tutti_status st = TUTTI_OK;
    q->nbad++;
    fprintf(stderr, "tutti infer: %s\n", why->text);
    if (q->json) {
        print_json(q, file, why->text, &line);
        st = tutti_cli_write(NULL, line.text, err);
    }
    tutti_strbuf_release(&line);
    return st;
}

static tutti_status answer(question *q, const char *file, tutti_failure *err)
{
    tutti_failure why = {0};
    tutti_strbuf line = {0};
    tutti_status st = tutti_pictures_read(q->pictures, file, q->sample, &why);
    if (st == TUTTI_ERR_DATA) return report_bad(q, file, &why, err);
    if (st) return tutti_fail(err, st, "%s", why.text);
    tutti_classify(q->classifier, q->sample, q->probability);
    rank_classes(q);
    q->nanswered++;
    if (q->json)
        print_json(q, file, NULL, &line);
    else
        print_words(q, file, &line);
    st = tutti_cli_write(NULL, line.text, err);
    tutti_strbuf_release(&line);
    return st;
}

/* ---- loading, and all pictures ---- */

static tutti_status open_question(const tutti_flags *f, question *q, tutti_failure *err)
{
    tutti_trained *t = &q->trained;
    long top;
    q->json = tutti_cli_has(f, "json");
    tutti_status st = tutti_cli_int(f, "top", (tutti_cli_range){1, 1000000}, DEFAULT_TOP, &top, err);
    if (!st && f->nrest < 2)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "a checkpoint and pictures are wanted: tutti infer CKPT PICTURE..|FOLDER");
    if (!st) st = tutti_trained_open_flags("infer", f, &q->asked, t, err);
    if (!st) st = tutti_train_check_classes(t->model, err);
    if (!st) st = tutti_pictures_create(&t->data, &t->model->input, &q->pictures, err);
    if (!st)
        st = tutti_classifier_create(&(tutti_packed_weights){t->graph, t->weights, t->offset}, &q->classifier, err);
    if (st) return st;
    q->nclasses = t->model->nclasses;
    q->top = top < q->nclasses ? (int)top : q->nclasses;
    q->sample = TUTTI_ARENA_NEW(&t->arena, float, tutti_shape_count(&t->model->input));
    q->probability = TUTTI_ARENA_NEW(&t->arena, float, q->nclasses);
    q->ranked = TUTTI_ARENA_NEW(&t->arena, ranked, q->nclasses);
    tutti_trained_names(t, &q->names);
    return TUTTI_OK;
}

static tutti_status answer_all(const tutti_flags *f, question *q, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 1; i < f->nrest && !st; i++) {
        tutti_failure why = {0};
        tutti_strbuf words = {0};
        st = tutti_pictures_find(f->rest[i], &q->files, &words, &why);
        if (words.length) fprintf(stderr, "tutti infer: %s\n", words.text);
        tutti_strbuf_release(&words);
        for (int64_t k = 0; k < q->files.n && (!st || st == TUTTI_ERR_DATA); k++) {
            const tutti_status one = answer(q, q->files.name[k], err);
            if (one) return one;
        }
        tutti_names_release(&q->files);
        if (st) st = report_bad(q, f->rest[i], &why, err);
    }
    if (st || !q->nbad) return st;
    return tutti_fail(err, TUTTI_ERR_DATA, "%lld could not be read, as said above; %lld answered", (long long)q->nbad,
                      (long long)q->nanswered);
}

static tutti_status infer(const tutti_flags *f, tutti_failure *err)
{
    question q = {.asked.pictures = true};
    tutti_status st = open_question(f, &q, err);
    if (!st) st = answer_all(f, &q, err);
    tutti_names_release(&q.names);
    tutti_names_release(&q.files);
    tutti_classifier_destroy(q.classifier);
    tutti_pictures_destroy(q.pictures);
    tutti_trained_release(&q.trained);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "infer",
        .usage = "tutti infer CKPT|W.safetensors PICTURE..|FOLDER [--model NAME|FILE] [--top K] [--json]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = infer,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_infer = {"infer", "what a trained network takes pictures for", run_command};
