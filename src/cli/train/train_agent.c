/* SPDX-License-Identifier: Apache-2.0 */
/* train_agent.c: `tutti train` as the agent of one host: it starts this host's ranks, and decides with the agents of
 * the other hosts which ranks form the group (collective/agents/agents.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/host/unique.h"
#include "../../collective/agents/agents.h"
#include "../../collective/launch/address.h"
#include "../../collective/launch/link.h"
#include "../../job/job_fields.h"
#include "../../job/run/seat.h"
#include "rank_report.h"
#include "train_cmd.h"

enum { MOST_RANKS = 1 << 20 };

static const tutti_cli_range any_ranks = {1, MOST_RANKS};

/* ---- --ranks MIN:MAX ---- */

tutti_status tutti_train_range(const tutti_flags *f, long otherwise, tutti_train_ranks *out, tutti_failure *err)
{
    const char *text = tutti_cli_value(f, "ranks", NULL), *colon = text ? strchr(text, ':') : NULL;
    *out = (tutti_train_ranks){otherwise, otherwise};
    if (!colon) {
        const tutti_status st = tutti_cli_int(f, "ranks", any_ranks, otherwise, &out->max, err);
        out->min = out->max;
        return st;
    }
    char *end[2];
    errno = 0;
    out->min = strtol(text, &end[0], 10);
    out->max = strtol(colon + 1, &end[1], 10);
    if (errno || end[0] != colon || colon == text || !colon[1] || *end[1] || out->min < 1 || out->max > MOST_RANKS ||
        out->min > out->max)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks: '%s' is not a number of ranks, nor a range MIN:MAX of them",
                          text);
    return TUTTI_OK;
}

bool tutti_train_is_agent(const tutti_flags *f)
{
    static const char *const names[] = {"ranks-per-host", "join", "listen", NULL};
    const char *ranks = tutti_cli_value(f, "ranks", NULL);
    return tutti_link_of_environment() < 0 && (tutti_cli_first(f, names) || (ranks && strchr(ranks, ':')));
}

/* ---- the job at other numbers of ranks ---- */

typedef struct {
    const tutti_flags *flags;
    int nlocal;
    int *known; /* for each number of ranks: 0 = not tried, 1 = the job can run, -1 = it cannot */
    int most;
} counts;

/* Loads the job with this number of ranks. */
static tutti_status load_with(const counts *c, long nranks, tutti_job **out, tutti_failure *err)
{
    tutti_flags f = *c->flags;
    const int row = tutti_cli_row(&f, "ranks");
    char text[24];
    snprintf(text, sizeof text, "%ld", nranks);
    f.value[row][0] = text;
    f.count[row] = 1;
    return tutti_cli_load_job_here(&f, f.rest[0], nranks < c->nlocal ? (int)nranks : c->nlocal, out, err);
}

static bool permits(void *arg, int nranks)
{
    counts *c = arg;
    tutti_job *job = NULL;
    if (nranks > c->most) return false;
    if (!c->known[nranks]) c->known[nranks] = load_with(c, nranks, &job, NULL) ? -1 : 1;
    tutti_job_destroy(job);
    return c->known[nranks] > 0;
}

/* ---- where the agents meet ---- */

typedef struct {
    char address[TUTTI_AGENTS_TEXT];
    char lock[4200];
} meeting;

/* Reads ADDRESS or ADDRESS:PORT of --listen. */
static tutti_status read_listen(const char *text, meeting *m, tutti_agents_options *o, tutti_failure *err)
{
    tutti_address a;
    const tutti_status st = tutti_address_read(text, &a, err);
    if (st) return tutti_fail_at(err, "--listen");
    snprintf(m->address, sizeof m->address, "%s", a.host);
    o->port = a.port;
    return TUTTI_OK;
}

/* Sets which agent leads, and at which address: as --join says, as the launcher's variables say, or this agent at
 * --listen. */
static tutti_status set_meeting(const tutti_flags *f, const tutti_group_config *config, meeting *m,
                                tutti_agents_options *o, tutti_failure *err)
{
    const char *join = tutti_cli_value(f, "join", NULL), *listen = tutti_cli_value(f, "listen", NULL);
    o->address = m->address;
    o->listener = -1;
    o->cookie = tutti_unique_number() | 1;
    if (join && (listen || config->launcher))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--join goes with no --listen, and with no launcher (%s)",
                          config->launcher ? config->launcher : "none is here");
    if (join) return tutti_agents_read_text(join, m->address, &o->port, &o->cookie, err);
    o->leads = config->rank == 0;
    if (!config->launcher) return listen ? read_listen(listen, m, o, err) : TUTTI_OK;
    snprintf(m->address, sizeof m->address, "%.300s", config->master_addr);
    o->port = config->master_port;
    o->listener = o->leads ? config->master_fd : -1;
    o->cookie = config->cookie | 1;
    return TUTTI_OK;
}

