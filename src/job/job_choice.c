/* SPDX-License-Identifier: Apache-2.0 */
/* job_choice.c: chooses the values of keys that are auto, by predicted step times. */
#include "job_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/hash.h"
#include "../base/text/options.h"
#include "../base/text/strbuf.h"
#include "../device/device_row.h"
#include "job_fields.h"

/* A choice must save at least this fraction of the fixed rule's step time. HOST_MARGIN: on one host, whose figures were
 * measured with some noise; NETWORK_MARGIN: between hosts; ASSUMED_MARGIN: between hosts, if kernel times are
 * assumed. */
static const double HOST_MARGIN = 0.03, NETWORK_MARGIN = 0.01, ASSUMED_MARGIN = 0.1;

static tutti_open_keys open_keys(const tutti_job *job)
{
    return (tutti_open_keys){.algorithm = !strcmp(job->plan.algorithm, "auto"),
                             .buckets = job->exchange.buckets == TUTTI_BUCKETS_AUTO,
                             .order = job->exchange.order == TUTTI_TURN_AUTO,
                             .update = job->exchange.update == TUTTI_UPDATE_AUTO,
                             .update_when = job->exchange.update_when == TUTTI_UPDATE_ANYTIME,
                             .layers = tutti_job_shares_auto(job)};
}

bool tutti_job_is_open(const tutti_job *job)
{
    const tutti_open_keys k = open_keys(job);
    return k.algorithm || k.buckets || k.order || k.update || k.update_when || k.layers;
}

/* ---- overrides that fix a key ---- */

static void add_cut(const tutti_reals *cut, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "exchange.cut=");
    for (int i = 0; i < cut->n; i++) tutti_strbuf_printf(out, "%s%.0f", i ? "," : "", cut->values[i]);
    tutti_strbuf_puts(out, "\n");
}

static void add_buckets(int64_t bucket_bytes, const tutti_reals *cut, tutti_strbuf *out)
{
    const char *rule = "size";
    if (bucket_bytes == TUTTI_BUCKET_CUT) rule = "cut";
    if (bucket_bytes == TUTTI_BUCKET_LAYER) rule = "layer";
    if (bucket_bytes == TUTTI_BUCKET_SOONEST) rule = "soonest";
    if (bucket_bytes == TUTTI_BUCKET_ALL) rule = "one";
    tutti_strbuf_printf(out, "exchange.buckets=%s\n", rule);
    if (!strcmp(rule, "size")) tutti_strbuf_printf(out, "exchange.bucket_bytes=%lld\n", (long long)bucket_bytes);
    if (!strcmp(rule, "cut")) add_cut(cut, out);
}

static void add_layers(const char *const *layers, int n, const char *groups, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "parallel.layers=[");
    for (int i = 0; i < n; i++) {
        tutti_strbuf_puts(out, i ? ", " : "");
        tutti_option_print_text(layers[i], out);
    }
    tutti_strbuf_puts(out, "]\n");
    if (n) tutti_strbuf_printf(out, "parallel.groups=%s\n", groups);
}

static char *overrides_of(const tutti_exchange_choice *c, const tutti_open_keys *open)
{
    tutti_strbuf out = {0};
    if (open->algorithm)
        tutti_strbuf_printf(&out, "exchange.algorithm=%s\n", !strcmp(c->algorithm, "auto") ? "rule" : c->algorithm);
    if (open->buckets) add_buckets(c->bucket_bytes, &c->cut, &out);
    if (open->order) tutti_strbuf_printf(&out, "exchange.order=%s\n", c->by_need ? "priority" : "ready");
    if (open->update) tutti_strbuf_printf(&out, "exchange.update=%s\n", c->replicated ? "replicated" : "sharded");
    if (open->update_when) tutti_strbuf_printf(&out, "exchange.update_when=%s\n", c->early ? "early" : "late");
    char groups[16];
    snprintf(groups, sizeof groups, "%d", c->ngroups);
    if (open->layers) add_layers(c->shared, c->nshared, groups, &out);
    return tutti_strbuf_detach(&out);
}

