/* SPDX-License-Identifier: Apache-2.0 */
/* dry_run.c: `tutti train --dry-run`: prints the job, its plan and what it needs, before there is a run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/host/pages.h"
#include "../job_costs.h"
#include "run.h"
#include "seat.h"

static void show_preset(const tutti_job *job, tutti_strbuf *out)
{
    tutti_strbuf words = {0};
    tutti_job_preset_describe(job, &words);
    if (words.length) tutti_strbuf_printf(out, "# %s\n", words.text);
    tutti_strbuf_release(&words);
}

static void show_method(const tutti_job *job, const tutti_plan *p, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "\n# ");
    tutti_method_say(tutti_method_find(job->method.name), p, out);
    tutti_strbuf_puts(out, "\n");
}

/* Prints which ranks share which layers. */
static void show_split(const tutti_plan *p, tutti_strbuf *out)
{
    const tutti_graph *g = p->graph;
    const int parts = tutti_graph_parts(g), ngroups = p->config.nranks / parts;
    if (!g->nsplit) return;
    tutti_strbuf_printf(out, "#   %s parallelism: %d group%s of %d ranks, which share", tutti_plan_parallelism(p),
                        ngroups, ngroups == 1 ? "" : "s", parts);
    for (int s = 0; s < g->nsplit; s++) tutti_strbuf_printf(out, " %s", g->model->layers[g->split[s].layer].name);
    tutti_strbuf_printf(out, "\n");
}

static void show_numbers(const double *values, int n, tutti_strbuf *out)
{
    bool same = true;
    for (int c = 1; c < n; c++) same = same && values[c] == values[0];
    for (int c = 0; c < (same ? 1 : n); c++) tutti_strbuf_printf(out, "%s%g", c ? ", " : "", values[c]);
}

/* Prints the mean and the deviation that normalise samples: those of the job, or the defaults of the data set. */
static void show_normal(const tutti_dataset *d, tutti_strbuf *out)
{
    const double *mean, *std;
    const int n = tutti_dataset_normal(d, &mean, &std);
    tutti_strbuf_printf(out, "#   normalised by mean [");
    show_numbers(mean, n, out);
    tutti_strbuf_printf(out, "], std [");
    show_numbers(std, n, out);
    tutti_strbuf_printf(out, "] of %s\n", tutti_dataset_holds_numbers(d) ? "the numbers as they are" : "byte / 255");
}

static void show_plan(const tutti_job *job, const tutti_session *s, const tutti_session_data *data, tutti_strbuf *out)
{
    const tutti_plan *p = s->parts.plan;
    char hash[17], engine[96], precision[96];
    tutti_kernel_engine_describe(p->config.engine, engine);
    tutti_kernel_precision_describe(p->config.engine, p->graph->config.precision, precision);
    tutti_hash_text(tutti_plan_hash(p), hash);
    tutti_strbuf_printf(out, "# plan %s: %d rank%s, %" PRId64 " samples on rank 0 each step", hash, p->config.nranks,
                        p->config.nranks == 1 ? "" : "s", p->my_nsamples);
    if (p->config.slots) tutti_strbuf_printf(out, ", %d slots of %" PRId64, p->config.slots, p->samples_per_call);
    if (p->config.accumulate > 1)
        tutti_strbuf_printf(out, ", %d micro-batches of %" PRId64, p->config.accumulate, p->samples_per_call);
    const bool visits = tutti_plan_is_async(p);
    tutti_strbuf_printf(
        out, "\n#   %" PRId64 " parameters in %d bucket%s, %s%s; %s, %s\n", tutti_model_nparams(s->parts.model),
        p->nbuckets, p->nbuckets == 1 ? "" : "s", visits ? "visits " : "",
        visits ? tutti_admission_words(p->admission) : tutti_schedule_head(p->schedules[0].compiled)->algorithm, engine,
        precision);
    tutti_strbuf_printf(out, "#   device: %s\n", tutti_resolved_device(&s->parts));
    show_split(p, out);
    tutti_graph_add_choices(p->graph, "# ", out);
    tutti_strbuf_printf(out, "#   %" PRId64 " steps, %" PRId64 " an epoch\n", s->config.nsteps,
                        s->config.steps_per_epoch);
    tutti_run_data_words("#   ", data, job->plan.batch, out);
    show_normal(data->train, out);
    tutti_strbuf_printf(out, "# memory of a rank: ");
    for (int i = 0; i < p->nmemories; i++)
        if (p->memories[i].role != TUTTI_ROLE_ACTIVATIONS && p->memories[i].role != TUTTI_ROLE_NUMBERS)
            tutti_strbuf_printf(out, "%s %.2f MB, ", p->memories[i].name,
                                (double)tutti_plan_memory_bytes(&p->memories[i]) / 1e6);
    tutti_strbuf_printf(out, "activations %.2f MB (%.2f MB if none were shared), in %s pages\n",
                        (double)p->arena_bytes / 1e6, (double)p->arena_bytes_without_sharing / 1e6,
                        tutti_pages_are_huge() ? "huge" : "small");
    tutti_strbuf_printf(out, "# memory of rank 0 while it saves a checkpoint: %.2f MB more\n",
                        (double)tutti_saving_bytes(p) / 1e6);
    /* with a partition, the memory of each group is shown instead */
    if (tutti_session_data_bytes(data) && !strcmp(job->partition, "none"))
        tutti_strbuf_printf(out, "# memory of a host: samples %.2f MB, once for all its ranks\n",
                            (double)tutti_session_data_bytes(data) / 1e6);
}

