/* SPDX-License-Identifier: Apache-2.0 */
/* seat.c: takes the seat of a rank: binds it to the cores and memory of its group of the partition.
 *
 * Launcher and ranks each cut the machine by the same pure function, so that the launcher passes on only the list of
 * cores to share out (TUTTI_CORES). Our launcher binds a rank before it becomes the program. Under other launchers a
 * rank binds itself, and all ranks of the host must have been given the same cores before: otherwise each has cut
 * another set, and two may use the same core. */
#include "seat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"

bool tutti_seat_is_partitioned(const tutti_job *job)
{
    return strcmp(job->partition, "none") != 0;
}

tutti_status tutti_seat_cut(const tutti_job *job, int nlocal, tutti_core_set *given, tutti_partition *out,
                            tutti_failure *err)
{
    tutti_partition p = {0};
    tutti_status st = tutti_partition_here(job->partition, given, &p, err);
    if (!st) st = tutti_partition_fits(&p, nlocal, err);
    if (st) {
        tutti_partition_release(&p);
        return tutti_fail_at(err, "%s", job->said_partition);
    }
    *out = p;
    return TUTTI_OK;
}

/* ---- binding a rank ---- */

tutti_status tutti_seat_take(const tutti_job *job, const tutti_group_config *config, tutti_seat *out,
                             tutti_failure *err)
{
    if (!tutti_seat_is_partitioned(job)) return TUTTI_OK;
    if (!config->local_nranks) {
        tutti_fail(err, TUTTI_ERR_USAGE,
                   "the number of ranks of this host is unknown: set LOCAL_RANK and LOCAL_WORLD_SIZE for each of them, "
                   "or use 'partition: none'");
        return tutti_fail_at(err, "%s", job->said_partition);
    }
    tutti_status st = tutti_seat_cut(job, config->local_nranks, &out->given, &out->partition, err);
    if (st) return st;
    out->is_bound = true;
    out->group = tutti_partition_group_of(&out->partition, config->local_rank, config->local_nranks);
    st = tutti_partition_bind(&out->partition, out->group, &out->binding, err);
    return st ? tutti_fail_at(err, "%s", job->said_partition) : TUTTI_OK;
}

void tutti_seat_release(tutti_seat *seat)
{
    tutti_partition_release(&seat->partition);
    tutti_strbuf_release(&seat->words);
    tutti_strbuf_release(&seat->list);
    free(seat->memory_of);
    *seat = (tutti_seat){0};
}

/* ---- comparing what the ranks of a host are bound to ---- */

enum { SHORT = 64 };

typedef struct {
    uint64_t given;
    int32_t domain, has_memory;
    char summary[64], cores[SHORT], words[320]; /* summary: "2 groups of 4 cores"; cores: those that are shared out;
                                                 * words: where this rank is bound */
} notice;

/* Writes the list of cores; a long list is cut after a comma. */
static void shorten(const tutti_core_set *set, char out[SHORT])
{
    static const char more[] = "...";
    tutti_strbuf list = {0};
    tutti_cores_print(set, &list);
    snprintf(out, SHORT, "%.*s", SHORT - 1, list.text ? list.text : "none");
    if (list.length >= SHORT) {
        size_t n = SHORT - sizeof more;
        while (n && out[n - 1] != ',') n--;
        memcpy(out + n, more, sizeof more);
    }
    tutti_strbuf_release(&list);
}

/* Says where this rank is bound, by the mask that the system reports for this process, not by the requested one. */
static void describe(const tutti_seat *seat, notice *n)
{
    const tutti_core_group *g = &seat->partition.groups[seat->group];
    tutti_core_set own;
    tutti_strbuf words = {0}, summary = {0};
    char cores[SHORT];
    tutti_cores_own(&own);
    shorten(&own, cores);
    shorten(&seat->given, n->cores);
    tutti_partition_summary(&seat->partition, &summary);
    tutti_strbuf_printf(&words, "bound to cores %s (%d core%s), %s, memory %s ", cores, g->ncores,
                        g->ncores == 1 ? "" : "s", g->cache,
                        seat->binding.has_memory ? "bound to" : "by first touch, near");
    tutti_partition_memory_words(&g->nodes, &words);
    if (seat->binding.problem) tutti_strbuf_printf(&words, " (%s)", strerror(seat->binding.problem));
    snprintf(n->summary, sizeof n->summary, "%s", summary.text);
    snprintf(n->words, sizeof n->words, "%s", words.text);
    tutti_strbuf_release(&words);
    tutti_strbuf_release(&summary);
}