char *tutti_job_keep(const tutti_job *job, const tutti_job *kept)
{
    const tutti_open_keys open = open_keys(job), still = open_keys(kept);
    tutti_strbuf out = {0};
    if (open.algorithm && !still.algorithm) tutti_strbuf_printf(&out, "exchange.algorithm=%s\n", kept->plan.algorithm);
    if (open.buckets && !still.buckets) {
        const tutti_plan_config c = tutti_job_plan_config(kept, &(tutti_job_seat){0});
        add_buckets(c.bucket_bytes, &c.cut, &out);
    }
    if (open.order && !still.order)
        tutti_strbuf_printf(&out, "exchange.order=%s\n",
                            kept->exchange.order == TUTTI_TURN_PRIORITY ? "priority" : "ready");
    if (open.update && !still.update)
        tutti_strbuf_printf(&out, "exchange.update=%s\n",
                            kept->exchange.update == TUTTI_UPDATE_REPLICATED ? "replicated" : "sharded");
    if (open.update_when && !still.update_when)
        tutti_strbuf_printf(&out, "exchange.update_when=%s\n",
                            kept->exchange.update_when == TUTTI_UPDATE_EARLY ? "early" : "late");
    if (open.layers && !still.layers)
        add_layers(kept->parallel.layers.values, kept->parallel.layers.n, kept->parallel.groups, &out);
    return tutti_strbuf_detach(&out);
}

tutti_job *tutti_job_with(const tutti_job *job, const char *text)
{
    tutti_job_fields space;
    tutti_job *copy = tutti_alloc(sizeof *copy);
    const tutti_options_into into = {tutti_job_fields_list(&space), &copy->arena, copy};
    *copy = *job;
    copy->arena = (tutti_arena){0};
    char *words = tutti_arena_strdup(&copy->arena, text), *rest = NULL;
    for (char *line = strtok_r(words, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strchr(line, '=');
        if (value) *value++ = '\0';
        if (value && !tutti_options_set(&into, "exchange", line, value, NULL)) continue;
        tutti_job_forget(copy);
        return NULL;
    }
    return copy;
}

void tutti_job_forget(tutti_job *copy)
{
    if (!copy) return;
    tutti_arena_release(&copy->arena);
    free(copy);
}

static tutti_job *parse(const char *text)
{
    tutti_job *job = NULL;
    return tutti_job_parse("job.yaml", text, strlen(text), NULL, 0, &job, NULL) ? NULL : job;
}

bool tutti_job_was(const char *asked, const char *kept)
{
    tutti_job *a = parse(asked), *b = parse(kept);
    char *overrides = a && b ? tutti_job_keep(a, b) : NULL;
    tutti_job *with = overrides ? tutti_job_with(a, overrides) : NULL;
    char *text = with ? tutti_job_print(with) : NULL;
    const bool was = text && !strcmp(text, kept);
    free(text);
    free(overrides);
    tutti_job_forget(with);
    tutti_job_destroy(a);
    tutti_job_destroy(b);
    return was;
}

/* ---- the plan ---- */

tutti_status tutti_job_replan(const tutti_job *job, tutti_resolved *r, tutti_failure *err)
{
    const tutti_plan_config *now = &r->plan->config;
    const tutti_job_seat seat = {
        .rank = now->rank, .nranks = now->nranks, .host_of = now->host_of, .prove_later = now->prove_later};
    tutti_plan_config config = tutti_job_plan_config(job, &seat);
    config.batch = now->batch;
    config.engine = now->engine;
    config.method = now->method;
    const tutti_method_row *method = tutti_method_find(job->method.name);
    tutti_graph *was = r->graph;
    tutti_status st = tutti_resolved_share(r, job, err);
    if (r->graph != was) config.method = r->graph->nsplit ? method->split : method->emitter;
    if (!st) st = tutti_resolved_plan(r, &config, err);
    if (r->graph == was) return st;
    tutti_graph_destroy(st ? r->graph : was);
    if (st) r->graph = was;
    return st;
}

/* ---- the choice ---- */

/* Names the algorithm by which the rule sums the smallest bucket, and that of the largest bucket if it differs. */
static void name_rule(const tutti_plan *plan, char *out, size_t cap)
{
    const char *names[2] = {NULL, NULL};
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const char *name = tutti_schedule_head(plan->schedules[x->schedule].compiled)->algorithm;
        if (x->bucket < 0) continue;
        if (x->count < least) least = x->count, names[0] = name;
        if (x->count > most) most = x->count, names[1] = name;
    }
    if (!names[0]) names[0] = names[1] = tutti_schedule_head(plan->schedules[0].compiled)->algorithm;
    if (strcmp(names[0], names[1]) == 0)
        snprintf(out, cap, "%s", names[0]);
    else
        snprintf(out, cap, "%s and %s", names[0], names[1]);
}

