/* SPDX-License-Identifier: Apache-2.0 */
/* job_check.c: checks a job: keys that must fit together, and names that other tables know.
 *
 * A key that would have no effect is refused instead of ignored (slots without canonical sums, milestones without a
 * schedule of steps). A refusal says what would work, and blames the key that was given last: an override rather than a
 * line of the file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../collective/compile/algorithms.h"
#include "job_fields.h"
#include "resolve.h"
#include "tutti/compile.h"

enum { MAX_NAMES = 64 };

const char *tutti_job_source_override(const tutti_job_source *source, const char *key)
{
    size_t n = strlen(key);
    for (int i = source->noverrides - 1; i >= 0; i--)
        if (!strncmp(source->overrides[i], key, n) && source->overrides[i][n] == '=') return source->overrides[i];
    return NULL;
}

/* Returns the line of a key such as "optimiser.lr", or 0 if the file does not have it. */
static int line_of(const tutti_yaml_node *root, const char *key)
{
    const tutti_yaml_node *node = root;
    tutti_strbuf part = {0};
    while (node && *key) {
        size_t n = strcspn(key, ".");
        part.length = 0;
        tutti_strbuf_add(&part, key, n);
        node = tutti_yaml_get(node, part.text);
        key += n + (key[n] == '.');
    }
    tutti_strbuf_release(&part);
    return node ? node->line : 0;
}

/* Puts the place where `key` got its value in front of err's message. */
static tutti_status blame(const tutti_job_source *source, const char *key, tutti_failure *err)
{
    const char *override = tutti_job_source_override(source, key);
    int line = line_of(source->root, key);
    if (!line && !override && strcmp(key, "optimiser.preset") != 0 && tutti_job_preset_sets(source, key))
        return blame(source, "optimiser.preset", err);
    if (override) /* only the beginning of a long override, so that the message is not cut off */
        return tutti_fail_at(err, "--set %.200s%s", override, strlen(override) > 200 ? "..." : "");
    return tutti_fail_at(err, "%s: line %d", source->name, line ? line : source->root->line);
}

bool tutti_job_is_given(const tutti_job_source *source, const char *key)
{
    return line_of(source->root, key) || tutti_job_source_override(source, key);
}

const char *tutti_job_given_name(const tutti_job_source *source, const char *key, const char *shorter)
{
    return tutti_job_is_given(source, key) ? key : shorter;
}

const char *tutti_job_said(const tutti_job_source *source, const char *key, tutti_arena *arena)
{
    tutti_failure words = {0};
    tutti_fail(&words, TUTTI_ERR_USAGE, "%s", key);
    blame(source, key, &words);
    return tutti_arena_strdup(arena, words.text);
}

/* For functions with source and err: fails with "<place>: <key>: <words>". */
#define REFUSE(key, ...)                                                                                               \
    (tutti_fail(err, TUTTI_ERR_USAGE, __VA_ARGS__), tutti_fail_at(err, "%s", (key)), blame(source, (key), err))

static const char *method_name_at(int i)
{
    const tutti_method_row *row = tutti_method_at(i);
    return row ? row->name : NULL;
}

static const char *kernels_at(int i)
{
    return i ? tutti_candidate_name_at(i - 1) : "auto";
}

static const char *algorithm_name_at(int i)
{
    static const char *const rules[] = {"auto", "rule", "hybrid"};
    return i < 3 ? rules[i] : i < 3 + tutti_algorithm_count() ? tutti_algorithm_at(i - 3)->name : NULL;
}

static tutti_status check_name(const tutti_job_source *source, const char *key, const char *name,
                               const char *(*name_at)(int), tutti_failure *err)
{
    const char *known[MAX_NAMES];
    int n = 0;
    for (; n < MAX_NAMES && name_at(n); n++) {
        known[n] = name_at(n);
        if (name && !strcmp(name, known[n])) return TUTTI_OK;
    }
    const char *nearest = name ? tutti_options_nearest(name, known, n) : NULL;
    if (nearest) return REFUSE(key, "'%s' is unknown; did you mean '%s'?", name, nearest);
    tutti_strbuf list = {0};
    for (int i = 0; i < n; i++) tutti_strbuf_printf(&list, "%s%s", i ? ", " : "", known[i]);
    tutti_status st = REFUSE(key, "'%s' is unknown; there are %s", name ? name : "", list.text ? list.text : "none");
    tutti_strbuf_release(&list);
    return st;
}

