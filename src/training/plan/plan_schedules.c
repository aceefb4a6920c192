/* SPDX-License-Identifier: Apache-2.0 */
/* plan_schedules.c: chooses, compiles, lowers and proves the schedules of a plan's exchanges. Schedules speak of
 * slices, not of elements, so that exchanges of any size share one value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "plan_impl.h"
#include "tutti/check.h"

/* up to this number of ranks the proof of a few schedules takes less than half a second */
enum { PROVED_ALONE_RANKS = 256 };

/* Returns the number of ranks on each host if all hosts have the same number, next to each other, and more than one;
 * else 0. */
static int ranks_a_host(const int32_t *host_of, int nranks)
{
    int group = 0;
    while (host_of && group < nranks && host_of[group] == host_of[0]) group++;
    if (group < 2 || group == nranks || nranks % group) return 0;
    for (int r = 0; r < nranks; r++)
        if (host_of[r] != host_of[r / group * group] || (r >= group && host_of[r] == host_of[r - group])) return 0;
    return group;
}

int tutti_plan_algorithms(const char *text, char rows[2][TUTTI_ALGORITHM_TEXT])
{
    static const char hybrid[] = "hybrid";
    const char *behind = text + sizeof hybrid - 1;
    if (!strcmp(text, "auto") || !strcmp(text, "rule")) return 0;
    if (strncmp(text, hybrid, sizeof hybrid - 1) || (*behind && *behind != ',')) {
        snprintf(rows[0], TUTTI_ALGORITHM_TEXT, "%s", text);
        return 1;
    }
    snprintf(rows[0], TUTTI_ALGORITHM_TEXT, "hierarchical%s", behind);
    snprintf(rows[1], TUTTI_ALGORITHM_TEXT, "ring");
    return 2;
}

/* Chooses the algorithm for "auto". On one host a single pass over memory is fastest. Between hosts of several ranks,
 * each host first sums what it sends. Canonical sums have only one order, which direct keeps; rounded values are summed
 * in one step at each level. */
static void choose(const tutti_plan_config *c, bool sums_once, const int32_t *host_of, int nranks,
                   char name[TUTTI_ALGORITHM_TEXT])
{
    const int group = c->slots ? 0 : ranks_a_host(host_of, nranks);
    if (group)
        snprintf(name, TUTTI_ALGORITHM_TEXT, "%s,group=%d", sums_once ? "two-level" : "split-rail", group);
    else
        snprintf(name, TUTTI_ALGORITHM_TEXT, "direct");
}

int tutti_plan_schedule_of_size(const tutti_plan *p, int schedule, int64_t nbytes)
{
    for (int i = 0; i < p->npairs; i++)
        if (p->pairs[i].small == schedule || p->pairs[i].large == schedule)
            return nbytes < p->pairs[i].from ? p->pairs[i].small : p->pairs[i].large;
    return schedule;
}

/* Returns the host of each member. A number that is no rank is skipped here; plan_members.c refuses the exchange. */
static int32_t *hosts_of(const tutti_plan_config *c, const int32_t *members, int n)
{
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)(n + 1));
    for (int i = 0; i < n; i++)
        if (c->host_of && members[i] >= 0 && members[i] < c->nranks) host_of[i] = c->host_of[members[i]];
    return host_of;
}

bool tutti_plan_rounds_groups(const tutti_plan_config *c)
{
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const int nrows = tutti_plan_algorithms(c->algorithm ? c->algorithm : "auto", rows);
    if (!tutti_plan_sums_once(c) || c->slots || c->nranks == 1) return false;
    const tutti_algorithm *row = nrows ? tutti_algorithm_find(rows[0]) : NULL;
    return nrows ? row && row->sums_groups : ranks_a_host(c->host_of, c->nranks) > 0;
}

/* True if no rank maps another's memory. */
static bool are_all_apart(const int32_t *host_of, int n)
{
    for (int r = 1; host_of && r < n; r++)
        for (int s = 0; s < r; s++)
            if (host_of[r] == host_of[s]) return false;
    return host_of != NULL;
}

/* Returns from which size on an exchange uses ring. With direct, every rank sends to every rank, and a rank that is a
 * little ahead sends to a port of the switch to which others still send. Bytes that the port's buffer cannot hold are
 * lost, and it cannot hold several slices of 256 KiB. With ring no rank has two senders, however many exchanges are in
 * flight, and a slice takes much longer than the latency of a message. Sums of one step need direct. */
int64_t tutti_plan_ring_from(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members, int nmembers)
{
    enum { SLICE = 256 << 10 };
    const tutti_plan_config *c = &p->config;
    const bool sums = tutti_collective_reduces(r->collective);
    const int64_t from = (int64_t)nmembers * SLICE;
    char rows[2][TUTTI_ALGORITHM_TEXT];
    if (r->algorithm || nmembers < 3 || p->total * (int64_t)sizeof(float) < from ||
        tutti_plan_algorithms(c->algorithm, rows) || (sums && (c->slots || tutti_plan_sums_once(c))) ||
        !(tutti_algorithm_find("ring")->collectives & 1u << r->collective))
        return INT64_MAX;
    int32_t *own = members ? hosts_of(c, members, nmembers) : NULL;
    const bool apart = are_all_apart(own ? own : c->host_of, nmembers);
    free(own);
    return apart ? from : INT64_MAX;
}

