/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan.c: `tutti plan [check] JOB.yaml`: prints the plan of a job; `check` proves that two consecutive steps of all
 * ranks are free of races. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../job/job_choice.h"
#include "../../job/job_costs.h"
#include "../../job/job_fields.h"
#include "../../job/run/seat.h"
#include "../topo/topo.h"

static const tutti_flag flags[] = {
    {"ranks", "N", "ranks to share the batch (default: the job's)", 0},
    {"set", "KEY=VALUE", "override a key of the job", TUTTI_FLAG_MANY},
    {"dot", NULL, "a drawing: pipe it into `dot -Tsvg`", 0},
    {"topology", "T", "show when exchanges travel there: host, " TUTTI_TOPO_KINDS, 0},
    TUTTI_TOPO_CORES_FLAG,
    {"costs", "FILE", "the same by these costs, for example costs.yaml of a checkpoint", TUTTI_FLAG_READS},
    {"rank", "R", "whose loop to show (default: 0)", 0},
    {"hosts", "N,N,...",
     "as for hosts with these numbers of ranks, in order (default: as --topology has them, else one host)", 0},
};
enum { MAX_COSTS_BYTES = 1 << 20 };

static const char about[] =
    "Prints the plan of a rank: its samples, what travels together and by which schedule, where everything lies in\n"
    "memory, and the loop of one step. `tutti plan check` proves every schedule, and then, over two consecutive steps\n"
    "of all ranks, that every two overlapping accesses, one of them a write, are ordered. `tutti train` does so before "
    "its\n"
    "first step.";

static tutti_status show(const tutti_flags *f, const tutti_job *job, const tutti_plan *p, tutti_failure *err)
{
    const bool draws = tutti_cli_has(f, "dot");
    tutti_strbuf seats = {0}, says = {0};
    char *text = draws ? tutti_plan_dot(p) : tutti_plan_print(p);
    tutti_method_say(tutti_method_find(job->method.name), p, &says);
    tutti_status st = draws ? TUTTI_OK : tutti_seat_show(job, NULL, NULL, "", &seats, err);
    if (!st && !draws) printf("%s\n\n", says.text);
    if (!st) st = tutti_cli_write(NULL, text, err);
    if (!st && seats.length) {
        putchar('\n');
        st = tutti_cli_write(NULL, seats.text, err);
    }
    tutti_strbuf_release(&seats);
    tutti_strbuf_release(&says);
    free(text);
    return st;
}

/* Prints what has been proved for ranks that take all steps together. */
static void say_order(const tutti_plan *p)
{
    printf("schedules, lowered: every element is summed once (%s) and reaches every rank; no deadlock, no race\n"
           "two steps of all ranks: accesses to",
           tutti_determinism_name(tutti_schedule_head(p->schedules[0].lowered)->determinism));
    for (int i = 0; i < p->nmemories; i++) printf("%s %s", i ? "," : "", p->memories[i].name);
    printf(" are ordered\n");
    if (p->config.rounds_each)
        printf("sums: each partial sum is rounded to %s, the same ones on all ranks\n",
               tutti_dtype_name(p->config.sent));
    for (int i = 0; i < p->nmemories; i++)
        if (p->memories[i].holds == TUTTI_HOLDS_ALL)
            printf("after a %s, %s: on every rank%s, of every sample's part exactly one\n",
                   tutti_plan_has_period(p) ? "period" : "step", p->memories[i].name,
                   p->graph->nsplit && p->memories[i].role == TUTTI_ROLE_WEIGHTS
                       ? " (of split layers its part, before a test all)"
                       : "");
    if (p->graph->nsplit)
        printf(
            "split layers: their kernels find the samples of the group, and of these the outputs or gradients of all "
            "its ranks, each at its place\n");
}

/* Prints what has been proved for workers that visit a centre. */
static void say_visits(const tutti_plan *p)
{
    printf("visits, %s: of all ranks,", tutti_admission_words(p->admission));
    for (int i = 0, n = 0; i < p->nmemories; i++)
        if (p->memories[i].is_common) printf("%s %s", n++ ? "," : "", p->memories[i].name);
    printf(" touched in visits alone, which are not nested and wait for nothing: so every visit ends%s\n",
           p->admission == TUTTI_ADMIT_EVERYBODY ? ", and others change the same meanwhile, as the method has it"
                                                 : ", and nobody is in another's");
    int nfar = 0;
    for (int r = 1; r < p->config.nranks; r++) nfar += tutti_plan_is_far(p, r);
    if (nfar)
        printf("workers of other hosts, %d: each takes turns with its part at rank 0, over two periods; what it takes "
               "along is "
               "made of what it brought; nothing travels inside a visit\n",
               nfar);
    if (p->admission == TUTTI_ADMIT_IN_RANK_ORDER)
        printf("all ranks visit equally often: nobody waits for one that does not come\n");
}

