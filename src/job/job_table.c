/* SPDX-License-Identifier: Apache-2.0 */
/* job_table.c: the table of all keys of a job file: YAML, --set, `tutti train --help`, the printed job and docs/jobs.md
 * read this table. Keys are printed in this order. Rules and methods bring keys of their own. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../base/text/options.h"
#include "job_fields.h"

typedef struct {
    tutti_field field;
    tutti_concern concerns;
} job_row;

/* at: the member of struct tutti_job, mostly in a module's configuration; its type follows from kind. concerns: a
 * tutti_concern. */
#define ROW(kind, key, at, concerns, initial, choices, lo, hi, help)                                                   \
    {                                                                                                                  \
        {key, TUTTI_FIELD_##kind, offsetof(struct tutti_job, at), initial, choices, lo, hi, help},                     \
            TUTTI_CONCERNS_##concerns                                                                                  \
    }
#define JOB(kind, key, at, concerns, initial, lo, hi, help) ROW(kind, key, at, concerns, initial, NULL, lo, hi, help)
#define CHOICE(key, at, concerns, initial, choices, help)   ROW(CHOICE, key, at, concerns, initial, choices, 1, 0, help)
#define EITHER(key, at, concerns, initial, choices, help)   ROW(EITHER, key, at, concerns, initial, choices, 1, 0, help)

/* marks of two rows of the table: the first stands for the keys of all rules, the second for those of all methods */
static const char rule_keys[] = "keys of rules", method_keys[] = "keys of methods";

static const job_row own[] = {
    JOB(TEXT, "model", model, MODEL, NULL, 1, 0, "shipped model (docs/models.md lists them) or path of a model file"),
    JOB(TEXT, "data.set", data.set, WEIGHTS, "digits", 1, 0, "data set: "),
    JOB(TEXT, "data.path", data.path, WEIGHTS, "", 1, 0,
        "folder of the files of a set that is read, relative to the job file"),
    JOB(INT, "data.seed", data.seed, WEIGHTS, "1", 0, 9e15, "seed of drawn sets"),
    JOB(INT, "data.train_samples", data.train_samples, WEIGHTS, "0", 0, 1e9,
        "number of training samples to use; 0 = all"),
    JOB(INT, "data.test_samples", data.test_samples, WEIGHTS, "0", 0, 1e9, "number of test samples to use; 0 = all"),
    JOB(REALS, "data.shape", data_shape, WEIGHTS, "", 1, 1e6,
        "noise: shape of a sample; npy, csv: how its numbers lie"),
    JOB(INT, "data.classes", data.classes, WEIGHTS, "0", 0, 1e6, "noise: number of classes"),
    JOB(INT, "data.first_label", data.first_label, WEIGHTS, "0", 0, 1e6,
        "sets of files: what class 0 is called there, mostly 0 or 1"),
    EITHER("data.label", data.label_last, WEIGHTS, "first", "first|last", "csv: the column of the label"),
    CHOICE("data.header", data.header, WEIGHTS, "auto", "auto|yes|no",
           "csv: a first line of names; auto: if it has no number"),
    JOB(INT, "data.size", data.size, WEIGHTS, "0", 0, 8192, "images: pixels a side that the model sees; 0 = 224"),
    EITHER("data.on_bad_sample", data.skip_bad, WEIGHTS, "fail", "fail|skip", "images: what an unreadable file does"),
    CHOICE("data.augment", data.augment, WEIGHTS, "auto", "auto|none|flip|crop|crop-flip",
           "what changes training samples"),
    JOB(REALS, "data.mean", data.mean, WEIGHTS, "", -1e3, 1e3,
        "of byte / 255 or numbers, one or one a channel; none = the set's own"),
    JOB(REALS, "data.std", data.std, WEIGHTS, "", 0, 1e3,
        "of byte / 255 or numbers, one or one a channel; none = the set's own"),
    JOB(SMALL, "data.threads", train.data_threads, MACHINE, "1", 1, 1024,
        "threads a rank that load batches ahead of compute"),
    JOB(INT, "batch", plan.batch, WEIGHTS, NULL, 1, 1e9, "samples in one step, over all ranks"),
    JOB(SMALL, "accumulate", plan.accumulate, WEIGHTS, "1", 1, 4096,
        "micro-batches of a rank in a step, summed before the exchange"),
    JOB(REAL, "epochs", epochs, LENGTH, "0", 0, 1e6, "how long, in passes over the training set; or give steps"),
    JOB(INT, "steps", train.nsteps, LENGTH, "0", 0, 1e12, "how long, in steps; or give epochs"),
    CHOICE("optimiser.preset", optimiser.preset, WEIGHTS, "none", NULL,
           "sets keys of the optimiser as a known run"), /* names from job_presets.c */
    CHOICE("optimiser.rule", optimiser.rule, WEIGHTS, "momentum", NULL,
           "update rule (docs/jobs.md)"), /* names from rule_table.c */
    JOB(REAL, "optimiser.lr", train.rate.lr, WEIGHTS, NULL, 0, 1e6, "learning rate (after warm-up)"),
    JOB(REAL, rule_keys, optimiser.rule_value, WEIGHTS, NULL, 0, 0, NULL),
    JOB(REAL, "optimiser.weight_decay", train.update.weight_decay, WEIGHTS, "0", 0, 1e3,
        "of weights (never of biases, norms)"),
    JOB(PAIRS, "optimiser.groups.rate", train.group_rates, WEIGHTS, "", 1, 0,
        "parameters whose rate is multiplied: {fc2: 10, \"conv*\": 0.1}"),
    JOB(PAIRS, "optimiser.groups.decay", train.group_decays, WEIGHTS, "", 1, 0,
        "parameters with a weight decay of their own: {fc1: 0}"),
    JOB(PAIRS, "optimiser.groups.freeze", graph.frozen.patterns, WEIGHTS, "", 1, 0,
        "parameters that stay as they are: {conv1: true}, {\"*\": true, fc: false}"),
    JOB(REAL, "optimiser.clip_norm", train.update.clip_norm, WEIGHTS, "0", 0, 1e30,
        "gradients, all together, are no longer than this; 0 = off"),
    CHOICE("optimiser.schedule", train.rate.kind, WEIGHTS, "constant", "constant|step|poly|cosine",
           "how the rate falls"),
    JOB(REALS, "optimiser.milestones", train.rate.milestones, WEIGHTS, "", 0, 1e9,
        "step: epochs at which the rate falls"),
    JOB(REAL, "optimiser.gamma", train.rate.gamma, WEIGHTS, "0.1", 0, 1, "step: factor at each milestone"),
    JOB(REAL, "optimiser.power", train.rate.power, WEIGHTS, "2", 0, 100, "poly: exponent"),
    JOB(REAL, "optimiser.end_lr", train.rate.end_lr, WEIGHTS, "0", 0, 1e6, "poly, cosine: rate at the end"),
    JOB(REAL, "optimiser.warmup_epochs", train.rate.warmup_epochs, WEIGHTS, "0", 0, 1e6,
        "length of the linear growth of the rate"),
    JOB(REAL, "optimiser.warmup_lr", train.rate.warmup_lr, WEIGHTS, "0", 0, 1e6, "rate at the start of the warm-up"),
    JOB(TEXT, "method.name", method.name, WEIGHTS, "sync-sgd", 1, 0, "how ranks agree on weights: "),
    JOB(INT, method_keys, method.value, WEIGHTS, NULL, 0, 0, NULL),
    JOB(TEXTS, "parallel.layers", parallel.layers, MACHINE, "auto", 1, 0,
        "dense layers whose outputs ranks of a group share: auto, [] or [fc6, fc7] (docs/hybrid.md)"),
    JOB(TEXT, "parallel.groups", parallel.groups, MACHINE, "auto", 1, 0,
        "groups of ranks that share them; auto = where a rank receives least"),
    JOB(TEXT, "init.from", train.init.from, WEIGHTS, "", 1, 0,
        "weights it begins at: FILE.safetensors, its .index.json, a checkpoint, a run"),
    JOB(TEXTS, "init.skip", train.init.skip, WEIGHTS, "", 1, 0,
        "tensors that are drawn all the same: [fc, \"*.bias\"]"),
    JOB(PAIRS, "init.map", train.init.map, WEIGHTS, "", 1, 0,
        "their names to ours, whole or up to a dot: {module: \"\", head: fc}"),
    JOB(BOOL, "init.state", train.init.takes_states, WEIGHTS, "false", 1, 0,
        "begin at the rule's states of that checkpoint, too"),
    JOB(INT, "seed", train.seed, WEIGHTS, "1", 0, 9e15, "of start weights, order of samples and dropout"),
    JOB(INT, "ranks", ranks, MACHINE, "1", 1, 4096, "processes; --ranks overrides"),
    JOB(INT, "threads", threads, MACHINE, "1", 1, TUTTI_JOB_MAX_THREADS, "compute threads a rank"),
    CHOICE("device", device, MACHINE, "auto", "auto|cpu|cuda",
           "where ranks compute; auto: a CUDA card where there is one that can be used, else the cpu (docs/cuda.md)"),
    JOB(TEXT, "partition", partition, MACHINE, "none", 1, 0,
        "ranks on cores of their own: none, numa, l3 or a number of groups (docs/partition.md)"),
    JOB(TEXT, "kernels.name", plan.engine, KERNELS, "auto", 1, 0, "auto, or what is taken wherever it fits: "),
    JOB(TEXT, "kernels.tuned", kernels.tuned, KERNELS, "", 1, 0,
        "tune file of `tutti tune kernels`, whose times choose them; rank 0's counts"),
    EITHER("kernels.sparse", graph.sparse, KERNELS, "off", "off|auto",
           "auto: convolutions behind a ReLU or before a max pool skip zeros where tests count enough of them"),
    JOB(BOOL, "fuse", fuse, WEIGHTS, "true", 1, 0, "merge ReLU and residual adds into the layers before them"),
    CHOICE("precision", graph.precision, WEIGHTS, "f32", "f32|bf16|f16",
           "of activations; weights, gradients, sums stay f32"),
    JOB(TEXT, "loss_scale", loss_scale, WEIGHTS, "auto", 1, 0,
        "auto, dynamic or a number; auto = dynamic with f16, else 1"),
    JOB(INT, "loss_scale_interval", train.loss_scale.interval, WEIGHTS, "2000", 1, 1e12,
        "dynamic: number of clean steps after which it doubles"),
    CHOICE("reduction", reduction, WEIGHTS, "fast", "fast|canonical",
           "canonical: the same bits at any rank count up to slots"),
    JOB(SMALL, "slots", plan.slots, WEIGHTS, "0", 0, 1 << 20, "canonical: virtual shards of the batch, a power of two"),
    JOB(TEXT, "exchange.algorithm", plan.algorithm, MACHINE, "auto", 1, 0,
        "auto, rule, hybrid or a row of `tutti coll list`"),
    JOB(TEXT, "exchange.topology", exchange.topology, MACHINE, "", 1, 0,
        "trees: the network whose links they take, such as dgx1v"),
    JOB(BYTES, "exchange.hybrid_bytes", plan.hybrid_bytes, MACHINE, "64KiB", 1, 1e12,
        "hybrid: hierarchical below this, ring above"),
    CHOICE("exchange.buckets", exchange.buckets, MACHINE, "auto", "auto|size|soonest|layer|one|cut",
           "what travels together (docs/jobs.md)"),
    JOB(REALS, "exchange.cut", plan.cut, MACHINE, "", 1, 1e6, "cut: parameters of each bucket, in exchange order"),
    JOB(BYTES, "exchange.bucket_bytes", plan.bucket_bytes, MACHINE, "1MiB", 0, 1e12,
        "size: merge gradients up to this"),
    CHOICE("exchange.update", exchange.update, MACHINE, "auto", "auto|sharded|replicated",
           "sync-sgd: by owners of slices, or by all"),
    CHOICE("exchange.update_when", exchange.update_when, MACHINE, "auto", "auto|late|early",
           "sync-sgd: early: beside the backward pass"),
    CHOICE("exchange.precision", plan.sent, WEIGHTS, "f32", "f32|bf16|f16",
           "sync-sgd: gradients are rounded to it to travel; sums stay f32"),
    EITHER("exchange.rounding", plan.rounds_each, WEIGHTS, "once", "once|each",
           "each: of 16 bits, partial sums are rounded too, by any algorithm"),
    CHOICE("exchange.order", exchange.order, MACHINE, "auto", "auto|ready|priority",
           "priority: what the next step reads first"),
    JOB(REAL, "exchange.deadline_s", exchange.deadline_s, MACHINE, "60", 0.1, 86400,
        "seconds until a silent peer is an error"),
    JOB(INT, "checkpoint.every_steps", train.checkpoint_every_steps, RECORD, "0", 0, 1e12,
        "save so often; 0 = at ends of epochs"),
    JOB(REAL, "checkpoint.every_minutes", train.checkpoint_every_minutes, RECORD, "10", 0, 1e6,
        "save also when this number of minutes has passed since the last save; 0 = never"),
    JOB(SMALL, "checkpoint.keep", train.checkpoint_keep, RECORD, "2", 1, 1e6,
        "how many of the newest checkpoints stay"),
    JOB(INT, "elastic.copy_every", train.copy_every, RECORD, "0", 0, 1e9,
        "train --max-restarts: steps between copies of the state; 0 = for 1 % of the time"),
    JOB(REAL, "elastic.leave_out", train.leave_out, RECORD, "0", 0, 1e6,
        "agents of ranks that step together: a host that computes this many times as long leaves the run; 0 = none"),
    EITHER("on_nan", train.outlives_nan, RECORD, "stop", "stop|continue",
           "a run whose loss or weights are not finite: stop: keeps the last good checkpoint, ends with 1"),
    JOB(INT, "log_every", train.log_every, RECORD, "50", 1, 1e9, "steps between lines of metrics.jsonl"),
    JOB(BOOL, "tensorboard", train.tensorboard, RECORD, "true", 1, 0,
        "write TensorBoard event files beside metrics.jsonl"),
    JOB(INT, "trace.steps", train.trace_steps, RECORD, "0", 0, 1000,
        "number of steps to trace; 0 = none; --trace overrides"),
    JOB(INT, "trace.warmup", train.trace_warmup, RECORD, "10", 0, 1e9, "steps before those, not traced"),
    JOB(REAL, "eval_every_epochs", train.eval_every_epochs, RECORD, "1", 0, 1e6, "test so often; 0 = only at the end"),
    JOB(INT, "eval_points", train.eval_points, RECORD, "0", 0, 1e6,
        "least number of tests in a run, evenly; 0 = as above"),
};

/* Words of a key are in the order of its enum. WORDS checks that the enum's first and last constants fit n words. */
#define WORDS(first, last, n) _Static_assert((first) == 0 && (last) == (n)-1, "as many words as " #last " says")
WORDS(TUTTI_AUGMENT_AUTO, TUTTI_AUGMENT_CROP_FLIP, 5);
WORDS(TUTTI_RATE_CONSTANT, TUTTI_RATE_COSINE, 4);
WORDS(TUTTI_PRECISION_F32, TUTTI_PRECISION_F16, 3);
WORDS(TUTTI_ON_ANY, TUTTI_ON_CUDA, 3);
WORDS(TUTTI_REDUCTION_FAST, TUTTI_REDUCTION_CANONICAL, 2);
WORDS(TUTTI_BUCKETS_AUTO, TUTTI_BUCKETS_CUT, 6);
WORDS(TUTTI_UPDATE_AUTO, TUTTI_UPDATE_REPLICATED, 3);
WORDS(TUTTI_F32, TUTTI_F16, 3);
WORDS(TUTTI_UPDATE_ANYTIME, TUTTI_UPDATE_EARLY, 3);
WORDS(TUTTI_TURN_AUTO, TUTTI_TURN_PRIORITY, 3);

/* Makes one field for each key of the rules. */
static int list_rule_keys(const tutti_field *first, tutti_field *out)
{
    const tutti_rule_key *k;
    int n = 0;
    for (; n < TUTTI_JOB_MAX_RULE_KEYS && (k = tutti_rule_key_at(n)); n++) {
        out[n] = (tutti_field){k->key, first->kind, first->offset + (size_t)n * sizeof(double), k->initial, NULL, k->lo,
                               k->hi,  k->help};
        if (!k->is_switch) continue;
        out[n].kind = TUTTI_FIELD_BOOL;
        out[n].offset = offsetof(struct tutti_job, optimiser.rule_switch) + (size_t)n * sizeof(bool);
    }
    return n;
}

static int list_method_keys(const tutti_field *first, tutti_field *out)
{
    const tutti_method_key *k;
    int n = 0;
    for (; n < TUTTI_JOB_MAX_METHOD_KEYS && (k = tutti_method_key_at(n)); n++) {
        out[n] = k->field;
        out[n].offset = first->offset + (size_t)n * sizeof(tutti_method_value);
    }
    return n;
}

static const char *rule_name(int i)
{
    return tutti_rule_at(i) ? tutti_rule_at(i)->name : NULL;
}

static const char *kernels_name(int i)
{
    return tutti_candidate_name_at(i);
}

static const char *method_name(int i)
{
    return tutti_method_at(i) ? tutti_method_at(i)->name : NULL;
}

/* Writes `before`, then all names of a table, to `out`, and returns `out`. */
static const char *list_names(const char *before, const char *(*name_at)(int), const char *between,
                              char out[TUTTI_JOB_NAMES])
{
    size_t n = (size_t)snprintf(out, TUTTI_JOB_NAMES, "%s", before);
    for (int i = 0; name_at(i) && n < TUTTI_JOB_NAMES; i++)
        n += (size_t)snprintf(out + n, TUTTI_JOB_NAMES - n, "%s%s", i ? between : "", name_at(i));
    return out;
}

/* Adds names of table rows to the choices or the help of a field that has such names as values. */
static void add_names(tutti_field *f, tutti_job_fields *space)
{
    if (!strcmp(f->key, "optimiser.rule")) f->choices = list_names("", rule_name, "|", space->rules);
    if (!strcmp(f->key, "optimiser.preset")) f->choices = list_names("", tutti_job_preset_name, "|", space->presets);
    if (!strcmp(f->key, "data.set")) f->help = list_names(f->help, tutti_dataset_name_at, ", ", space->sets);
    if (!strcmp(f->key, "kernels.name")) f->help = list_names(f->help, kernels_name, ", ", space->kernels);
    if (!strcmp(f->key, "method.name")) f->help = list_names(f->help, method_name, ", ", space->methods);
}

const tutti_field_table *tutti_job_fields_list(tutti_job_fields *space)
{
    int n = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const int first = n;
        space->field[n] = own[i].field;
        add_names(&space->field[n], space);
        if (own[i].field.key == rule_keys)
            n += list_rule_keys(&own[i].field, &space->field[n]);
        else if (own[i].field.key == method_keys)
            n += list_method_keys(&own[i].field, &space->field[n]);
        else
            n++;
        for (int k = first; k < n; k++) space->concerns[k] = own[i].concerns;
    }
    space->table = (tutti_field_table){space->field, n};
    return &space->table;
}

