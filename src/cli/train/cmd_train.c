/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c: `tutti train JOB.yaml`: one rank, several ranks of its own, or one rank of a run that somebody else started.
 *
 * Signals: see stop.h; whether an end was asked for is looked at once a step. SIGQUIT makes all ranks report where they are, and go
 * on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/text/options.h"
#include "../../collective/launch/launch.h"
#include "../../job/job_fields.h"
#include "../../job/session.h"
#include "../cli.h"
#include "../progress.h"
#include "../stop.h"
#include "rank_report.h"
#include "train_cmd.h"
#include "train_seat.h"

static const tutti_flag flags[] = {
    {"ranks", "N", "processes (default: the job's)", 0},
    {"out", "DIR", "results (default: runs/<name of the job file>)", TUTTI_FLAG_WRITES | TUTTI_FLAG_RUN},
    {"seed", "S", "seed (default: the job's)", 0},
    {"set", "KEY=VALUE", "override a key of the job", TUTTI_FLAG_MANY},
    {"init", "FROM", "begin at the weights of FILE.safetensors, of a checkpoint or of a run's folder (keys init.*)",
     TUTTI_FLAG_READS},
    {"trace", "N", "trace N steps after the job's trace.warmup into DIR/trace.json and DIR/layers.txt", 0},
    {"record", "FILE", "asynchronous methods: keep the order of shares and visits", TUTTI_FLAG_WRITES},
    {"replay", "FILE", "... and go by one that was kept: the same weights to the bit", TUTTI_FLAG_READS},
    {"partition", "G", "bind ranks to groups of cores: none, numa, l3 or a number of groups (key partition)", 0},
    {"slow", "RANK=FACTOR", "that rank's computing takes so many times as long, on purpose", TUTTI_FLAG_MANY},
    {"stall", "RANK=SECONDS@STEP", "that rank stands still for so long, once, at that step", TUTTI_FLAG_MANY},
    {"pretend", "LAYERS", "kernels only wait for the times of a layer trace: nothing is learned or kept (see above)",
     TUTTI_FLAG_READS},
    {"fresh", NULL, "start over: remove what DIR holds of an earlier run", 0},
    {"quiet", NULL, "print the last line only", 0},
    {"dry-run", NULL, "print the resolved job, the plan and the memory; run nothing", 0},
    {"ranks-as-threads", NULL, "ranks are threads of this process, with reference kernels", 0},
    TUTTI_CLI_CORES_FLAG,
};
enum { NFLAGS = sizeof flags / sizeof *flags, FLAG_RANKS = 0, FLAG_OUT = 1, FLAG_SET = 3 };

static const char about[] =
    "Trains a job and keeps metrics.jsonl, the resolved job and checkpoints in DIR. A run that "
    "was stopped or killed goes on\n"
    "from its newest whole checkpoint when the command is given again. SIGTERM, SIGUSR1 or SIGHUP on any rank: all "
    "save the\n"
    "same step and end with 143, 138 or 129; before the first step, or a second time: at once. SIGQUIT: all ranks say "
    "where they\n"
    "are, and go on. Where workers visit a centre (async-sgd, easgd and their kin) a rank other than 0 may die: it is\n"
    "named, the others go on, and the exit code is rank 0's. No step is played of a plan that is not proved\n"
    "(`tutti plan check`); DIR keeps the proof. Under torchrun, mpirun of Open MPI, srun --mpi=pmix or\n"
    "any launcher that sets RANK and WORLD_SIZE it is one rank of that run.\n\n"
    "--pretend LAYERS: for developers, to hold a prediction against a run of more ranks than there are cores to "
    "compute\n"
    "for: kernels only wait, as long as the layer trace of a one-rank run says (train --ranks 1 --trace N; the batch "
    "is\n"
    "that run's times the ranks). Exchanges, visits and updates are those of the job. Nothing is learned, tested, "
    "saved\n"
    "or resumed; DIR must hold no checkpoints.";

static void print_help(void)
{
    tutti_job_fields fields;
    tutti_strbuf keys = {0};
    tutti_cli_help(stdout, "tutti train JOB.yaml [options]", about, flags, NFLAGS);
    tutti_options_help(tutti_job_fields_list(&fields), &keys);
    printf("\nkeys of a job:\n%s", keys.text);
    tutti_strbuf_release(&keys);
}

/* ---- one rank ---- */

