/* SPDX-License-Identifier: Apache-2.0 */
/* partition.c: the functions of partitions that need no machine: reads a partition, prints it, and finds which cores
 * and how many threads a rank has. */
#include "partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status tutti_partition_parse(const char *text, tutti_partition_rule *out, tutti_failure *err)
{
    static const char *const words[] = {"none", "numa", "l3"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = (tutti_partition_rule){.kind = (tutti_partition_kind)i};
        return TUTTI_OK;
    }
    const size_t length = strlen(text);
    const bool digits = length && strspn(text, "0123456789") == length && text[0] != '0';
    const long n = digits && length < 6 ? strtol(text, NULL, 10) : 0;
    if (n < 1 || n > TUTTI_MOST_CORES)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "'%.40s' is neither none, numa nor l3, nor a number of groups from 1 to %d", text,
                          TUTTI_MOST_CORES);
    *out = (tutti_partition_rule){TUTTI_PARTITION_NUMBER, (int)n};
    return TUTTI_OK;
}

void tutti_partition_release(tutti_partition *p)
{
    free(p->groups);
    free(p->domains);
    *p = (tutti_partition){0};
}

tutti_status tutti_partition_given(tutti_core_set *out, tutti_failure *err)
{
    const char *text = getenv(TUTTI_CORES_VARIABLE);
    if (!text || !*text) {
        tutti_cores_own(out);
        return TUTTI_OK;
    }
    if (tutti_cores_parse(text, out)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "environment: %s='%.100s' is not a list of cores such as 0-3,8",
                      TUTTI_CORES_VARIABLE, text);
}

/* If this process may use fewer cores than the host has, adds this to a failure's message, because a launcher may have
 * bound the process. */
static void hint_at_binding(const tutti_core_set *given, tutti_failure *err)
{
    tutti_core_set host;
    tutti_strbuf list = {0};
    tutti_cores_host(&host);
    const int n = tutti_cores_count(given), all = tutti_cores_count(&host);
    if (!err || n >= all) return;
    tutti_cores_print(given, &list);
    const size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length,
             "; of the host's %d this process may use %d (%.60s): if a launcher has bound it, let it not (mpirun "
             "--bind-to none, srun --cpu-bind=none)",
             all, n, list.text ? list.text : "none");
    tutti_strbuf_release(&list);
}

tutti_status tutti_partition_here(const char *text, tutti_core_set *given, tutti_partition *out, tutti_failure *err)
{
    tutti_status st = tutti_partition_given(given, err);
    if (st) return st;
    st = tutti_partition_of_cores(text, given, out, err);
    if (st) hint_at_binding(given, err);
    return st;
}

/* ---- which rank of a host gets which group ---- */

tutti_status tutti_partition_fits(const tutti_partition *p, int nranks, tutti_failure *err)
{
    const int below = nranks / p->ngroups * p->ngroups;
    if (nranks > 0 && below == nranks) return TUTTI_OK;
    if (!below)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%d rank%s of this host for %d groups: each group needs one; %d would do", nranks,
                          nranks == 1 ? "" : "s", p->ngroups, p->ngroups);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks of this host do not divide into %d groups; %d or %d would",
                      nranks, p->ngroups, below, below + p->ngroups);
}

int tutti_partition_group_of(const tutti_partition *p, int local_rank, int nranks)
{
    const int a_group = nranks / p->ngroups;
    return local_rank / (a_group > 0 ? a_group : 1) % p->ngroups;
}

int tutti_partition_threads(const tutti_partition *p, int nranks, double quota)
{
    const int a_group = nranks > p->ngroups ? nranks / p->ngroups : 1;
    int n = p->fewest / a_group;
    const int allowed = tutti_cores_within(p->ncores, quota) / (a_group * p->ngroups);
    if (n > allowed) n = allowed;
    return n > 1 ? n : 1;
}

/* ---- a partition in words ---- */

void tutti_partition_memory_words(const tutti_core_set *nodes, tutti_strbuf *out)
{
    const int n = tutti_cores_count(nodes);
    if (!n) {
        tutti_strbuf_puts(out, "no near node");
        return;
    }
    tutti_strbuf_puts(out, n > 1 ? "nodes " : "node ");
    tutti_cores_print(nodes, out);
}

void tutti_partition_summary(const tutti_partition *p, tutti_strbuf *out)
{
    int most = 0;
    for (int g = 0; g < p->ngroups; g++)
        if (p->groups[g].ncores > most) most = p->groups[g].ncores;
    tutti_strbuf_printf(out, "%d group%s of ", p->ngroups, p->ngroups == 1 ? "" : "s");
    if (most != p->fewest) tutti_strbuf_printf(out, "%d to ", p->fewest);
    tutti_strbuf_printf(out, "%d core%s", most, most == 1 ? "" : "s");
}

void tutti_partition_print(const tutti_partition *p, int nranks, const char *before, tutti_strbuf *out)
{
    const int a_group = nranks > p->ngroups ? nranks / p->ngroups : 1;
    for (int i = 0; i < p->ngroups; i++) {
        const tutti_core_group *g = &p->groups[i];
        const tutti_memory_domain *d = &p->domains[g->domain];
        tutti_strbuf_printf(out, a_group > 1 ? "%sranks %d-%d" : "%srank %d", before, i * a_group,
                            (i + 1) * a_group - 1);
        tutti_strbuf_printf(out, ": group %d: cores ", i);
        tutti_cores_print(&g->threads, out);
        tutti_strbuf_printf(out, " (%d core%s", g->ncores, g->ncores == 1 ? "" : "s");
        if (g->nthreads != g->ncores) tutti_strbuf_printf(out, ", %d hardware threads", g->nthreads);
        tutti_strbuf_printf(out, "), %s, memory of ", g->cache);
        tutti_partition_memory_words(&d->nodes, out);
        const bool large = d->nbytes >= 1000000000;
        if (d->nbytes)
            tutti_strbuf_printf(out, " (%.1f %s)", (large ? 1e-9 : 1e-6) * (double)d->nbytes, large ? "GB" : "MB");
        if (d->ngroups > 1) tutti_strbuf_printf(out, ", shared by %d groups", d->ngroups);
        tutti_strbuf_puts(out, "\n");
    }
}

/* ---- memory that ranks need ---- */

static int64_t need_of(const tutti_domain_need *need)
{
    return need->of_ranks + need->of_samples;
}

void tutti_partition_need_words(const tutti_domain_need *need, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "memory of %s: %d rank%s need%s %.2f MB (weights, gradients, states, activations), samples "
                        "%.2f MB once: %.2f MB",
                        need->memory, need->nranks, need->nranks == 1 ? "" : "s", need->nranks == 1 ? "s" : "",
                        1e-6 * (double)need->of_ranks, 1e-6 * (double)need->of_samples, 1e-6 * (double)need_of(need));
    if (need->nbytes)
        tutti_strbuf_printf(out, " of %.1f MB", 1e-6 * (double)need->nbytes);
    else
        tutti_strbuf_puts(out, "; the system does not say how much there is");
}

tutti_status tutti_partition_check_memory(const tutti_domain_need *need, tutti_failure *err)
{
    if (!need->nbytes || need_of(need) <= need->nbytes) return TUTTI_OK;
    tutti_strbuf words = {0};
    tutti_partition_need_words(need, &words);
    const tutti_status st = tutti_fail(
        err, TUTTI_ERR_USAGE,
        "partition: %s: %s: take fewer groups, a smaller model or batch, fewer samples, or 'partition: none'",
        need->rule, words.text);
    tutti_strbuf_release(&words);
    return st;
}
