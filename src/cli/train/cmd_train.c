/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c: `tutti train JOB.yaml`: trains as one rank, starts several ranks, or joins a run that another launcher
 * started.
 *
 * Signals: see stop.h; each step checks whether a signal has asked for the end. SIGQUIT makes all ranks report where
 * they are, and go on. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/text/options.h"
#include "../../collective/launch/link.h"
#include "../../job/job_fields.h"
#include "../../job/run/run.h"
#include "../cli.h"
#include "../progress.h"
#include "../stop.h"
#include "rank_report.h"
#include "train_cmd.h"

static const tutti_flag flags[] = {
    {"ranks", "N|MIN:MAX",
     "processes (default: the job's); a range: the run goes on with fewer and takes more (docs/elastic.md)", 0},
    {"out", "DIR", "results (default: runs/<name of the job file>)", TUTTI_FLAG_WRITES | TUTTI_FLAG_RUN},
    {"seed", "S", "seed (default: the job's)", 0},
    {"set", "KEY=VALUE", "override a key of the job", TUTTI_FLAG_MANY},
    {"init", "FROM", "begin at the weights of FILE.safetensors, of a checkpoint or of a run's folder (keys init.*)",
     TUTTI_FLAG_READS},
    {"trace", "N", "trace N steps after the job's trace.warmup into DIR/trace.json and DIR/layers.txt", 0},
    {"record", "FILE", "asynchronous methods: keep the order of shares and visits", TUTTI_FLAG_WRITES},
    {"replay", "FILE", "... and go by one that was kept: the same weights to the bit", TUTTI_FLAG_READS},
    {"partition", "G", "bind ranks to groups of cores: none, numa, l3 or a number of groups (key partition)", 0},
    {"slow", "RANK=FACTOR", "that rank's computing takes FACTOR times as long, on purpose", TUTTI_FLAG_MANY},
    {"stall", "RANK=SECONDS@STEP", "that rank stands still for SECONDS, once, at that step", TUTTI_FLAG_MANY},
    {"pretend", "LAYERS", "kernels only wait for the times of a layer trace: nothing is learned or kept (see above)",
     TUTTI_FLAG_READS},
    {"max-restarts", "N", "replace ranks that are lost, at most N times (default 0; docs/elastic.md)", 0},
    {"ranks-per-host", "K", "be the agent of this host, which starts K ranks; one agent a host (docs/elastic.md)", 0},
    {"listen", "ADDRESS[:PORT]", "as the first agent, without a launcher: where other agents join", 0},
    {"join", "TEXT", "as another agent, without a launcher: the text that the first agent prints", 0},
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
    "from its newest whole checkpoint when the command is given again. SIGTERM, SIGUSR1, SIGUSR2 or SIGHUP on any "
    "rank: all\n"
    "save the same step and end with 143, 138, 140 or 129. Before the first step, they end at once. A second signal "
    "within a\n"
    "second changes nothing; a later one ends the run at once, but the first SIGTERM after another signal does not. "
    "SIGINT\n"
    "(Ctrl-C) always ends the run at once (docs/launching.md). SIGQUIT: all ranks say where they are, and go on.\n"
    "Where workers visit a centre (async-sgd, easgd and their kin) a rank other than 0 may die: it is\n"
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

/* ---- messages of a run ---- */

typedef struct {
    bool quiet, is_borne; /* is_borne: this rank has failed, but the other ranks continue without it */
    const char *dir, *pretend;
    tutti_stop *stop;
    const tutti_train_link *link;
    tutti_progress progress;
} listener;

/* Prints the last line of a run: "weights <16 hex> step N loss L accuracy A". */
static void print_result(const tutti_run_result *r)
{
    char hash[17];
    tutti_hash_text(r->weights_hash, hash);
    printf("weights %s step %" PRId64, hash, r->step);
    if (r->step > 0) printf(" loss %.6f", isnan(r->loss) ? (double)NAN : r->loss); /* nan without a sign, never -nan */
    if (!isnan(r->accuracy)) printf(" accuracy %.4f", r->accuracy);
    printf("\n");
    fflush(stdout);
}

static void print_end(const listener *l, const tutti_run_event *e)
{
    const tutti_run_result *r = e->result;
    if (r->was_done && !l->quiet)
        printf("nothing left to do: %s is at step %lld of %lld\n", l->dir, (long long)r->step, (long long)r->nsteps);
    if (r->stop_signal && !l->quiet)
        printf("stopped by signal %d at step %lld; the same command goes on from there\n", r->stop_signal,
               (long long)r->step);
    if (*e->text && !l->quiet) printf("%s\n", e->text);
    if (l->pretend)
        printf("pretended %lld steps by %s: no loss, no accuracy, no weights\n", (long long)r->step, l->pretend);
    else
        print_result(r);
}

static void print_failure(listener *l, const tutti_run_event *e)
{
    if (e->is_borne) l->is_borne = true;
    if (e->rank <= 0) tutti_progress_end(&l->progress);
    if (e->nranks > 1 && e->rank >= 0 && strncmp(e->text, "rank ", 5) != 0)
        fprintf(stderr, "tutti train: rank %d: %s\n", e->rank, e->text);
    else
        fprintf(stderr, "tutti train: %s\n", e->text);
}

static void hear(void *arg, const tutti_run_event *e)
{
    listener *l = arg;
    switch (e->kind) {
    case TUTTI_RUN_FAILED: print_failure(l, e); break;
    case TUTTI_RUN_REPORT: tutti_cli_print_report("train", e->rank, e->text); break;
    case TUTTI_RUN_STOPPABLE: tutti_stop_saves(l->stop); break;
    case TUTTI_RUN_END:
        tutti_progress_end(&l->progress);
        print_end(l, e);
        break;
    default: tutti_progress_event(&l->progress, e); break;
    }
    /* After this message the launcher passes on a stop signal that it has held back, so the rank must be ready to save
     * before. */
    tutti_train_link_hear(l->link, e);
}

/* ---- the command ---- */

static bool sets_kernels(const tutti_flags *f)
{
    for (int i = 0; i < f->count[FLAG_SET]; i++)
        if (!strncmp(f->value[FLAG_SET][i], "kernels=", 8) || !strncmp(f->value[FLAG_SET][i], "kernels.name=", 13))
            return true;
    return false;
}

/* Takes over what the launcher's environment says: its number of ranks replaces the job's. Ranks that are threads
 * compute with reference kernels unless a flag says otherwise. */
static tutti_status take_environment(tutti_flags *f, const tutti_group_config *config, char world[16],
                                     tutti_failure *err)
{
    if (tutti_cli_has(f, "ranks-as-threads") && !sets_kernels(f) && f->count[FLAG_SET] < 64)
        f->value[FLAG_SET][f->count[FLAG_SET]++] = "kernels=reference";
    if (config->ncores && tutti_cli_has(f, "ranks-as-threads"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--cores binds ranks that are processes; it cannot go with --ranks-as-threads");
    if (!config->launcher) return TUTTI_OK;
    const bool is_of_agent = tutti_link_of_environment() >= 0; /* the agent decides on the number of ranks */
    tutti_train_ranks asked;
    tutti_status st = tutti_train_range(f, config->nranks, &asked, err);
    if (st) return st;
    if (asked.min > config->nranks || (asked.max != config->nranks && !is_of_agent))
        return tutti_cli_refuse_ranks(asked.max, config->nranks, config->launcher, err);
    if (config->nranks > 1 && tutti_cli_has(f, "ranks-as-threads"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks-as-threads, but %s has started %d processes", config->launcher,
                          config->nranks);
    snprintf(world, 16, "%d", config->nranks);
    f->value[FLAG_RANKS][0] = world;
    f->count[FLAG_RANKS] = 1;
    return TUTTI_OK;
}

static tutti_run_place place_of(const tutti_group_config *c)
{
    return (tutti_run_place){.rank = c->rank,
                             .nranks = c->nranks,
                             .local_rank = c->local_rank,
                             .local_nranks = c->local_nranks,
                             .address = c->master_addr,
                             .port = c->master_port,
                             .listener = c->master_fd,
                             .cookie = c->cookie,
                             .epoch = c->epoch,
                             .ncores = c->ncores,
                             .deadline_s = c->has_deadline ? c->deadline_s : 0};
}

static tutti_run_options options_of(const tutti_flags *f)
{
    return (tutti_run_options){.dir = tutti_cli_value(f, "out", NULL),
                               .fresh = tutti_cli_has(f, "fresh"),
                               .record = tutti_cli_value(f, "record", NULL),
                               .replay = tutti_cli_value(f, "replay", NULL),
                               .pretend = tutti_cli_value(f, "pretend", NULL),
                               .ranks_as_threads = tutti_cli_has(f, "ranks-as-threads"),
                               .report_signal = SIGQUIT};
}

/* Warns that --max-restarts has no effect, because another launcher started the ranks. */
static void tell_not_replaced(const tutti_group_config *config)
{
    char words[200];
    snprintf(words, sizeof words, "--max-restarts does nothing here: %s started these ranks, so lost ones stay lost",
             config->launcher ? config->launcher : "this process");
    tutti_cli_print_report("train", -1, words);
}

static int run(const tutti_flags *f, const tutti_job *job, tutti_group_config *config, char **argv)
{
    long max_restarts = 0;
    (void)tutti_train_max_restarts(f, &max_restarts, NULL); /* check_restarts has checked it */
    const int nranks = (int)job->ranks;
    const bool quiet = tutti_cli_has(f, "quiet");
    tutti_run_options options = options_of(f);
    if (!options.ranks_as_threads && !config->launcher && (nranks > 1 || max_restarts))
        return tutti_train_launch(job, (int)max_restarts, !quiet, argv);
    tutti_run_place place = place_of(config);
    tutti_train_link link;
    if (tutti_train_link_open(&link, &place, job->exchange.deadline_s))
        options.epochs = &link.epochs;
    else if (max_restarts && config->rank == 0)
        tell_not_replaced(config);
    listener l = {.quiet = quiet,
                  .dir = options.dir,
                  .pretend = options.pretend,
                  .link = &link,
                  .progress = tutti_progress_begin(quiet, options.dir)};
    const tutti_run_events events = {hear, &l};
    tutti_run_handicap *handicaps = tutti_alloc(sizeof *handicaps * (size_t)nranks);
    tutti_run_result result = {0};
    tutti_failure err = {0};
    tutti_cli_handicaps(f, nranks, handicaps, NULL); /* cannot fail: the flags were checked before */
    tutti_status st = tutti_stop_begin("train", config->rank == 0, &l.stop, &err);
    if (st) {
        tutti_cli_fail("train", &err);
    } else {
        tutti_cli_block_quit();
        options.handicaps = handicaps;
        options.place = &place;
        options.stop = tutti_stop_as_wish(l.stop);
        /* if it fails, an event has printed the message already */
        st = tutti_job_run(job, &options, &events, &result, &err);
    }
    tutti_stop_end(l.stop);
    free(handicaps);
    if (l.is_borne)
        tutti_group_config_end(config, 0, ""); /* reports success: some launchers end all ranks when one rank fails, and
                                                * here the others go on */
    return st ? (int)st : result.stop_signal ? 128 + result.stop_signal : 0;
}

/* Every run writes DIR/job.yaml again. The given job file may be DIR/job.yaml only if it is such a printed job already:
 * then nothing is lost. */
static tutti_status check_job_stays(const char *path, const char *dir, const tutti_job *job, tutti_failure *err)
{
    char *written, *given = NULL, *resolved = tutti_job_print(job);
    size_t nbytes;
    if (asprintf(&written, "%s/job.yaml", dir) < 0) tutti_no_memory(strlen(dir));
    tutti_status st = TUTTI_OK;
    if (tutti_outputs_same(path, written) &&
        !tutti_file_read(path, SIZE_MAX / 2, TUTTI_ERR_USAGE, &given, &nbytes, NULL) && strcmp(given, resolved) != 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: the run would write its resolved job over it: give another --out",
                        path);
    free(given);
    free(resolved);
    free(written);
    return st;
}

static tutti_status check_restarts(const tutti_flags *f, tutti_failure *err)
{
    long n;
    tutti_status st = tutti_train_max_restarts(f, &n, err);
    if (!st && n && tutti_cli_has(f, "ranks-as-threads"))
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "--max-restarts replaces ranks that are processes; it cannot go with --ranks-as-threads");
    if (!st && n && (tutti_cli_has(f, "record") || tutti_cli_has(f, "replay")))
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "--max-restarts: the order of visits is of one group of ranks; leave "
                        "--record and --replay out");
    return st;
}

/* Refuses output files that rank 0 could not write at the end of the run, before any rank starts. */
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

/* Shows what a run of this job would do, without running it. */
static tutti_status print_dry_run(const tutti_job *job, tutti_failure *err)
{
    tutti_strbuf text = {0}, rule = {0}, notes = {0};
    const tutti_status st = tutti_run_dry(job, &text, &notes, err);
    if (text.length) tutti_run_rule_words(job, &rule);
    if (rule.length) fprintf(stderr, "tutti train: %s\n", rule.text);
    if (notes.length) fprintf(stderr, "tutti train: %s", notes.text);
    if (text.length) fputs(text.text, stdout);
    tutti_strbuf_release(&text);
    tutti_strbuf_release(&rule);
    tutti_strbuf_release(&notes);
    return st;
}

static int act(tutti_flags *f, tutti_group_config *config, char **argv)
{
    tutti_failure err = {0};
    tutti_job *job = NULL;
    char world[16];
    int code = TUTTI_OK;
    tutti_status st = take_environment(f, config, world, &err);
    if (!st) st = tutti_cli_load_job_here(f, f->rest[0], config->launcher ? config->local_nranks : 0, &job, &err);
    if (!st) st = check_places(f, job, config->rank == 0 && !tutti_cli_has(f, "dry-run"), &err);
    const tutti_run_options options = options_of(f);
    if (!st) st = tutti_run_check(job, &options, "--", &err);
    if (!st) st = check_restarts(f, &err);
    if (!st) st = tutti_cli_handicaps(f, (int)job->ranks, NULL, &err);
    if (!st && tutti_cli_has(f, "dry-run"))
        st = print_dry_run(job, &err);
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
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "one job file is wanted: tutti train JOB.yaml [options]");
    if (!st) st = tutti_group_config_from_env(&config, &err);
    if (!st) st = tutti_cli_cores(&f, &config.ncores, &err);
    if (st) return tutti_cli_fail("train", &err);
    char *dir = tutti_cli_run_folder(f.rest[0], "");
    if (!f.count[FLAG_OUT]) f.value[FLAG_OUT][f.count[FLAG_OUT]++] = dir;
    const int code = tutti_train_is_agent(&f) ? tutti_train_agent(&f, &config, argv) : act(&f, &config, argv);
    tutti_group_config_end(&config, code, "tutti train: a rank failed");
    free(dir);
    return code;
}

const tutti_command tutti_command_train = {"train", "train a job on one or many ranks", run_command};