/* Names the layers that groups share: ", groups of 8 ranks share fc6 and 1 more layer". */
static void name_shared(const tutti_graph *g, char *out, size_t cap)
{
    const int n = g->nsplit;
    char more[40] = "";
    out[0] = '\0';
    if (!n) return;
    if (n == 2) snprintf(more, sizeof more, " and %.30s", g->model->layers[g->split[1].layer].name);
    if (n > 2) snprintf(more, sizeof more, " and %d more layers", n - 1);
    snprintf(out, cap, ", groups of %d ranks share %.30s%s", tutti_graph_parts(g),
             g->model->layers[g->split[0].layer].name, more);
}

void tutti_job_exchange_words(const tutti_plan *plan, char out[TUTTI_EXCHANGE_WORDS])
{
    const tutti_plan_config *c = &plan->config;
    char rows[2][TUTTI_ALGORITHM_TEXT], named[136], buckets[64] = "one bucket", shared[96];
    const bool rule = !tutti_plan_algorithms(c->algorithm, rows);
    if (rule) name_rule(plan, named, sizeof named);
    int64_t largest = 0;
    int n = 0; /* number of buckets of parameters that ranks do not share */
    for (int b = 0; b < plan->nbuckets; b++) {
        if (plan->buckets[b].parts > 1) continue;
        largest = plan->buckets[b].count > largest ? plan->buckets[b].count : largest;
        n++;
    }
    const double mib = (double)largest * sizeof(float) / (1 << 20);
    if (n > 1)
        snprintf(buckets, sizeof buckets, "%d buckets of up to %.1f %s", n, mib >= 0.1 ? mib : mib * 1024,
                 mib >= 0.1 ? "MiB" : "KiB");
    name_shared(plan->graph, shared, sizeof shared);
    snprintf(out, TUTTI_EXCHANGE_WORDS, "%s, %s, %s%s%s", rule ? named : c->algorithm, buckets,
             c->replicated ? "replicated" : "sharded", c->early ? ", early updates" : "",
             c->by_need && !c->early ? ", by need" : "");
    const size_t length = strlen(out);
    snprintf(out + length, TUTTI_EXCHANGE_WORDS - length, "%s", shared);
}

typedef struct {
    uint64_t question; /* hash of the question (hash_question) */
    tutti_job_choice answer;
} answered;

struct tutti_predict_memory {
    tutti_choice_memory choice;
    answered *list; /* earlier questions of this process, each with the answer that was chosen */
    int n, room;
};

tutti_predict_memory *tutti_predict_memory_create(void)
{
    return tutti_alloc(sizeof(tutti_predict_memory));
}

void tutti_predict_memory_destroy(tutti_predict_memory *memory)
{
    if (!memory) return;
    tutti_choice_memory_release(&memory->choice);
    for (int i = 0; i < memory->n; i++) free(memory->list[i].answer.text);
    free(memory->list);
    free(memory);
}

/* Hashes everything on which a choice depends: the job, its ranks, the topology and the times of its kernels. */
static uint64_t hash_question(const tutti_job *job, const tutti_choice_question *q, const tutti_resolved *r)
{
    const tutti_profile *p = q->profile;
    const int numbers[] = {r->plan->config.nranks, q->most_fan_in, p->nlayers, q->profile_of != NULL};
    tutti_hasher *h = tutti_hasher_create();
    char *text = tutti_job_print(job);
    tutti_hasher_add(h, text, strlen(text));
    tutti_hasher_add(h, numbers, sizeof numbers);
    tutti_hasher_add(h, q->topology, sizeof *q->topology);
    tutti_hasher_add(h, &p->update_s_per_element, sizeof p->update_s_per_element);
    tutti_hasher_add(h, &p->load_s_per_sample, sizeof p->load_s_per_sample);
    for (int l = 0; l < p->nlayers; l++) {
        const tutti_layer_time *t = &p->layers[l];
        const double times[] = {t->forward_s, t->params_s, t->data_s, t->sum_s};
        tutti_hasher_add(h, times, sizeof times);
    }
    free(text);
    return tutti_hasher_finish(h);
}