static bool is_free(const tutti_job *job, tutti_concern concerns)
{
    switch (concerns) {
    case TUTTI_CONCERNS_WEIGHTS: return false;
    case TUTTI_CONCERNS_LENGTH:
        return job->train.rate.kind != TUTTI_RATE_POLY && job->train.rate.kind != TUTTI_RATE_COSINE;
    case TUTTI_CONCERNS_KERNELS: return job->reduction == TUTTI_REDUCTION_FAST;
    case TUTTI_CONCERNS_MACHINE:
    case TUTTI_CONCERNS_MODEL:
    case TUTTI_CONCERNS_RECORD: break;
    }
    return true;
}

const char **tutti_job_free_keys(const tutti_job *job)
{
    tutti_job_fields space;
    const tutti_field_table *table = tutti_job_fields_list(&space);
    const char **out = tutti_alloc(sizeof *out * (size_t)(table->nfields + 1));
    for (int i = 0, n = 0; i < table->nfields; i++)
        if (is_free(job, space.concerns[i])) out[n++] = table->fields[i].key;
    return out;
}

double tutti_job_rule_value(const tutti_job *job, int i)
{
    return tutti_rule_key_at(i)->is_switch ? job->optimiser.rule_switch[i] : job->optimiser.rule_value[i];
}