typedef struct {
    const tutti_job *job;
    const tutti_session_data *data; /* shared by threads; NULL: this rank opens its own */
    const char *dir, *record, *replay, *pretend;
    const tutti_handicap *handicaps; /* of all ranks */
    bool fresh, quiet;
    tutti_train_seat seat;
    int64_t began_ns;
    tutti_stop *stop;
    int64_t nsteps; /* begun */
    tutti_group *group;
    const tutti_session *session; /* what is played, once it is known */
    tutti_progress progress;
    bool resigned; /* it has failed, and the others go on */
    tutti_train_result result;
    tutti_failure err;
} player;

/* Once a step, at its beginning: from the second on there is one to save. */
static int stop_asked(void *arg)
{
    player *p = arg;
    if (p->nsteps++ > 0) tutti_stop_saves(p->stop);
    return tutti_stop_asked(p->stop);
}

static void print_result(const player *p, const tutti_train_config *c)
{
    const tutti_train_result *r = &p->result;
    if (tutti_group_rank(p->group) != 0) return;
    if (r->was_done && !p->quiet)
        printf("nothing left to do: %s is at step %lld of %lld\n", p->dir, (long long)r->step, (long long)c->nsteps);
    if (r->stop_signal && !p->quiet)
        printf("stopped by signal %d at step %lld; the same command goes on from there\n", r->stop_signal,
               (long long)r->step);
    if (p->seat.is_bound && !p->quiet) printf("%s\n", p->seat.words.text);
    if (p->pretend)
        printf("pretended %lld steps by %s: no loss, no accuracy, no weights\n", (long long)r->step, p->pretend);
    else
        tutti_train_print_result(r);
}

/* Which way the bytes go was chosen, so it is said. */
static void print_wires(const player *p)
{
    const int nhosts = tutti_group_nhosts(p->group);
    if (p->quiet || nhosts == 1 || tutti_group_rank(p->group) != 0) return;
    printf("%d ranks on %d hosts over %s\n", tutti_group_nranks(p->group), nhosts, tutti_group_wires(p->group));
}

/* Rank 0 prints the choice. On one host the predicted step leaves kernels out, because their times are not measured yet. */
static void print_exchange(const player *p, const tutti_session *s)
{
    if (p->quiet || !s->exchange[0]) return;
    if (s->is_kept) {
        printf("exchange: %s, as this run began\n", s->exchange);
        return;
    }
    printf("exchange: %s, chosen in %.2f s: %.3g ms a step predicted%s\n", s->exchange, s->choice_s,
           s->predicted_s * 1e3, tutti_group_nhosts(p->group) == 1 ? ", beside kernels" : "");
}

/* says: the plan in ten words. Nothing is said of a run before it is known that nothing refuses it. */
static void print_plan(const player *p, const char *says)
{
    char *kernels = tutti_graph_say_choices(p->session->parts.graph);
    print_wires(p);
    if (p->seat.is_bound) printf("%s\n%s", p->seat.words.text, p->seat.list.text);
    printf("%s\n", says);
    tutti_train_print_preset("", p->job);
    if (kernels) printf("kernels, passes: %s ('tutti plan' says why)\n", kernels);
    free(kernels);
    print_exchange(p, p->session);
}

/* Prints what the data set found and left out, and the memory that the ranks of a host share. */
static void print_data(const player *p, const tutti_session_data *d)
{
    const int64_t nbytes = tutti_session_data_bytes(d);
    if (tutti_group_rank(p->group) != 0 || p->quiet) return;
    tutti_train_print_data("", d, p->job->plan.batch);
    if (tutti_group_nranks(p->group) == 1 || !nbytes) return;
    printf("data: %lld training and %lld test samples, %.1f MB, once for all ranks %s\n",
           (long long)tutti_dataset_count(d->train), (long long)tutti_dataset_count(d->test), 1e-6 * (double)nbytes,
           p->seat.is_bound && p->seat.partition.ndomains > 1 ? "near one memory" : "of a host");
}

static void say_failure(player *p, int rank, int nranks)
{
    if (!p->err.text[0]) return;
    if (nranks > 1 && strncmp(p->err.text, "rank ", 5) != 0)
        fprintf(stderr, "tutti train: rank %d: %s\n", rank, p->err.text);
    else
        fprintf(stderr, "tutti train: %s\n", p->err.text);
    p->err.text[0] = '\0';
}