tutti_status tutti_job_read_topology(tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const char *line = job->exchange.topology;
    job->plan.topology = NULL;
    if (!line || !line[0]) return TUTTI_OK;
    tutti_topology *t = TUTTI_ARENA_NEW(&job->arena, tutti_topology, 1);
    if (tutti_topology_parse(line, t, err)) {
        tutti_fail_at(err, "exchange.topology");
        return blame(source, "exchange.topology", err);
    }
    if (t->kind == TUTTI_TOPOLOGY_HOST)
        return REFUSE("exchange.topology", "ranks of one host have no links; give a network, such as dgx1v or torus");
    job->plan.topology = t;
    return TUTTI_OK;
}

/* Checks the name in "name,parameter=value"; the parameters are checked where the algorithm is compiled. text may be
 * NULL. */
static tutti_status check_algorithm_name(const tutti_job_source *source, const char *text, tutti_failure *err)
{
    char name[TUTTI_ALGORITHM_TEXT];
    if (text) snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ","), text);
    return check_name(source, "exchange.algorithm", text ? name : NULL, algorithm_name_at, err);
}

static tutti_status check_names(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    if (!job->model) return REFUSE("model", "a name or path is needed");
    const char *kernels = tutti_job_given_name(source, "kernels.name", "kernels");
    tutti_status st = check_name(source, "data.set", job->data.set, tutti_dataset_name_at, err);
    if (st == TUTTI_OK)
        st = check_name(source, tutti_job_given_name(source, "method.name", "method"), job->method.name, method_name_at,
                        err);
    if (st == TUTTI_OK) st = check_name(source, kernels, job->plan.engine, kernels_at, err);
    if (st == TUTTI_OK) st = check_algorithm_name(source, job->plan.algorithm, err);
    if (st != TUTTI_OK) return st;
    char words[96];
    tutti_kernel_engine_describe(job->plan.engine, words);
    if (!words[0]) return REFUSE(kernels, "%s is not in this build; use auto or reference", job->plan.engine);
    if (job->kernels.tuned && job->reduction == TUTTI_REDUCTION_CANONICAL)
        return REFUSE("kernels.tuned", "measured times choose nothing where sums are canonical; leave one out");
    return TUTTI_OK;
}

/* Blames the key with which a message of another module begins; a missing key has no place, so `otherwise` is
 * blamed. */
static tutti_status blame_first_word(const tutti_job_source *source, const tutti_failure *why, const char *otherwise,
                                     tutti_failure *err)
{
    char key[32];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(why->text, ":"), why->text);
    tutti_fail(err, why->status, "%s", why->text);
    return blame(source, tutti_job_is_given(source, key) ? key : otherwise, err);
}

/* Checks the keys of `data`. A message of the data set begins with the key to blame. */
static tutti_status check_data(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_reals *shape = &job->data_shape;
    if (shape->n > 3) return REFUSE("data.shape", "%d numbers; at most channels, height and width", shape->n);
    for (int i = 0; i < shape->n; i++)
        if (shape->values[i] != floor(shape->values[i]))
            return REFUSE("data.shape", "%g is not a whole number", shape->values[i]);
    const tutti_dataset_config data = tutti_job_data_config(job);
    tutti_failure why = {0};
    if (tutti_dataset_check(&data, &why) == TUTTI_OK) return TUTTI_OK;
    return blame_first_word(source, &why, "data.set", err);
}