tutti_status tutti_job_find_method(const char *name, const tutti_method_row **out, tutti_failure *err)
{
    enum { MAX_METHODS = 64 };
    const char *known[MAX_METHODS];
    int n = 0;
    for (; n < MAX_METHODS && tutti_method_at(n); n++) known[n] = tutti_method_at(n)->name;
    *out = tutti_method_find(name);
    if (*out) return TUTTI_OK;
    const char *nearest = tutti_options_nearest(name, known, n);
    return tutti_fail(err, TUTTI_ERR_USAGE, "'%s' is not a method;%s%s%s 'tutti methods' lists them", name,
                      nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const tutti_rule_row *tutti_job_rule(const tutti_job *job)
{
    const tutti_rule_row *rule = tutti_rule_at(job->optimiser.rule);
    const tutti_method_row *method = tutti_method_find(job->method.name);
    return method && method->is_plain && rule->plain ? rule->plain : rule;
}

tutti_update tutti_job_update(const tutti_job *job)
{
    tutti_update u = job->train.update;
    u.rule = tutti_job_rule(job);
    for (int i = 0; i < TUTTI_RULE_MAX_KEYS && u.rule->keys[i]; i++)
        for (int k = 0; k < TUTTI_JOB_MAX_RULE_KEYS && tutti_rule_key_at(k); k++)
            if (tutti_rule_key_at(k) == u.rule->keys[i]) u.value[i] = tutti_job_rule_value(job, k);
    return u;
}