/* Of rank 0. The launcher need not know which runs bear what: it is told. */
static void hear(void *arg, const tutti_train_event *e)
{
    player *p = arg;
    if (e->kind == TUTTI_TRAIN_BEARS) tutti_launch_tell_borne();
    if (e->kind == TUTTI_TRAIN_PLAN && !p->quiet) print_plan(p, e->text);
    tutti_progress_event(&p->progress, e);
}

/* Who has words says them before anybody ends: a launcher kills the rest when the first one does. */
static tutti_status prepare(player *p, tutti_cli_reporter *reporter, tutti_session_data *own, tutti_session *s)
{
    char *times = NULL;
    tutti_status st = tutti_cli_report(reporter, &p->err);
    if (!st) st = tutti_train_tell_seat(p->group, p->job, &p->seat, &p->err);
    if (!st) st = tutti_job_share_times(p->job, p->group, &times, &p->err);
    if (!st) st = p->data ? TUTTI_OK : tutti_session_data_open(p->job, p->group, p->seat.memory_of, own, &p->err);
    if (!st) st = tutti_session_open(p->job, p->data ? p->data : own, p->group, times, s, &p->err);
    free(times);
    if (!st && p->pretend) st = tutti_session_pretend(p->pretend, s, &p->err);
    st = tutti_group_all_ready(p->group, "preparation", st, &p->err);
    if (!st) st = tutti_train_check_domains(p->group, p->job, &p->seat, s, own, &p->err);
    if (!st) print_data(p, p->data ? p->data : own);
    if (!st) return tutti_session_settle(p->job, p->group, p->fresh ? NULL : p->dir, s, &p->err);
    say_failure(p, tutti_group_rank(p->group), tutti_group_nranks(p->group));
    (void)tutti_group_barrier(p->group, "words of a failure", NULL);
    return st;
}

static void *play(void *arg)
{
    player *p = arg;
    tutti_session s = {0};
    tutti_session_data own = {0};
    tutti_cli_reporter reporter = {"train", p->group}; /* until the group is left */
    tutti_status st = prepare(p, &reporter, &own, &s);
    if (!st && tutti_group_rank(p->group) == 0) tutti_train_warn_of_rule(p->job);
    p->session = &s;
    p->progress = tutti_progress_begin(p->quiet, p->dir);
    s.config.dir = p->dir;
    s.config.fresh = p->fresh;
    s.config.handicap = p->handicaps[tutti_group_rank(p->group)];
    s.config.record = p->record;
    s.config.replay = p->replay;
    s.config.began_ns = p->began_ns;
    s.config.bound = p->seat.words.text;
    s.config.on_event = hear;
    s.config.on_event_arg = p;
    s.config.stop_asked = stop_asked;
    s.config.stop_arg = p;
    if (!st) st = tutti_train(p->group, &s.config, &p->result, &p->err);
    tutti_progress_end(&p->progress);
    if (!st) print_result(p, &s.config);
    tutti_session_release(&s);
    tutti_session_data_release(&own);
    int culprit;
    (void)tutti_group_failure(p->group, &culprit, NULL);
    p->resigned = culprit == tutti_group_rank(p->group);
    tutti_group_leave(p->group);
    p->err.status = st;
    return NULL;
}

static int exit_code(player *p, int rank, int nranks)
{
    if (p->err.status) say_failure(p, rank, nranks);
    if (p->err.status) return (int)p->err.status;
    return p->result.stop_signal ? 128 + p->result.stop_signal : 0;
}

static int run_rank(player *p, tutti_group_config *config)
{
    char *text = tutti_job_print(p->job);
    config->fingerprint = text;
    tutti_cli_block_quit();
    tutti_status st = tutti_train_take_seat(p->job, config, &p->seat, &p->err);
    if (!st) st = tutti_cli_join("train", config, &p->group, &p->err);
    free(text);
    if (st)
        p->err.status = st;
    else
        play(p);
    tutti_train_seat_release(&p->seat);
    if (p->resigned) tutti_group_config_end(config, 0, ""); /* a launcher that ends all when one fails is not told */
    return exit_code(p, config->rank, config->nranks);
}

/* ---- ranks as threads ---- */