static tutti_status check_length(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    if (job->epochs > 0 && job->train.nsteps > 0) return REFUSE("steps", "epochs and steps are both given; give one");
    if (!(job->epochs > 0) && job->train.nsteps == 0 && !tutti_job_is_given(source, "steps")) {
        tutti_fail(err, TUTTI_ERR_USAGE, "the key 'epochs' is missing (or 'steps'): how long to train");
        return blame(source, "epochs", err);
    }
    if (job->data.train_samples && job->data.train_samples < job->plan.batch)
        return REFUSE("batch", "%" PRId64 " samples a step, but data.train_samples is %" PRId64, job->plan.batch,
                      job->data.train_samples);
    return TUTTI_OK;
}

static bool is_initial(const tutti_job *job, const char *key)
{
    tutti_job_fields space;
    const tutti_field_table *table = tutti_job_fields_list(&space);
    int i = 0;
    while (strcmp(table->fields[i].key, key) != 0) i++;
    return tutti_options_is_initial(&table->fields[i], job);
}

static bool is_among(const tutti_rule_key *const *keys, const tutti_rule_key *key)
{
    for (int i = 0; i < TUTTI_RULE_MAX_KEYS && keys[i]; i++)
        if (keys[i] == key) return true;
    return false;
}

static tutti_status check_rule(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_rule_row *rule = tutti_rule_at(job->optimiser.rule);
    const tutti_rule_key *k;
    for (int i = 0; i < TUTTI_JOB_MAX_RULE_KEYS && (k = tutti_rule_key_at(i)); i++) {
        const double value = tutti_job_rule_value(job, i);
        if (!is_among(rule->keys, k)) {
            if (!is_among(rule->ignored, k) && !is_initial(job, k->key))
                return REFUSE(k->key, "has no effect with 'rule: %s'", rule->name);
        } else if ((k->not_lo && !(value > k->lo)) || (k->not_hi && !(value < k->hi))) {
            return REFUSE(k->key, "this rule needs %s", k->wants);
        }
    }
    if (rule->trust && job->train.update.clip_norm > 0)
        return REFUSE("optimiser.clip_norm",
                      "'rule: %s' makes each layer's step as long as its weights ask for; leave the key out",
                      rule->name);
    return TUTTI_OK;
}

static tutti_status check_optimiser(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_reals *milestones = &job->train.rate.milestones;
    bool step = job->train.rate.kind == TUTTI_RATE_STEP;
    if (!(job->train.rate.lr > 0)) return REFUSE("optimiser.lr", "a rate above 0 is needed");
    if (step && milestones->n == 0) return REFUSE("optimiser.schedule", "step needs 'milestones: [10, 20]' (epochs)");
    if (!step && milestones->n > 0) return REFUSE("optimiser.milestones", "only 'schedule: step' uses them");
    for (int i = 1; i < milestones->n; i++)
        if (!(milestones->values[i] > milestones->values[i - 1]))
            return REFUSE("optimiser.milestones", "epochs must grow: %g comes after %g", milestones->values[i],
                          milestones->values[i - 1]);
    if (job->epochs > 0 && job->train.rate.warmup_epochs > job->epochs)
        return REFUSE("optimiser.warmup_epochs", "%g is longer than the run's %g epochs", job->train.rate.warmup_epochs,
                      job->epochs);
    if (job->train.rate.warmup_lr > 0 && !(job->train.rate.warmup_epochs > 0))
        return REFUSE("optimiser.warmup_lr", "has no effect without optimiser.warmup_epochs");
    return TUTTI_OK;
}

/* Checks the keys of `init`. Checks that need the model or the file of weights come later
 * (training/run/keep/init.h). */
static tutti_status check_init(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_texts *skip = &job->train.init.skip, *map = &job->train.init.map;
    const char *without = skip->n                        ? "init.skip"
                          : map->n                       ? "init.map"
                          : job->train.init.takes_states ? "init.state"
                                                         : NULL;
    if (!job->train.init.from && without) return REFUSE(without, "has no effect without init.from");
    for (int i = 0; i < skip->n; i++)
        if (!skip->values[i][0]) return REFUSE("init.skip", "an empty pattern; '*' is for all names");
    for (int i = 0; i < map->n; i += 2) {
        if (!map->values[i][0] && !map->values[i + 1][0])
            return REFUSE("init.map", "an entry of two empty names changes nothing");
        for (int j = 0; j < i; j += 2)
            if (!strcmp(map->values[i], map->values[j]))
                return REFUSE("init.map", "'%s' is there twice", map->values[i]);
    }
    return TUTTI_OK;
}