/* Finds how a rank's part of a schedule uses inputs. *rounds: it writes rounded sums of inputs to scratch. *far: it
 * sends inputs over a wire. */
static void look_at_part(const tutti_part *part, bool *rounds, bool *far)
{
    for (int32_t i = 0; i < part->nsteps; i++) {
        const tutti_step *s = &part->steps[i];
        if (!s->nins || part->buffers[part->slices[s->first_in].buffer].role != TUTTI_BUFFER_IN) continue;
        if (s->kind == TUTTI_STEP_PUT)
            *far = true;
        else if (part->buffers[part->slices[s->first_out].buffer].role == TUTTI_BUFFER_SCRATCH)
            *rounds = true;
    }
}

/* Checks that groups' sums are made from memory of one host, and that there are several groups: otherwise nothing would
 * be rounded. */
static tutti_status check_groups(const tutti_schedule *lowered, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(lowered);
    bool far = false, rounds = false;
    for (int32_t r = 0; r < h->nranks && !far; r++) {
        tutti_part part;
        tutti_schedule_part(lowered, r, &part);
        look_at_part(&part, &rounds, &far);
        tutti_part_release(&part);
    }
    if (far)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.algorithm: the groups of %s sum what is not rounded yet, and some have ranks of "
                          "several hosts; say group=N, N ranks of one host, or leave the key out",
                          h->algorithm);
    return rounds ? TUTTI_OK
                  : tutti_fail(err, TUTTI_ERR_USAGE,
                               "exchange.algorithm: %s has one group, so no group's sum is sent and nothing rounded; "
                               "say group=N for smaller ones, or leave the key out",
                               h->algorithm);
}

/* True if the exchange uses the configuration's algorithm; among sums, only sums of gradients do. */
static bool is_configured(const tutti_plan_config *c, const tutti_builder_request *r)
{
    char rows[2][TUTTI_ALGORITHM_TEXT];
    const int nrows = tutti_plan_algorithms(c->algorithm, rows);
    for (int i = 0; i < nrows && r->algorithm; i++)
        if (!strcmp(rows[i], r->algorithm)) return true;
    return !r->algorithm;
}

static bool sums_once(const tutti_plan_config *c, const tutti_builder_request *r)
{
    return tutti_plan_sums_once(c) && is_configured(c, r) && tutti_collective_reduces(r->collective);
}

/* Writes the algorithm with its groups. If the text gives no groups, they are the ranks of a host, if all hosts have
 * the same number of ranks. */
static void name_groups(const char *text, const int32_t *host_of, int nranks, char out[TUTTI_ALGORITHM_TEXT])
{
    const tutti_algorithm *row = tutti_algorithm_find(text);
    const int group = row && !strcmp(text, row->name) ? ranks_a_host(host_of, nranks) : 0;
    const bool has_groups = row && row->parameters[0].name && !strcmp(row->parameters[0].name, "group");
    if (group && has_groups)
        snprintf(out, TUTTI_ALGORITHM_TEXT, "%s,group=%d", row->name, group);
    else
        snprintf(out, TUTTI_ALGORITHM_TEXT, "%s", text);
}

tutti_status tutti_plan_make_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err)
{
    const tutti_plan_config *c = &p->config;
    const bool once = sums_once(c, r);
    const tutti_compile_request request = {.collective = r->collective,
                                           .nranks = nmembers,
                                           .slots = r->of_slots ? p->config.slots : 0,
                                           .in_place = r->in_place,
                                           .sums_once = once,
                                           .topology = c->topology};
    char name[TUTTI_ALGORITHM_TEXT];
    if (r->of_slots && c->slots && nmembers != c->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange (%s): canonical sums are over all %d ranks, not over %d",
                          tutti_collective_name(r->collective), c->nranks, nmembers);
    int32_t *own = members ? hosts_of(c, members, nmembers) : NULL;
    const int32_t *host_of = own ? own : c->host_of;
    choose(c, once, host_of, nmembers, name);
    if (r->algorithm) name_groups(r->algorithm, host_of, nmembers, name);
    tutti_status st = tutti_schedule_prepare(name, &request, host_of, NULL, out, err);
    free(own);
    if (!st && once && tutti_plan_rounds_groups(c) && (st = check_groups(out->lowered, err)))
        tutti_prepared_release(out);
    return st ? tutti_fail_at(err, "exchange (%s)", tutti_collective_name(r->collective)) : TUTTI_OK;
}

struct tutti_shelved {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_builder_request request;
    int32_t *members; /* ranks of the schedule; NULL = all ranks */
    int nmembers;
    bool sums_once;
    tutti_prepared made;
};