static int run_threads(const player *like, int nranks)
{
    tutti_group **groups = tutti_alloc((size_t)nranks * sizeof *groups);
    player *players = tutti_alloc((size_t)nranks * sizeof *players);
    pthread_t *threads = tutti_alloc((size_t)nranks * sizeof *threads);
    tutti_session_data data = {0};
    tutti_failure err = {0};
    int code = 0;
    const bool goes_on = tutti_method_find(like->job->method.name)->is_async; /* without whom it loses, but rank 0 */

    tutti_cli_block_quit();
    tutti_status st = tutti_session_data_open(like->job, NULL, NULL, &data, &err);
    if (!st) st = tutti_group_create_threads(nranks, like->job->exchange.deadline_s, groups, &err);
    if (st) code = tutti_cli_fail("train", &err);
    for (int r = 0; r < nranks && !st; r++) {
        players[r] = *like;
        players[r].group = groups[r];
        players[r].data = &data;
        const int problem = pthread_create(&threads[r], NULL, play, &players[r]);
        if (problem) { /* those before it would wait for it */
            fprintf(stderr, "tutti train: cannot start the thread of rank %d: %s\n", r, strerror(problem));
            _exit(TUTTI_ERR_FAILED);
        }
    }
    for (int r = 0; r < nranks && !st; r++) {
        pthread_join(threads[r], NULL);
        const int one = exit_code(&players[r], r, nranks);
        if (!code && (r == 0 || !goes_on)) code = one;
    }
    tutti_session_data_release(&data);
    free(groups);
    free(players);
    free(threads);
    return code;
}

/* ---- the command ---- */

static bool sets_kernels(const tutti_flags *f)
{
    for (int i = 0; i < f->count[FLAG_SET]; i++)
        if (!strncmp(f->value[FLAG_SET][i], "kernels=", 8) || !strncmp(f->value[FLAG_SET][i], "kernels.name=", 13))
            return true;
    return false;
}

/* The launcher's rank count rules; threads compute with reference kernels unless told otherwise. */
static tutti_status take_environment(tutti_flags *f, const tutti_group_config *config, char world[16],
                                     tutti_failure *err)
{
    if (tutti_cli_has(f, "ranks-as-threads") && !sets_kernels(f) && f->count[FLAG_SET] < 64)
        f->value[FLAG_SET][f->count[FLAG_SET]++] = "kernels=reference";
    if (config->ncores && tutti_cli_has(f, "ranks-as-threads"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--cores is of ranks that are processes, not --ranks-as-threads");
    if (!config->launcher) return TUTTI_OK;
    long asked;
    tutti_status st = tutti_cli_int(f, "ranks", 1, 1 << 20, config->nranks, &asked, err);
    if (st) return st;
    if (asked != config->nranks) return tutti_cli_refuse_ranks(asked, config->nranks, config->launcher, err);
    if (config->nranks > 1 && tutti_cli_has(f, "ranks-as-threads"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks-as-threads, but %s has started %d processes", config->launcher,
                          config->nranks);
    snprintf(world, 16, "%d", config->nranks);
    f->value[FLAG_RANKS][0] = world;
    f->count[FLAG_RANKS] = 1;
    return TUTTI_OK;
}

static int run(const tutti_flags *f, const tutti_job *job, tutti_group_config *config, char **argv)
{
    const int nranks = (int)job->ranks;
    if (!tutti_cli_has(f, "ranks-as-threads") && !config->launcher && nranks > 1)
        return tutti_train_launch(job, !tutti_cli_has(f, "quiet"), argv);
    player p = {.job = job,
                .dir = tutti_cli_value(f, "out", NULL),
                .record = tutti_cli_value(f, "record", NULL),
                .replay = tutti_cli_value(f, "replay", NULL),
                .pretend = tutti_cli_value(f, "pretend", NULL),
                .fresh = tutti_cli_has(f, "fresh"),
                .quiet = tutti_cli_has(f, "quiet"),
                .began_ns = tutti_clock_ns()};
    tutti_failure err = {0};
    tutti_handicap *handicaps = tutti_alloc(sizeof *handicaps * (size_t)nranks);
    tutti_cli_handicaps(f, nranks, handicaps, NULL); /* they have been checked */
    p.handicaps = handicaps;
    if (!getenv("TUTTI_DEADLINE_S")) config->deadline_s = job->exchange.deadline_s;
    int code = TUTTI_OK;
    if (tutti_stop_begin("train", config->rank == 0, &p.stop, &err))
        code = tutti_cli_fail("train", &err);
    else
        code = tutti_cli_has(f, "ranks-as-threads") ? run_threads(&p, nranks) : run_rank(&p, config);
    tutti_stop_end(p.stop);
    free(handicaps);
    return code;
}

/* An order of shares and visits is kept, or followed, where there is one. */
static tutti_status check_order(const tutti_flags *f, const tutti_job *job, tutti_failure *err)
{
    const tutti_method_row *m = tutti_method_find(job->method.name);
    const char *flag = tutti_cli_has(f, "record") ? "--record" : "--replay";
    if (!tutti_cli_has(f, "record") && !tutti_cli_has(f, "replay")) return TUTTI_OK;
    if (!m->is_async)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: ranks of %s take all steps together; there is no order to keep",
                          flag, m->name);
    if (m->is_unordered)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s: workers of %s change the centre at the same time; there is no order to keep", flag,
                          m->name);
    return TUTTI_OK;
}

/* DIR/job.yaml is written anew by every run. That may be the job that was given if it is such a job already: nothing is lost then. */
static tutti_status check_job_stays(const char *path, const char *dir, const tutti_job *job, tutti_failure *err)
{
    char *written, *given = NULL, *resolved = tutti_job_print(job);
    size_t nbytes;
    if (asprintf(&written, "%s/job.yaml", dir) < 0) tutti_no_memory(strlen(dir));
    tutti_status st = TUTTI_OK;
    if (tutti_cli_same_file(path, written) &&
        !tutti_file_read(path, SIZE_MAX / 2, TUTTI_ERR_USAGE, &given, &nbytes, NULL) && strcmp(given, resolved) != 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: the run would write its resolved job over it: give another --out",
                        path);
    free(given);
    free(resolved);
    free(written);
    return st;
}

/* What rank 0 could not use in the end is refused before there are ranks. */
static tutti_status check_places(const tutti_flags *f, const tutti_job *job, bool writes, tutti_failure *err)
{
    struct stat info;
    const char *dir = tutti_cli_value(f, "out", NULL);
    tutti_status st = tutti_cli_check_flags(f, err);
    if (!st) st = tutti_cli_check_out_folder(dir, err);
    if (!st && job->ranks > 1 && stat(f->rest[0], &info) == 0 && !S_ISREG(info.st_mode))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: is a pipe, which one rank alone can read: put the job into a file",
                        f->rest[0]);
    if (!st) st = check_job_stays(f->rest[0], dir, job, err);
    return st || !writes ? st : tutti_cli_try_flags(f, err);
}

