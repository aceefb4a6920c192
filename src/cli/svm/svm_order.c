/* SPDX-License-Identifier: Apache-2.0 */
/* svm_order.c: reads the command line of svm-train. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../train/rank_report.h"
#include "svm_flags.h"

static const tutti_flag flags[] = {
    {"ranks", "N", "processes (default 1); under mpirun, srun or torchrun: theirs", 0},
    TUTTI_CLI_CORES_FLAG,
    {"threads", "N", "threads of each rank (default: its share of the cores)", 0},
    {"elimination", "KIND", "none, single or multi: docs/svm.md (default: see below; -h 0: none)", 0},
    {"threshold", "WHEN", "first elimination after random:N pairs, or samples:P% of the samples", 0},
    {"precision", "TYPE", "kernel values are f32, f64 or auto (default; f64 where -e or the data want it)", 0},
    {"block", "N", "samples of a working set, even (default 1024)", 0},
    {"seed", "S", "of the folds of -v and -b 1 (default 1)", 0},
    {"lenient", NULL, "accept cut labels, one class and no samples, as LIBSVM does, and blank lines at the end", 0},
    {"progress", NULL, "gap, active and eliminated samples on stderr while it runs", 0},
    {"trace", "FILE", "the same as JSON lines; `tutti report FILE` draws them", TUTTI_FLAG_WRITES},
    {"checkpoint", "FILE",
     "save the state there, and go on from it where it is there; it goes when the model is written", TUTTI_FLAG_WRITES},
    {"checkpoint-every", "S", "seconds between two saves (default 60)", 0},
};
static const tutti_svm_letter letters[] = {
    {'s', "TYPE", "0 = c_svc; 1 nu_svc, 2 one_class, 3 epsilon_svr, 4 nu_svr are refused"},
    {'t', "KERNEL", "0 linear, 1 poly, 2 rbf (default), 3 sigmoid, 4 precomputed"},
    {'d', "DEGREE", "of poly (default 3)"},
    {'g', "GAMMA", "of poly, rbf, sigmoid (default 1 / largest index)"},
    {'r', "COEF0", "of poly, sigmoid (default 0)"},
    {'c', "COST", "C (default 1)"},
    {'n', "NU", "accepted and not used: belongs to nu_svc, one_class, nu_svr"},
    {'p', "EPSILON", "accepted and not used: belongs to epsilon_svr"},
    {'m', "MB", "cache for rows of the kernel matrix, on each rank (default 100)"},
    {'e', "EPS", "solved when the largest violation of optimality is below EPS (default 0.001)"},
    {'h', "0|1", "shrinking: 0 keeps all samples to the end, as --elimination none (default 1)"},
    {'b', "0|1", "1: the model also tells probabilities, for svm-predict -b 1 (default 0)"},
    {'w', "CLASS W", "cost of a class is COST * W: -w1 2 -w-1 0.5"},
    {'v', "N", "cross validation in N folds: no model is written"},
    {'q', NULL, "say nothing"},
};
enum { NFLAGS = sizeof flags / sizeof *flags, NLETTERS = sizeof letters / sizeof *letters };

static const char about[] =
    "Trains a support vector machine on a file in LIBSVM's format and writes LIBSVM's model (default: the data's name "
    "with\n"
    ".model, here). With --ranks each process holds a part of the rows; the model has the same bits at any number of "
    "ranks\n"
    "and threads. Also as a program of its own, svm-train. SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP with\n"
    "--checkpoint: saves and ends with 143, 138, 140 or 129.";

static void print_help(void)
{
    const tutti_svm_config standard = tutti_svm_config_default();
    int n;
    const tutti_svm_elimination *rows = tutti_svm_eliminations(&n);
    tutti_svm_words_help("tutti svm-train [options] DATA [MODEL]", about, letters, NLETTERS, flags, NFLAGS);
    printf("\nelimination, earliest first:\n");
    for (int i = 0; i < n; i++)
        printf("  %s%s\n", rows[i].name, !strcmp(rows[i].name, standard.elimination.name) ? "  (default)" : "");
}

/* ---- LIBSVM's letters ---- */