/* Makes the plan for the job with the overrides `text`. */
static tutti_status take(const tutti_job *job, const char *text, tutti_resolved *r, tutti_failure *err)
{
    tutti_job *chosen = tutti_job_with(job, text);
    const tutti_status st =
        chosen ? tutti_job_replan(chosen, r, err)
               : tutti_fail(err, TUTTI_ERR_FAILED, "exchange: the choice does not make a valid job: %s", text);
    tutti_job_forget(chosen);
    return st;
}

static char *copy_of(const char *text)
{
    const size_t n = strlen(text) + 1;
    return memcpy(tutti_alloc(n), text, n);
}

static void keep(tutti_predict_memory *memory, uint64_t question, const tutti_job_choice *answer)
{
    memory->list = tutti_grow(memory->list, memory->n, &memory->room, sizeof *memory->list);
    answered *own = &memory->list[memory->n++];
    *own = (answered){question, *answer};
    own->answer.text = copy_of(answer->text);
}

static const tutti_job_choice *find_answer(const tutti_predict_memory *memory, uint64_t question)
{
    for (int i = 0; i < memory->n; i++)
        if (memory->list[i].question == question) return &memory->list[i].answer;
    return NULL;
}

/* Chooses for r's graph and plan, and makes the plan again with the choice. */
static tutti_status choose(const tutti_job *job, tutti_choice_question *q, tutti_resolved *r, tutti_job_choice *out,
                           tutti_failure *err)
{
    tutti_exchange_choice found;
    const double began = tutti_clock_s();
    q->graph = r->graph;
    q->method = tutti_method_find(job->method.name);
    q->config = r->plan->config;
    q->open = open_keys(job);
    q->open.layers = q->open.layers && q->profile_of;
    tutti_status st = tutti_choose_exchange(q, &found, err);
    if (!st && found.is_chosen) {
        out->text = overrides_of(&found, &q->open);
        st = take(job, out->text, r, err);
        if (!st) tutti_job_exchange_words(r->plan, out->words);
        out->step_s = found.step_s;
        out->nplayed = found.nplayed;
        out->nsimulated = found.nsimulated;
        out->seconds = tutti_clock_s() - began;
    }
    tutti_exchange_choice_release(&found);
    return st;
}

/* Chooses the auto keys; if the same question was asked before, takes its answer. */
static tutti_status choose_anew(const tutti_job *job, tutti_choice_question *q, tutti_predict_memory *memory,
                                tutti_resolved *r, tutti_job_choice *out, tutti_failure *err)
{
    if (!memory) return choose(job, q, r, out, err);
    const uint64_t question = hash_question(job, q, r);
    q->memory = &memory->choice;
    const tutti_job_choice *known = find_answer(memory, question);
    if (known) {
        *out = *known;
        out->text = copy_of(known->text);
        return take(job, out->text, r, err);
    }
    const tutti_status st = choose(job, q, r, out, err);
    if (!st && out->text) keep(memory, question, out);
    return st;
}

/* Gives assumed times; arg: the device that runs the kernels. */
static tutti_status assume(const void *arg, const tutti_graph *graph, tutti_profile *out, tutti_failure *err)
{
    const tutti_device *device = arg;
    (void)err;
    tutti_job_assume(graph, !device->shares_host, out);
    return TUTTI_OK;
}

tutti_status tutti_job_choose(const tutti_job *job, const tutti_job_choice_by *by, tutti_resolved *r,
                              tutti_job_choice *out, tutti_failure *err)
{
    tutti_profile assumed = {0};
    const double network = by->profile ? NETWORK_MARGIN : ASSUMED_MARGIN;
    tutti_choice_question q = {.topology = by->topology,
                               .profile = by->profile,
                               .margin = by->topology->kind == TUTTI_TOPOLOGY_HOST ? HOST_MARGIN : network,
                               .profile_of = by->keeps_layers ? NULL : by->profile_of,
                               .profile_arg = by->profile_arg,
                               .most_fan_in = by->most_fan_in};
    *out = (tutti_job_choice){0};
    if (!tutti_job_is_open(job) || r->plan->config.nranks == 1) return TUTTI_OK;
    if (!by->profile) {
        tutti_job_assume(r->graph, !r->device->shares_host, &assumed);
        q.profile = &assumed;
        if (!by->keeps_layers) q.profile_of = assume, q.profile_arg = r->device;
    }
    const tutti_status st = choose_anew(job, &q, by->memory, r, out, err);
    tutti_profile_release(&assumed);
    return st;
}