/* As the rank that `config` says: reads the job, then runs it or shows what it would do. */
static int act(tutti_flags *f, tutti_group_config *config, char **argv)
{
    tutti_failure err = {0};
    tutti_job *job = NULL;
    char world[16];
    int code = TUTTI_OK;
    tutti_status st = take_environment(f, config, world, &err);
    if (!st) st = tutti_cli_load_job_here(f, f->rest[0], config->launcher ? config->local_nranks : 0, &job, &err);
    if (!st && tutti_cli_has(f, "ranks-as-threads") && strcmp(job->partition, "none") != 0)
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "%s: is of ranks that are processes, not --ranks-as-threads",
                        job->said_partition);
    if (!st) st = check_places(f, job, config->rank == 0 && !tutti_cli_has(f, "dry-run"), &err);
    if (!st) st = check_order(f, job, &err);
    if (!st && tutti_cli_has(f, "pretend") && tutti_cli_has(f, "replay"))
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "--replay is for its weights, and --pretend has none");
    if (!st) st = tutti_cli_handicaps(f, (int)job->ranks, NULL, &err);
    if (!st && tutti_cli_has(f, "dry-run"))
        st = tutti_train_dry_run(job, &err);
    else if (!st)
        code = run(f, job, config, argv);
    tutti_job_destroy(job);
    return st ? tutti_cli_fail("train", &err) : code;
}

static int run_command(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    tutti_group_config config = {0};
    tutti_status st = tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err);
    if (!st && f.help) {
        print_help();
        return TUTTI_OK;
    }
    if (!st && f.nrest != 1)
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "wants one job file: tutti train JOB.yaml [options]");
    if (!st) st = tutti_group_config_from_env(&config, &err);
    if (!st) st = tutti_cli_cores(&f, &config.ncores, &err);
    if (st) return tutti_cli_fail("train", &err);
    char *dir = tutti_cli_run_folder(f.rest[0], "");
    if (!f.count[FLAG_OUT]) f.value[FLAG_OUT][f.count[FLAG_OUT]++] = dir;
    const int code = act(&f, &config, argv);
    tutti_group_config_end(&config, code, "tutti train: a rank failed");
    free(dir);
    return code;
}

const tutti_command tutti_command_train = {"train", "train a job on one or many ranks", run_command};