static tutti_status check_given(tutti_group *group, const tutti_job *job, const notice *all, tutti_failure *err)
{
    for (int r = 1; r < tutti_group_nranks(group); r++) {
        int first = 0;
        while (tutti_group_host_of(group, first) != tutti_group_host_of(group, r)) first++;
        if (all[first].given == all[r].given) continue;
        if (tutti_group_rank(group) != 0) return tutti_fail(err, TUTTI_ERR_USAGE, "%s", "");
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "partition: %s: ranks of one host must share out the same cores, but rank %d was started on "
                          "cores %s and rank %d on %s: let their launcher not bind them (mpirun --bind-to none, srun "
                          "--cpu-bind=none), or set " TUTTI_CORES_VARIABLE
                          " for all, or use 'partition: none': they are bound already",
                          job->partition, first, all[first].cores, r, all[r].cores);
    }
    return TUTTI_OK;
}

static void summarise(tutti_group *group, const tutti_job *job, const notice *all, tutti_seat *seat)
{
    const int nranks = tutti_group_nranks(group), nhosts = tutti_group_nhosts(group);
    int nbound = 0;
    for (int r = 0; r < nranks; r++) {
        nbound += all[r].has_memory;
        tutti_strbuf_printf(&seat->list, "  rank %d %s\n", r, all[r].words);
    }
    tutti_strbuf_printf(
        &seat->words, "partition %s: %s%s, %d rank%s%s, %lld thread%s each, bound to their cores; memory ",
        job->partition, all[0].summary, nhosts > 1 ? " on rank 0's host" : "", nranks, nranks == 1 ? "" : "s",
        job->ranks_by_partition ? " (as many as groups)" : "", (long long)job->threads, job->threads == 1 ? "" : "s");
    if (nbound == nranks)
        tutti_strbuf_puts(&seat->words, "bound to the nearest nodes");
    else if (!nbound)
        tutti_strbuf_puts(&seat->words, "by first touch");
    else
        tutti_strbuf_printf(&seat->words, "of %d ranks bound to the nearest nodes, of the others by first touch",
                            nbound);
}

tutti_status tutti_seat_tell(tutti_group *group, const tutti_job *job, tutti_seat *seat, tutti_failure *err)
{
    if (!seat->is_bound) return TUTTI_OK;
    const int nranks = tutti_group_nranks(group);
    notice own = {.given = tutti_hash(&seat->given, sizeof seat->given),
                  .domain = seat->partition.groups[seat->group].domain,
                  .has_memory = seat->binding.has_memory},
           *all = tutti_alloc(sizeof *all * (size_t)nranks);
    describe(seat, &own);
    tutti_status st = tutti_group_all_gather(group, "partition: who sits where", &own, all, sizeof own, err);
    if (!st) st = check_given(group, job, all, err);
    if (!st) {
        seat->memory_of = tutti_alloc(sizeof *seat->memory_of * (size_t)nranks);
        for (int r = 0; r < nranks; r++) seat->memory_of[r] = all[r].domain;
        summarise(group, job, all, seat);
    }
    free(all);
    return st;
}

/* ---- memory ---- */

/* Returns the bytes of memory that a rank owns. Memories that all ranks share belong to rank 0. */
static int64_t bytes_of_rank(const tutti_plan *p, int rank)
{
    int64_t n = 0;
    for (int m = 0; m < p->nmemories; m++)
        if (!p->memories[m].is_common || rank == 0) n += tutti_plan_memory_bytes(&p->memories[m]);
    return n;
}