static tutti_status check_loss_scale(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_loss_scale l = tutti_job_loss_scale(job);
    if (isnan(l.start))
        return REFUSE("loss_scale", "'%s' is neither auto nor dynamic nor a number above 0, such as 1024",
                      job->loss_scale);
    if (!l.dynamic && l.interval != 2000)
        return REFUSE("loss_scale_interval", "has no effect without 'loss_scale: dynamic' (or auto with f16)");
    return TUTTI_OK;
}

static tutti_status check_elastic(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const double times = job->train.leave_out;
    if (times == 0 || times > 1) return TUTTI_OK;
    return REFUSE("elastic.leave_out", "%g times as long as the others is not longer; give more than 1, such as 3",
                  times);
}

static tutti_status check_reduction(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    if (job->reduction == TUTTI_REDUCTION_FAST)
        return job->plan.slots ? REFUSE("slots", "they are of canonical sums only; add 'reduction: canonical'")
                               : TUTTI_OK;
    if (job->graph.sparse)
        return REFUSE("kernels.sparse", "canonical sums have the terms of one order; leave 'kernels.sparse: auto' out");
    return job->plan.slots ? TUTTI_OK
                           : REFUSE("reduction", "canonical sums need 'slots: S', a power of two of at least %d",
                                    tutti_plan_slots_for((int)job->ranks));
}

/* Checks that the batch can be divided as the plan needs: among the ranks, and into slots or micro-batches. If two keys
 * do not fit, the message blames the key that an override gives. */
static tutti_status check_shares(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_plan_config config = tutti_job_plan_config(job, &(tutti_job_seat){0});
    const bool few = job->plan.slots && job->plan.slots < job->ranks;
    const char *const parts[] = {"accumulate", job->plan.slots ? "slots" : "ranks"};
    tutti_failure why = {0};
    int64_t samples;
    if (!tutti_plan_samples_per_call(&config, &samples, &why)) return TUTTI_OK;
    const size_t n = strcspn(why.text, ":");
    char key[32];
    snprintf(key, sizeof key, "%.*s", (int)n, why.text);
    if (few && !strcmp(key, "slots") && tutti_job_source_override(source, "ranks")) snprintf(key, sizeof key, "ranks");
    for (int i = 0; i < 2 && !strcmp(key, "batch") && !tutti_job_source_override(source, "batch"); i++)
        if (tutti_job_source_override(source, parts[i])) snprintf(key, sizeof key, "%s", parts[i]);
    return REFUSE(key, "%s", why.text + n + 2);
}

/* Refuses keys of one rule of buckets under another rule. */
static tutti_status check_buckets(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_reals *cut = &job->plan.cut;
    if (job->exchange.buckets == TUTTI_BUCKETS_CUT && !cut->n)
        return REFUSE("exchange.buckets", "cut goes by 'exchange.cut', parameters of each bucket: give it beside this");
    if (job->exchange.buckets != TUTTI_BUCKETS_CUT && cut->n)
        return REFUSE("exchange.cut", "has no effect but with 'buckets: cut'; leave it out");
    for (int i = 0; i < cut->n; i++)
        if (cut->values[i] != floor(cut->values[i]))
            return REFUSE("exchange.cut", "%g is not a whole number of parameters", cut->values[i]);
    return TUTTI_OK;
}