static tutti_status take_type(const char *text, tutti_failure *err)
{
    static const char *const names[] = {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    long type;
    tutti_status st = tutti_svm_letter_whole('s', text, 0, 4, &type, err);
    if (!st && type != 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "-s %ld: %s is not trained here; c_svc (-s 0) is", type, names[type]);
    return st;
}

static tutti_status take_weight(const char *suffix, const char *value, tutti_svm_order *o, tutti_failure *err)
{
    tutti_svm_config *c = &o->config;
    long label;
    char *end;
    label = strtol(suffix, &end, 10);
    if (end == suffix || *end || label < INT_MIN || label > INT_MAX)
        return tutti_fail(err, TUTTI_ERR_USAGE, "-w%s: the class comes with the flag: -w1 2, -w-1 0.5", suffix);
    o->weight_label[c->nweights] = (int32_t)label;
    return tutti_svm_letter_real('w', value, &o->weight[c->nweights++], err);
}

static tutti_status take_letter(char letter, const char *suffix, const char *v, tutti_svm_order *o, tutti_failure *err)
{
    tutti_svm_config *c = &o->config;
    double unused;
    long n = 0;
    tutti_status st = TUTTI_OK;
    switch (letter) {
    case 's': return take_type(v, err);
    case 't':
        st = tutti_svm_letter_whole('t', v, 0, TUTTI_SVM_NKERNELS - 1, &n, err);
        c->kernel.type = (tutti_svm_kernel_type)n;
        return st;
    case 'd':
        st = tutti_svm_letter_whole('d', v, 0, 1000, &n, err);
        c->kernel.degree = (int)n;
        return st;
    case 'g': return tutti_svm_letter_real('g', v, &c->kernel.gamma, err);
    case 'r': return tutti_svm_letter_real('r', v, &c->kernel.coef0, err);
    case 'c': return tutti_svm_letter_real('c', v, &c->cost, err);
    case 'm': return tutti_svm_letter_real('m', v, &c->cache_mb, err);
    case 'e': return tutti_svm_letter_real('e', v, &c->eps, err);
    case 'n':
    case 'p': return tutti_svm_letter_real(letter, v, &unused, err);
    case 'h':
        st = tutti_svm_letter_whole('h', v, 0, 1, &n, err);
        return st ? st : tutti_svm_elimination_parse(n ? NULL : "none", NULL, &c->elimination, err);
    case 'b':
        st = tutti_svm_letter_whole('b', v, 0, 1, &n, err);
        c->probability = n != 0;
        return st;
    case 'w': return take_weight(suffix, v, o, err);
    case 'v':
        st = tutti_svm_letter_whole('v', v, 2, INT_MAX, &n, err);
        o->nfolds = (int)n;
        return st;
    default: o->quiet = true; return TUTTI_OK;
    }
}

/* ---- long flags ---- */

static tutti_status take_elimination(const tutti_flags *f, bool shrinks, tutti_svm_config *c, tutti_failure *err)
{
    const char *kind = tutti_cli_value(f, "elimination", NULL), *when = tutti_cli_value(f, "threshold", NULL);
    if (!kind && !when) return TUTTI_OK;
    if (!shrinks)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "-h 0 says that no sample is eliminated: leave out --elimination and --threshold");
    return tutti_svm_elimination_parse(kind, when, &c->elimination, err);
}