/* Prints the weights that the run would begin at, tensor by tensor. */
static tutti_status show_init(const tutti_session *s, tutti_strbuf *out, tutti_strbuf *notes, tutti_failure *err)
{
    const tutti_plan *p = s->parts.plan;
    const tutti_init_wanted wanted = {p->graph->params, p->graph->nparams, p->config.states, p->config.nstates};
    tutti_init *init = NULL;
    if (!s->config.init.from) return TUTTI_OK;
    tutti_status st = tutti_init_open(&s->config.init, &wanted, &init, err);
    if (st) return st;
    char *summary = tutti_init_summary(init), *list = tutti_init_list(init, "#   ");
    if (tutti_init_notes(init)) tutti_strbuf_puts(notes, tutti_init_notes(init));
    tutti_strbuf_printf(out, "# %s\n%s", summary, list);
    free(summary);
    free(list);
    tutti_init_destroy(init);
    return TUTTI_OK;
}

/* Predicts what a run would choose and measure between its ranks. */
static tutti_status settle_here(const tutti_job *job, tutti_session *s, tutti_failure *err)
{
    tutti_topology here;
    char *overrides = NULL;
    tutti_status st = tutti_topology_of_this_host(&here, err);
    if (!st) st = tutti_session_choose(job, &here, NULL, s, &overrides, err);
    free(overrides);
    if (st || job->exchange.buckets != TUTTI_BUCKETS_SOONEST) return st;
    st = tutti_job_add_costs(job, &here, &s->parts, err);
    s->config.plan = s->parts.plan;
    return st;
}

tutti_status tutti_run_dry(const tutti_job *job, tutti_strbuf *out, tutti_strbuf *notes, tutti_failure *err)
{
    tutti_session_data data = {0};
    tutti_session s = {0};
    tutti_status st = tutti_session_data_open(job, NULL, NULL, &data, err);
    if (!st) st = tutti_session_open(job, &data, NULL, NULL, &s, err);
    if (!st) st = settle_here(job, &s, err);
    if (!st) {
        tutti_strbuf_puts(out, s.job_text);
        show_method(job, s.parts.plan, out);
        show_preset(job, out);
        if (s.exchange[0]) tutti_strbuf_printf(out, "# exchange: %s, chosen in %.2f s\n", s.exchange, s.choice_s);
        show_plan(job, &s, &data, out);
        st = tutti_seat_show(job, s.parts.plan, &data, "# ", out, err);
        if (!st) st = show_init(&s, out, notes, err);
    }
    tutti_session_release(&s);
    tutti_session_data_release(&data);
    return st;
}