/* Refuses keys of one algorithm under another algorithm. */
static tutti_status check_algorithm_keys(const tutti_job *job, const tutti_job_source *source,
                                         char rows[2][TUTTI_ALGORITHM_TEXT], int nrows, tutti_failure *err)
{
    const char *name = job->plan.algorithm;
    const bool is_bound = nrows == 1 && tutti_algorithm_find(rows[0])->is_bound;
    if (nrows != 2 && !is_initial(job, "exchange.hybrid_bytes"))
        return REFUSE("exchange.hybrid_bytes", "has no effect with 'algorithm: %s'", name);
    if (!is_bound && job->plan.topology)
        return REFUSE("exchange.topology", "'algorithm: %s' is bound to none, so the key has no effect; trees is",
                      name);
    if (is_bound && !job->plan.topology)
        return REFUSE("exchange.algorithm",
                      "%s goes by the links of a network: give it, such as 'topology: dgx1v' beside this key", name);
    return is_bound && tutti_topology_fits(job->plan.topology, (int32_t)job->ranks, err)
               ? (tutti_fail_at(err, "exchange.topology"), blame(source, "exchange.topology", err))
               : TUTTI_OK;
}

/* Adds the key `rounding: each` to the message if the algorithm would work with it, that is, if partial sums were
 * rounded, too. */
static void offer_rounding(const char *row, tutti_compile_request request, tutti_failure *err)
{
    tutti_schedule *schedule = NULL;
    const tutti_failure why = *err;
    if (!request.sums_once) return;
    request.sums_once = false;
    if (tutti_schedule_compile(row, &request, &schedule, NULL)) return;
    tutti_schedule_destroy(schedule);
    tutti_fail(err, why.status, "%s; or let partial sums be rounded, too: 'rounding: each' beside this key", why.text);
}

/* Checks, by compiling it, that the algorithm works for the job's ranks and rounding. This costs little, and a failure
 * has the reason. */
static tutti_status check_algorithm(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_plan_config config = tutti_job_plan_config(job, &(tutti_job_seat){0});
    const unsigned wanted = tutti_method_find(job->method.name)->collectives(&config);
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const int nrows = tutti_plan_algorithms(job->plan.algorithm, rows);
    tutti_status st = check_algorithm_keys(job, source, rows, nrows, err);
    for (int i = 0; i < nrows && !st; i++) {
        int32_t param[TUTTI_MAX_PARAMETERS];
        st = tutti_algorithm_read(tutti_algorithm_find(rows[i]), rows[i], param, err);
        if (st) return blame(source, "exchange.algorithm", err);
    }
    if (source->any_ranks) return st;
    for (int i = 0; i < nrows * TUTTI_NCOLLECTIVES && !st; i++) {
        const tutti_collective c = (tutti_collective)(i / nrows);
        if (!(wanted >> c & 1)) continue;
        const tutti_compile_request request = {.collective = c,
                                               .nranks = (int32_t)job->ranks,
                                               .slots = tutti_collective_reduces(c) ? (int32_t)job->plan.slots : 0,
                                               .in_place = true,
                                               .sums_once = tutti_plan_sums_once(&config),
                                               .topology = job->plan.topology};
        tutti_schedule *schedule = NULL;
        st = tutti_schedule_compile(rows[i % nrows], &request, &schedule, err);
        if (st) offer_rounding(rows[i % nrows], request, err);
        if (st) return blame(source, "exchange.algorithm", err);
        tutti_schedule_destroy(schedule);
    }
    return st;
}

/* Appends the names of the methods that take a key. */
static void add_takers(const tutti_method_key *key, tutti_strbuf *out)
{
    const tutti_method_row *m;
    const size_t first = out->length;
    for (int i = 0; (m = tutti_method_at(i)); i++)
        if (tutti_method_takes(m, key)) tutti_strbuf_printf(out, "%s%s", out->length > first ? ", " : "", m->name);
}

static void add_keys(const tutti_method_row *method, tutti_strbuf *out)
{
    if (!method->keys[0]) tutti_strbuf_puts(out, "none of its own");
    for (int i = 0; i < TUTTI_METHOD_MAX_KEYS && method->keys[i]; i++)
        tutti_strbuf_printf(out, "%s%s", i ? ", " : "", method->keys[i]->field.key);
}