static tutti_status take_precision(const tutti_flags *f, tutti_svm_config *c, tutti_failure *err)
{
    const char *text = tutti_cli_value(f, "precision", "auto");
    if (strcmp(text, "auto") && strcmp(text, "f32") && strcmp(text, "f64"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--precision: '%s' is none of auto, f32, f64", text);
    c->precision = !strcmp(text, "f32") ? TUTTI_SVM_F32 : !strcmp(text, "f64") ? TUTTI_SVM_F64 : TUTTI_SVM_AUTO;
    return TUTTI_OK;
}

static tutti_status take_long(const tutti_flags *f, bool shrinks, tutti_svm_order *o, tutti_failure *err)
{
    tutti_svm_config *c = &o->config;
    long block, seed, every, nranks;
    tutti_status st = take_elimination(f, shrinks, c, err);
    if (!st) st = take_precision(f, c, err);
    if (!st) st = tutti_cli_int(f, "block", (tutti_cli_range){2, 1 << 16}, 0, &block, err);
    if (!st) st = tutti_cli_int(f, "seed", (tutti_cli_range){0, LONG_MAX}, 1, &seed, err);
    if (!st) st = tutti_cli_int(f, "checkpoint-every", (tutti_cli_range){0, 1000000}, 60, &every, err);
    if (!st) st = tutti_cli_int(f, "ranks", (tutti_cli_range){1, 1 << 20}, 1, &nranks, err);
    if (!st) st = tutti_cli_cores(f, &o->ncores, err);
    if (st) return st;
    c->block = (int)block, c->seed = (uint64_t)seed, c->checkpoint_s = (double)every, o->nranks = (int)nranks;
    c->checkpoint = tutti_cli_value(f, "checkpoint", NULL);
    if (c->checkpoint && o->nfolds)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--checkpoint: a cross validation (-v) makes no model and is not saved");
    c->lenient = o->reading.lenient = tutti_cli_has(f, "lenient");
    o->progress = tutti_cli_has(f, "progress");
    o->trace = tutti_cli_value(f, "trace", NULL);
    return tutti_svm_threads(f, &c->nthreads, err);
}

/* Sets the model's file as LIBSVM does: the data file's name without folders, and .model, in the current folder. */
static void name_model(tutti_svm_order *o)
{
    const char *slash = strrchr(o->data, '/');
    snprintf(o->model_name, sizeof o->model_name, "%s.model", slash ? slash + 1 : o->data);
    o->model = o->model_name;
}

static tutti_status check_files(const tutti_svm_order *o, tutti_failure *err)
{
    const tutti_output files[] = {{.what = "the data", .path = o->data},
                                  {.what = "the model", .path = o->nfolds ? NULL : o->model, .written = true},
                                  {.what = "--trace", .path = o->trace, .written = true},
                                  {.what = "--checkpoint", .path = o->config.checkpoint, .written = true}};
    return tutti_outputs_check(files, sizeof files / sizeof *files, err);
}

tutti_status tutti_svm_order_read(int argc, char **argv, tutti_svm_order *o, tutti_failure *err)
{
    tutti_svm_words w;
    *o = (tutti_svm_order){.config = tutti_svm_config_default()};
    o->config.weight_label = o->weight_label, o->config.weight = o->weight;
    tutti_status st = tutti_svm_words_split(argc, argv, letters, NLETTERS, flags, NFLAGS, &w, err);
    o->help = !st && w.long_ones.help;
    if (o->help || argc == 1) print_help(); /* as LIBSVM does; without arguments a message on stderr follows the help */
    if (st || o->help) return st;
    for (int i = 0; i < w.n && !st; i++)
        st = take_letter(w.given[i].letter, w.given[i].suffix, w.given[i].value, o, err);
    const bool shrinks = o->config.elimination.kind != TUTTI_SVM_KEEP_ALL;
    if (!st) st = take_long(&w.long_ones, shrinks, o, err);
    if (!st && (w.long_ones.nrest < 1 || w.long_ones.nrest > 2))
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "a data file is wanted, and perhaps a model file after it: [options] DATA [MODEL]");
    if (st) return st;
    o->reading.precomputed = o->config.kernel.type == TUTTI_SVM_PRECOMPUTED;
    o->data = w.long_ones.rest[0];
    if (w.long_ones.nrest == 2)
        o->model = w.long_ones.rest[1];
    else
        name_model(o);
    return check_files(o, err);
}