static tutti_status check_domain(const tutti_job *job, const tutti_partition *p, int domain, int nranks,
                                 const int64_t bytes[2], tutti_strbuf *said, tutti_failure *err)
{
    tutti_strbuf memory = {0};
    tutti_partition_memory_words(&p->domains[domain].nodes, &memory);
    const tutti_domain_need need = {.rule = job->partition,
                                    .memory = memory.text,
                                    .nbytes = p->domains[domain].nbytes,
                                    .nranks = nranks,
                                    .of_ranks = bytes[0],
                                    .of_samples = bytes[1]};
    if (said) tutti_partition_need_words(&need, said);
    const tutti_status st = tutti_partition_check_memory(&need, err);
    tutti_strbuf_release(&memory);
    return st;
}

/* The lowest rank near a memory checks it for the others; all ranks get the result. */
tutti_status tutti_seat_check_memory(tutti_group *group, const tutti_job *job, const tutti_seat *seat,
                                     const tutti_session *s, const tutti_session_data *data, tutti_failure *err)
{
    if (!seat->is_bound) return TUTTI_OK;
    const int nranks = tutti_group_nranks(group), rank = tutti_group_rank(group);
    const int64_t own = bytes_of_rank(s->parts.plan, rank);
    int64_t *all = tutti_alloc(sizeof *all * (size_t)nranks), bytes[2] = {0, tutti_session_data_bytes(data)};
    int here = 0, first = -1;
    tutti_status st = tutti_group_all_gather(group, "partition: memory of ranks", &own, all, sizeof own, err);
    for (int r = 0; r < nranks && !st; r++) {
        if (tutti_group_host_of(group, r) != tutti_group_host_of(group, rank) ||
            seat->memory_of[r] != seat->memory_of[rank])
            continue;
        if (first < 0) first = r;
        bytes[0] += all[r];
        here++;
    }
    free(all);
    if (st) return st;
    if (first == rank) st = check_domain(job, &seat->partition, seat->memory_of[rank], here, bytes, NULL, err);
    return tutti_group_all_ready(group, "partition: memory near the groups", st, err);
}

/* ---- showing seats without a run ---- */

/* Checks and shows each memory. needs: bytes of rank 0, because no other rank needs more, and of the samples. */
static tutti_status show_domains(const tutti_job *job, const tutti_partition *p, const int64_t needs[2],
                                 const char *before, tutti_strbuf *out, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    const int a_group = (int)job->ranks / p->ngroups;
    for (int d = 0; d < p->ndomains && !st; d++) {
        const int nranks = a_group * p->domains[d].ngroups;
        const int64_t bytes[2] = {nranks * needs[0], needs[1]};
        tutti_strbuf_puts(out, before);
        st = check_domain(job, p, d, nranks, bytes, out, err);
        tutti_strbuf_puts(out, "\n");
    }
    return st;
}

tutti_status tutti_seat_show(const tutti_job *job, const tutti_plan *plan, const tutti_session_data *data,
                             const char *before, tutti_strbuf *out, tutti_failure *err)
{
    tutti_core_set given;
    tutti_partition p;
    if (!tutti_seat_is_partitioned(job)) return TUTTI_OK;
    tutti_status st = tutti_seat_cut(job, (int)job->ranks, &given, &p, err);
    if (st) return st;
    tutti_strbuf_printf(out, "%spartition %s: ", before, job->partition);
    tutti_partition_summary(&p, out);
    tutti_strbuf_printf(out, ", %lld rank%s%s, %lld thread%s each\n", (long long)job->ranks, job->ranks == 1 ? "" : "s",
                        job->ranks_by_partition ? " (as many as groups)" : "", (long long)job->threads,
                        job->threads == 1 ? "" : "s");
    char *indent;
    if (asprintf(&indent, "%s  ", before) < 0) tutti_no_memory(strlen(before));
    tutti_partition_print(&p, (int)job->ranks, indent, out);
    if (plan && data) {
        const int64_t needs[2] = {bytes_of_rank(plan, 0), tutti_session_data_bytes(data)};
        st = show_domains(job, &p, needs, indent, out, err);
    }
    free(indent);
    tutti_partition_release(&p);
    return st;
}