/* ---- the agent ---- */

static tutti_status check(const tutti_flags *f, const tutti_job *job, const tutti_train_ranks *ranks, long nlocal,
                          tutti_failure *err)
{
    static const char *const alone[] = {"ranks-as-threads", "record", "replay", "pretend", "slow", "stall",
                                        "dry-run",          NULL};
    const char *other = tutti_cli_first(f, alone);
    if (other)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for a fixed group of ranks; it cannot go with agents", other);
    if (tutti_seat_is_partitioned(job))
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: binds a fixed number of ranks of a host; it cannot go with agents: use 'partition: none'",
            job->said_partition);
    if (nlocal > ranks->max)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks-per-host: %ld ranks on this host are more than the run's %ld",
                          nlocal, ranks->max);
    return TUTTI_OK;
}

static int launch(const tutti_flags *f, const tutti_job *job, const tutti_agents_options *o, char **argv)
{
    tutti_failure err = {0};
    tutti_agents *agents;
    char text[TUTTI_AGENTS_TEXT], words[TUTTI_AGENTS_TEXT + 120];
    if (tutti_agents_open(o, &agents, &err)) return tutti_cli_fail("train", &err);
    tutti_agents_join_text(agents, text);
    snprintf(words, sizeof words, "waiting for agents of %d ranks; others join with --join %s", o->max, text);
    if (o->leads && o->max > o->nlocal && !tutti_cli_has(f, "quiet")) tutti_train_tell(NULL, words);
    const tutti_launch_options options = {.nranks = o->nlocal,
                                          .deadline_s = job->exchange.deadline_s,
                                          .tell = tutti_train_tell,
                                          .decide = tutti_agents_decide,
                                          .decide_arg = agents,
                                          .cookie = o->cookie};
    const int code = tutti_cli_launch("train", &options, argv);
    tutti_agents_close(agents);
    return code;
}

/* Reads the numbers of ranks: of the group, and of this host. */
static tutti_status read_numbers(const tutti_flags *f, const tutti_group_config *config, tutti_train_ranks *ranks,
                                 tutti_agents_options *o, tutti_failure *err)
{
    long nlocal = 0, restarts = 0;
    tutti_status st = tutti_train_range(f, 0, ranks, err);
    if (!st) st = tutti_cli_int(f, "ranks-per-host", any_ranks, 0, &nlocal, err);
    if (!st) st = tutti_train_max_restarts(f, &restarts, err);
    if (st) return st;
    if (!nlocal && config->launcher)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s has started this process: give --ranks-per-host, the number of ranks that it starts as the "
            "agent of its host",
            config->launcher);
    if (!ranks->max && config->launcher) ranks->min = ranks->max = nlocal * config->nranks;
    if (!ranks->max)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks: give the number of ranks of all hosts together, or MIN:MAX");
    if (!nlocal) nlocal = ranks->max;
    o->nlocal = (int)nlocal, o->min = (int)ranks->min, o->max = (int)ranks->max;
    o->max_restarts = (int)restarts;
    return TUTTI_OK;
}

int tutti_train_agent(const tutti_flags *f, tutti_group_config *config, char **argv)
{
    tutti_failure err = {0};
    tutti_train_ranks ranks;
    tutti_job *job = NULL;
    meeting m = {0};
    counts c = {.flags = f};
    tutti_agents_options o = {.permits = permits, .tell = tutti_train_tell, .arg = &c, .lock_path = m.lock};
    const char *dir = tutti_cli_value(f, "out", NULL);
    int code = TUTTI_OK;
    tutti_status st = read_numbers(f, config, &ranks, &o, &err);
    c.nlocal = o.nlocal, c.most = o.max;
    if (!st) st = load_with(&c, ranks.max, &job, &err);
    if (!st) st = check(f, job, &ranks, o.nlocal, &err);
    if (!st) st = set_meeting(f, config, &m, &o, &err);
    if (!st) st = tutti_cli_check_out_folder(dir, &err);
    if (!st) st = tutti_file_make_dir(dir, &err);
    if (!st) {
        c.known = tutti_alloc(sizeof *c.known * (size_t)(o.max + 1));
        memset(c.known, 0, sizeof *c.known * (size_t)(o.max + 1));
        char *text = tutti_job_print(job);
        o.job = tutti_hash(text, strlen(text));
        free(text);
        o.deadline_s = config->has_deadline ? config->deadline_s : job->exchange.deadline_s;
        snprintf(m.lock, sizeof m.lock, "%.4000s/leader", dir);
        /* Slurm's PMIx ends all when a process is lost that has not taken its leave. */
        tutti_group_config_end(config, TUTTI_OK, "");
        code = launch(f, job, &o, argv);
        free(c.known);
    }
    tutti_job_destroy(job);
    return st ? tutti_cli_fail("train", &err) : code;
}
