/* SPDX-License-Identifier: Apache-2.0 */
/* tune_kernels.c: `tutti tune kernels`: times the candidates of a job's layers and writes the file that the key
 * `kernels.tuned` names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../job/resolve.h"
#include "../../kernel/crew.h"
#include "../../kernel/tune/tune_products.h"
#include "../../training/graph/tune_layers.h"
#include "../cli.h"
#include "../progress.h"
#include "tune_verbs.h"

static const tutti_flag flags[] = {
    {"out", "FILE", "write it there (default: only print it)", TUTTI_FLAG_WRITES},
    {"from", "FILE", "begin with what this tune file says; what it has is not measured again", TUTTI_FLAG_READS},
    {"quick", NULL, "products of up to 2^27 multiplications alone: a minute", 0},
    {"threads", "N", "of a kernel (default: the job's; without a job 1)", 0},
    {"set", "KEY=VALUE", "set a key of the job (may be given several times)", TUTTI_FLAG_MANY},
};
static const double ALL_PRODUCTS = 8589934592.0, QUICK_PRODUCTS = 134217728.0; /* the most multiplications of a matrix
                                                                                * product that is timed: 2^33, with
                                                                                * --quick 2^27 */

/* ---- progress: a line that is drawn over itself, only on a terminal ---- */

typedef struct {
    bool tty;
    double began, drawn;
} watch;

static void draw(watch *w, const char *what, int done, int total)
{
    const double now = tutti_clock_s();
    char bar[TUTTI_PROGRESS_BAR + 3], left[24];
    if (!w->tty || (done < total && now - w->drawn < 0.1)) return;
    tutti_progress_bar(done, total, bar);
    tutti_progress_time(done ? (now - w->began) / done * (total - done) : 0, left);
    if (done < total)
        fprintf(stderr, "\r%s %s %d/%d  %s left\x1b[K", what, bar, done, total, left);
    else
        fprintf(stderr, "\r\x1b[K");
    w->drawn = now;
}

static watch watch_begin(void)
{
    return (watch){.tty = isatty(STDERR_FILENO), .began = tutti_clock_s()};
}

static void draw_products(void *arg, int done, int total)
{
    draw(arg, "products", done, total);
}

static void draw_layers(void *arg, int done, int total, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "layer %.60s", what);
    draw(arg, text, done, total);
}

/* ---- messages about results ---- */

static void say_products(const tutti_products_tuned *t)
{
    const double best = tutti_tune_products_held_s(t, -1);
    fprintf(stderr,
            "products: %d ways at %d sizes, a tree of %d nodes; on %d sizes that it has not seen it takes %.3f of "
            "the soonest ways' time, and is within 2 %% of the soonest at %d\n",
            t->nways, t->n, (int)t->tree.nnodes, t->held.n, t->held.chosen_s / best, t->held.near);
    fprintf(stderr, "          always");
    for (int w = 0; w < t->nways; w++)
        fprintf(stderr, "%s %s %.3f", w ? "," : "", t->way[w], tutti_tune_products_held_s(t, w) / best);
    fprintf(stderr, "\n");
}

static tutti_status tune_products(const tutti_flags *f, tutti_tune_file *file, tutti_failure *err)
{
    watch w = watch_begin();
    tutti_products_tuned t;
    const tutti_products_request r = {.nthreads = file->place.nthreads,
                                      .most_products = tutti_cli_has(f, "quick") ? QUICK_PRODUCTS : ALL_PRODUCTS,
                                      .progress = draw_products,
                                      .arg = &w};
    const tutti_status st = tutti_tune_products(&r, &t, err);
    if (st) return st;
    say_products(&t);
    tutti_tune_products_add(&t, file);
    free(t.samples);
    return TUTTI_OK;
}

static void tune_job(const char *path, const tutti_graph *graph, tutti_tune_file *file)
{
    watch w = watch_begin();
    const int n = tutti_tune_layers(graph, &(tutti_tune_watch){draw_layers, &w}, file);
    fprintf(stderr, "%s: %d passes measured, %d times in the file\n", path, n, file->nentries);
}

/* ---- the command ---- */

/* Takes what the flags and the job give: threads, and times that are known already. */
static tutti_status begin(const tutti_flags *f, const tutti_graph *graph, tutti_tune_file *file, tutti_failure *err)
{
    const char *from = tutti_cli_value(f, "from", NULL);
    long threads;
    tutti_status st =
        tutti_cli_int(f, "threads", (tutti_cli_range){1, 4096}, graph ? graph->config.nthreads : 1, &threads, err);
    if (!st && graph && threads != graph->config.nthreads)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--threads %ld, and the job has %d a rank: say --set threads=%ld",
                        threads, graph->config.nthreads, threads);
    if (!st) st = tutti_crew_prepare((int)threads, err);
    const tutti_tune_place here = tutti_tune_here((int)threads);
    if (!st && from) st = tutti_tune_file_open(from, &here, file, err);
    if (!st && !from) *file = (tutti_tune_file){.place = here};
    return st;
}

static tutti_status finish(const char *path, tutti_tune_file *file, tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_tune_file_print(file, &text);
    const tutti_status st = tutti_cli_write(path, text.text, err);
    if (!st && path) printf("written to %s\n", path);
    tutti_strbuf_release(&text);
    return st;
}

static tutti_status tune(const tutti_flags *f, tutti_failure *err)
{
    const char *path = f->nrest ? f->rest[0] : NULL;
    tutti_job *job = NULL;
    tutti_resolved r = {0};
    tutti_tune_file file = {0};
    tutti_status st = TUTTI_OK;
    if (f->nrest > 1) return tutti_fail(err, TUTTI_ERR_USAGE, "one job at a time: others are added with --from");
    if (path) st = tutti_cli_load_job(f, path, &job, err);
    if (path && !st) st = tutti_job_resolve(job, &(tutti_job_seat){0}, &r, err);
    if (!st) st = begin(f, r.graph, &file, err);
    if (!st && !tutti_tune_file_tree(&file, TUTTI_NT_TREE, "f32")) st = tune_products(f, &file, err);
    if (!st && path) tune_job(path, r.graph, &file);
    if (!st) st = finish(tutti_cli_value(f, "out", NULL), &file, err);
    tutti_tune_file_release(&file);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return st;
}

int tutti_tune_kernels(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "tune kernels",
        .usage = "tutti tune kernels [JOB.yaml] [options]",
        .about =
            "Times the ways to a matrix product C = A B^T on this processor, grows the tree that chooses between "
            "them in\n"
            "dense layers, and times what can compute each pass of the job's layers. Prints a text that a job names "
            "in\n"
            "kernels.tuned. Takes five to ten minutes and 1 GB; nothing else should run meanwhile. docs/kernels.md",
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = tune,
    };
    return tutti_cli_run(&form, argc, argv);
}