static bool are_members(const struct tutti_shelved *s, const int32_t *members, int nmembers)
{
    if (s->nmembers != nmembers) return false;
    if (!s->members || !members) return !s->members && !members;
    return !memcmp(s->members, members, sizeof *members * (size_t)nmembers);
}

/* Returns the schedule that was made for the request and algorithm of `wanted`, for these members; NULL: there is
 * none. */
static const tutti_prepared *find_shelved(const tutti_plan_shelf *shelf, const struct tutti_shelved *wanted,
                                          const int32_t *members, int nmembers)
{
    const tutti_builder_request *r = &wanted->request;
    for (int i = 0; i < shelf->n; i++) {
        const struct tutti_shelved *s = &shelf->list[i];
        /* members are compared early, because they differ most: the list has schedules of many groups by few
         * algorithms */
        if (s->request.collective == r->collective && are_members(s, members, nmembers) &&
            s->sums_once == wanted->sums_once && s->request.in_place == r->in_place &&
            s->request.of_slots == r->of_slots && !strcmp(s->algorithm, wanted->algorithm))
            return &s->made;
    }
    return NULL;
}

tutti_status tutti_plan_take_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err)
{
    tutti_plan_shelf *shelf = p->config.shelf;
    struct tutti_shelved own = {.request = *r, .nmembers = nmembers, .sums_once = sums_once(&p->config, r)};
    snprintf(own.algorithm, sizeof own.algorithm, "%s", r->algorithm ? r->algorithm : "");
    const tutti_prepared *found = shelf ? find_shelved(shelf, &own, members, nmembers) : NULL;
    if (found) *out = *found;
    if (found) return TUTTI_OK;
    const tutti_status st = tutti_plan_make_schedule(p, r, members, nmembers, out, err);
    if (st || !shelf) return st;
    own.request.algorithm = NULL; /* the text belongs to the caller, so no pointer to it is kept */
    own.made = *out;
    own.members = members ? tutti_alloc(sizeof *members * (size_t)(nmembers + 1)) : NULL;
    if (members) memcpy(own.members, members, sizeof *members * (size_t)nmembers);
    shelf->list = tutti_grow(shelf->list, shelf->n, &shelf->room, sizeof *shelf->list);
    shelf->list[shelf->n++] = own;
    return TUTTI_OK;
}

void tutti_plan_shelf_release(tutti_plan_shelf *shelf)
{
    for (int i = 0; i < shelf->n; i++) {
        tutti_prepared_release(&shelf->list[i].made);
        free(shelf->list[i].members);
    }
    free(shelf->list);
    *shelf = (tutti_plan_shelf){0};
}

void tutti_plan_destroy_schedules(tutti_plan *p)
{
    if (p->config.shelf) return;
    for (int i = 0; i < p->nschedules; i++) tutti_prepared_release(&p->schedules[i]);
}

/* Returns the first exchange that uses a schedule; messages about the schedule name this exchange. */
static int first_by(const tutti_plan *p, int schedule)
{
    int i = 0;
    while (i < p->nexchanges - 1 && p->exchanges[i].schedule != schedule) i++;
    return i;
}

static tutti_status name_schedule(const tutti_plan *p, int schedule, tutti_failure *err)
{
    return tutti_fail_at(err, "%s (%s, lowered)", p->nexchanges ? p->exchanges[first_by(p, schedule)].name : "exchange",
                         tutti_collective_name(tutti_schedule_head(p->schedules[schedule].lowered)->collective));
}

tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err)
{
    for (int i = 0; i < p->nschedules; i++) {
        const tutti_plan_exchange *x = p->nexchanges ? &p->exchanges[first_by(p, i)] : NULL;
        const bool between_all = !x || x->schedule != i || !x->members;
        const tutti_proved_among among = {between_all ? NULL : x->members, between_all ? 0 : x->nmembers};
        if (by->prove(by->who, p->schedules[i].lowered, among, &p->schedules[i].hash, err))
            return name_schedule(p, i, err);
    }
    return TUTTI_OK;
}

static tutti_status prove_few(void *who, const tutti_schedule *lowered, tutti_proved_among among, uint64_t *hash,
                              tutti_failure *err)
{
    const tutti_plan *p = who;
    (void)among;
    tutti_check_report report;
    *hash = tutti_schedule_hash(lowered);
    return p->config.nranks > PROVED_ALONE_RANKS ? TUTTI_OK : tutti_schedule_check(lowered, &report, err);
}

tutti_status tutti_plan_prove_alone(tutti_plan *p, tutti_failure *err)
{
    return tutti_plan_prove(p, &(tutti_prover){prove_few, p}, err);
}

tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err)
{
    for (int i = 0; i < p->nschedules; i++) {
        tutti_check_report report;
        if (tutti_schedule_check(p->schedules[i].lowered, &report, err)) return name_schedule(p, i, err);
    }
    return TUTTI_OK;
}