static tutti_status check(const tutti_flags *f, const tutti_job *job, const tutti_plan *p, tutti_failure *err)
{
    (void)f, (void)job;
    tutti_status st = tutti_plan_check_schedules(p, err);
    if (!st) st = tutti_plan_check(p, err);
    if (st) return st;
    printf("plan %s on %d rank%s: %d bucket%s, %d exchanges, %d actions a step on rank %d\n", p->graph->model->name,
           p->config.nranks, p->config.nranks == 1 ? "" : "s", p->nbuckets, p->nbuckets == 1 ? "" : "s", p->nexchanges,
           p->loops[TUTTI_EACH_STEP].nactions, p->config.rank);
    if (tutti_plan_is_async(p))
        say_visits(p);
    else
        say_order(p);
    if (p->config.only_finite || p->config.norms)
        printf("verdict: each rank looks at all of its sums before it is asked for, and updates come after it\n");
    if (p->config.norms == TUTTI_NORMS_OF_TENSORS)
        printf("norms: every element of every tensor is looked at once, by one of those whose squares are added up\n");
    return TUTTI_OK;
}

static tutti_status read_costs(const char *path, tutti_resolved *r, tutti_failure *err)
{
    tutti_plan_costs costs = {0};
    char *text = NULL;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_COSTS_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (!st) st = tutti_plan_costs_parse(path, text, &costs, err);
    if (!st) st = tutti_resolved_replan(r, &costs, err);
    tutti_plan_costs_release(&costs);
    free(text);
    return st;
}

/* Adds the costs of buckets. `exchange.buckets: soonest` needs them; for other rules the plan then also shows when
 * their buckets are exchanged. */
static tutti_status add_costs(const tutti_flags *f, const tutti_job *job, tutti_resolved *r, tutti_failure *err)
{
    const char *topology = tutti_cli_value(f, "topology", NULL), *costs = tutti_cli_value(f, "costs", NULL);
    tutti_topology t;
    if (topology && costs) return tutti_fail(err, TUTTI_ERR_USAGE, "--topology and --costs: give one");
    if (costs) return read_costs(costs, r, err);
    if (!topology && job->exchange.buckets != TUTTI_BUCKETS_SOONEST) return TUTTI_OK;
    tutti_status st = tutti_topo_open(f, topology ? topology : "host", &t, err);
    return st ? st : tutti_job_add_costs(job, &t, r, err);
}

/* Sets the keys that are `auto` to the values that a run on the machine of the flags would choose. */
static tutti_status choose(const tutti_flags *f, const tutti_job *job, const int32_t *host_of, tutti_resolved *r,
                           tutti_failure *err)
{
    const char *topology = tutti_cli_value(f, "topology", NULL);
    tutti_topology t;
    tutti_job_choice choice = {0};
    tutti_status st = topology ? tutti_topo_open(f, topology, &t, err) : TUTTI_OK;
    if (st || (!topology && !tutti_job_machine(host_of, (int)job->ranks, 0, &t))) return st;
    st = tutti_job_choose(job, &(tutti_job_choice_by){.topology = &t}, r, &choice, err);
    free(choice.text);
    return st;
}

/* Finds the hosts that the flags give, else those of the topology, else one host. */
static tutti_status read_hosts(const tutti_flags *f, const tutti_job *job, int32_t **host_of, tutti_failure *err)
{
    const int32_t nranks = (int32_t)job->ranks;
    const char *topology = tutti_cli_value(f, "topology", NULL);
    tutti_topology t;
    if (!topology && !tutti_cli_has(f, "hosts")) return TUTTI_OK;
    *host_of = tutti_alloc(sizeof **host_of * (size_t)nranks);
    if (tutti_cli_has(f, "hosts")) return tutti_cli_hosts(f, nranks, *host_of, err);
    tutti_status st = tutti_topo_open(f, topology, &t, err);
    if (!st) st = tutti_topology_fits(&t, nranks, err);
    if (!st) tutti_topology_machines(&t, nranks, *host_of);
    return st;
}

typedef tutti_status act(const tutti_flags *f, const tutti_job *job, const tutti_plan *p, tutti_failure *err);

static tutti_status with_plan(const tutti_flags *f, const char *path, act *what, tutti_failure *err)
{
    long rank;
    tutti_job *job = NULL;
    tutti_resolved r = {0};
    int32_t *host_of = NULL;
    tutti_status st = tutti_cli_int(f, "rank", (tutti_cli_range){0, 65535}, 0, &rank, err);
    if (!st) st = tutti_cli_load_job(f, path, &job, err);
    if (!st) st = read_hosts(f, job, &host_of, err);
    if (!st)
        st = tutti_job_resolve(job, &(tutti_job_seat){.rank = (int)rank, .host_of = host_of, .on_device = true}, &r,
                               err);
    if (!st) st = choose(f, job, host_of, &r, err);
    if (!st) st = add_costs(f, job, &r, err);
    if (!st) st = what(f, job, r.plan, err);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    free(host_of);
    return st;
}

static tutti_status plan(const tutti_flags *f, tutti_failure *err)
{
    const bool checks = f->nrest && !strcmp(f->rest[0], "check");
    if (f->nrest != 1 + checks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "one job file is wanted: tutti plan [check] JOB.yaml [options]");
    return with_plan(f, f->rest[checks], checks ? check : show, err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "plan",
        .usage = "tutti plan [check] JOB.yaml [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = plan,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_plan = {"plan", "show how its ranks do it; 'plan check' proves it free of races",
                                          run_command};