/* Refuses a key of methods that the chosen method does not take. */
static tutti_status check_method_keys(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_method_row *method = tutti_method_find(job->method.name);
    const tutti_method_key *k;
    for (int i = 0; (k = tutti_method_key_at(i)); i++) {
        if (tutti_method_takes(method, k) || is_initial(job, k->field.key)) continue;
        tutti_strbuf words = {0};
        add_takers(k, &words);
        tutti_strbuf_printf(&words, "; %s has ", method->name);
        add_keys(method, &words);
        const tutti_status st =
            REFUSE(k->field.key, "has no effect with 'method: %s'; it is for %s", method->name, words.text);
        tutti_strbuf_release(&words);
        return st;
    }
    return TUTTI_OK;
}

/* Checks the configuration by the method's own checks. A message of a method begins with the key to blame. */
static tutti_status check_method(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_plan_config config = tutti_job_plan_config(job, &(tutti_job_seat){0});
    const tutti_method_row *method = tutti_method_find(job->method.name);
    const tutti_centre centre = tutti_job_centre(job, 0);
    tutti_failure why = {0};
    if (job->plan.rounds_each && job->plan.sent == TUTTI_F32)
        return REFUSE("exchange.rounding", "nothing of f32 is rounded; give 'exchange.precision: bf16' or f16 too");
    if (method->is_async && job->train.trace_steps)
        return REFUSE("trace.steps",
                      "workers of %s take steps of their own, and a trace is of steps that all take together",
                      method->name);
    tutti_status st = method->accept(&config, &why);
    if (!st && method->accept_centre)
        st = method->accept_centre(&centre, (int)job->ranks, tutti_rate_largest(&job->train.rate), &why);
    return st ? blame_first_word(source, &why, "method", err) : check_method_keys(job, source, err);
}

static tutti_status check_parallel(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    const tutti_method_row *method = tutti_method_find(job->method.name);
    const tutti_plan_config config = tutti_job_plan_config(job, &(tutti_job_seat){0});
    const char *key = NULL;
    tutti_failure why = {0};
    if (tutti_job_check_parallel(job, &key, err)) {
        tutti_fail_at(err, "%s", key);
        return blame(source, key, err);
    }
    if (!tutti_job_shares(job) || job->ranks == 1) return TUTTI_OK;
    if (!method->split)
        return REFUSE("parallel.layers",
                      "workers of %s have weights of their own, which nobody shares; it is for sync-sgd", method->name);
    if (job->graph.precision != TUTTI_PRECISION_F32)
        return REFUSE("parallel.layers", "ranks that share layers exchange activations of f32; use 'precision: f32'");
    return method->accept_split(&config, &why) ? blame_first_word(source, &why, "parallel.layers", err) : TUTTI_OK;
}

tutti_status tutti_job_check(const tutti_job *job, const tutti_job_source *source, tutti_failure *err)
{
    tutti_job alone = *job, groups = *job; /* if the job is loaded for any number of ranks, the smallest number is
                                            * checked */
    if (source->any_ranks) alone.ranks = 1, groups.ranks = 2 * (tutti_job_groups(job) > 0 ? tutti_job_groups(job) : 1);
    tutti_status st = check_names(job, source, err);
    if (st == TUTTI_OK) st = check_data(job, source, err);
    if (st == TUTTI_OK) st = check_length(job, source, err);
    if (st == TUTTI_OK) st = check_reduction(&alone, source, err);
    if (st == TUTTI_OK) st = check_shares(&alone, source, err);
    if (st == TUTTI_OK) st = check_rule(job, source, err);
    if (st == TUTTI_OK) st = check_optimiser(job, source, err);
    if (st == TUTTI_OK) st = tutti_job_check_groups(job, err);
    if (st == TUTTI_OK) st = check_init(job, source, err);
    if (st == TUTTI_OK) st = check_loss_scale(job, source, err);
    if (st == TUTTI_OK) st = check_elastic(job, source, err);
    if (st == TUTTI_OK) st = check_method(job, source, err);
    if (st == TUTTI_OK) st = check_buckets(job, source, err);
    if (st == TUTTI_OK) st = check_algorithm(job, source, err);
    if (st == TUTTI_OK) st = check_parallel(&groups, source, err);
    return st;
}
