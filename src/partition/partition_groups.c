/* SPDX-License-Identifier: Apache-2.0 */
/* partition_groups.c: cuts a machine into groups of cores that share a cache or a memory domain.
 *
 * A core may belong to several nodes. Its nearest nodes are those with the fewest cores. Memory that many cores share
 * at a higher level of hwloc's tree is therefore nearest to no core. Two kinds of memory at one place (as on KNL) are
 * both nearest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "partition_impl.h"

/* ---- cores ---- */

static void take_nearest(hwloc_topology_t machine, tutti_core_unit *u)
{
    int fewest = 0;
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, o));) {
        const int n = hwloc_bitmap_weight(o->cpuset);
        if (n <= 0 || !hwloc_bitmap_isincluded(u->core->cpuset, o->cpuset) || (fewest && n > fewest)) continue;
        if (n < fewest || !fewest) memset(&u->nodes, 0, sizeof u->nodes);
        fewest = n;
        tutti_cores_put(&u->nodes, (int)o->os_index);
    }
}

static void take_caches(tutti_core_unit *u)
{
    for (hwloc_obj_t o = u->core->parent; o; o = o->parent) {
        if (!hwloc_obj_type_is_dcache(o->type)) continue;
        u->cache = o;
        const bool is_shared = hwloc_bitmap_weight(o->cpuset) > hwloc_bitmap_weight(u->core->cpuset);
        if (is_shared && !u->inner) u->inner = o;
    }
}

static tutti_core_unit *list_units(hwloc_topology_t machine, int *n)
{
    const int nthreads = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
    tutti_core_unit *units = tutti_alloc(sizeof *units * (size_t)(nthreads > 0 ? nthreads : 1));
    *n = 0;
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, o));) {
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, o);
        if (!core) core = o;
        if (*n && units[*n - 1].core == core) continue;
        tutti_core_unit *u = &units[(*n)++];
        u->core = core;
        take_nearest(machine, u);
        take_caches(u);
    }
    return units;
}

/* ---- putting cores into groups ---- */

static bool are_together(const tutti_core_unit *a, const tutti_core_unit *b, tutti_partition_kind kind)
{
    return kind == TUTTI_PARTITION_L3 ? a->cache == b->cache : !memcmp(&a->nodes, &b->nodes, sizeof a->nodes);
}

/* Puts units that share a cache or a memory domain (as `kind` says) into one group. group_of[i] becomes the group of
 * unit i. Returns the number of groups. */
static int group_by(const tutti_core_unit *units, int n, tutti_partition_kind kind, int *group_of)
{
    int ngroups = 0;
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (!are_together(&units[i], &units[j], kind)) j++;
        group_of[i] = j == i ? ngroups++ : group_of[j];
    }
    return ngroups;
}

static void group_evenly(const tutti_core_unit *units, int n, int ngroups, int *group_of)
{
    int *begin = tutti_alloc(sizeof *begin * (size_t)(ngroups + 1));
    tutti_partition_cut_evenly(units, n, ngroups, begin);
    for (int g = 0; g < ngroups; g++)
        for (int i = begin[g]; i < begin[g + 1]; i++) group_of[i] = g;
    free(begin);
}

static tutti_status assign(const tutti_core_unit *units, int n, const tutti_partition_rule *rule, int *group_of,
                           int *ngroups, tutti_failure *err)
{
    *ngroups = rule->ngroups;
    if (rule->kind != TUTTI_PARTITION_NUMBER) {
        for (int i = 0; i < n && rule->kind == TUTTI_PARTITION_L3; i++)
            if (!units[i].cache)
                return tutti_fail(err, TUTTI_ERR_USAGE,
                                  "this machine does not say which cores share a cache; take 'numa' or a number");
        *ngroups = group_by(units, n, rule->kind, group_of);
        return TUTTI_OK;
    }
    if (*ngroups > n)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d groups of %d core%s: each group needs one; at most %d are possible",
                          *ngroups, n, n == 1 ? "" : "s", n);
    group_evenly(units, n, *ngroups, group_of);
    return TUTTI_OK;
}

/* ---- caches in words ---- */

typedef struct {
    tutti_core_set levels; /* last-level caches that the group uses, by hwloc's numbers */
    hwloc_obj_t any;
    int64_t nbytes;
    int nthreads; /* number of hardware threads that these caches serve */
} cache_sum;

static void add_cache(cache_sum *sum, hwloc_obj_t cache)
{
    if (!cache || tutti_cores_has(&sum->levels, (int)cache->logical_index)) return;
    tutti_cores_put(&sum->levels, (int)cache->logical_index);
    sum->any = cache;
    sum->nbytes += (int64_t)cache->attr->cache.size;
    sum->nthreads += hwloc_bitmap_weight(cache->cpuset);
}

static void describe_cache(const cache_sum *sum, tutti_core_group *g)
{
    tutti_strbuf list = {0};
    if (!sum->any) {
        snprintf(g->cache, sizeof g->cache, "no cache known");
        return;
    }
    tutti_cores_print(&sum->levels, &list);
    snprintf(g->cache, sizeof g->cache, "%sL%u %.24s (%.1f MiB)", sum->nthreads > g->nthreads ? "part of " : "",
             sum->any->attr->cache.depth, list.text, (double)sum->nbytes / (1 << 20));
    tutti_strbuf_release(&list);
}

/* ---- groups and domains ---- */

static void add_threads(tutti_core_set *set, hwloc_const_bitmap_t cpuset)
{
    for (int i = hwloc_bitmap_first(cpuset); i >= 0; i = hwloc_bitmap_next(cpuset, i)) tutti_cores_put(set, i);
}

static void fill_group(tutti_core_group *g, const tutti_core_unit *units, int n, const int *group_of, int number)
{
    cache_sum sum = {0};
    for (int i = 0; i < n; i++) {
        if (group_of[i] != number) continue;
        g->ncores++;
        add_threads(&g->threads, units[i].core->cpuset);
        tutti_cores_add(&g->nodes, &units[i].nodes);
        add_cache(&sum, units[i].cache);
    }
    g->nthreads = tutti_cores_count(&g->threads);
    describe_cache(&sum, g);
}

/* Returns true if the sets share a node, or if both have no node: groups without nodes form one domain of unknown
 * memory. */
static bool meet(const tutti_core_set *a, const tutti_core_set *b)
{
    const int na = tutti_cores_count(a), nb = tutti_cores_count(b);
    for (int i = 0; i < TUTTI_MOST_CORES / 64; i++)
        if (a->word[i] & b->word[i]) return true;
    return !na && !nb;
}

/* Joins groups that share a node, directly or through other groups, into one domain. */
static void join_domains(tutti_partition *p)
{
    for (int g = 0; g < p->ngroups; g++) {
        int into = -1;
        for (int d = 0; d < p->ndomains; d++) {
            if (!meet(&p->domains[d].nodes, &p->groups[g].nodes)) continue;
            if (into < 0) {
                into = d;
                continue;
            }
            tutti_cores_add(&p->domains[into].nodes, &p->domains[d].nodes);
            p->domains[d--] = p->domains[--p->ndomains];
        }
        if (into < 0) into = p->ndomains++, p->domains[into] = (tutti_memory_domain){0};
        tutti_cores_add(&p->domains[into].nodes, &p->groups[g].nodes);
    }
}

static void fill_domains(hwloc_topology_t machine, tutti_partition *p)
{
    join_domains(p);
    for (int d = 0; d < p->ndomains; d++) {
        tutti_memory_domain *domain = &p->domains[d];
        for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, o));)
            if (tutti_cores_has(&domain->nodes, (int)o->os_index))
                domain->nbytes += (int64_t)o->attr->numanode.local_memory;
        for (int g = 0; g < p->ngroups; g++) {
            if (!meet(&domain->nodes, &p->groups[g].nodes)) continue;
            p->groups[g].domain = d;
            domain->ngroups++;
        }
    }
}

tutti_status tutti_partition_cut(hwloc_topology_t machine, const tutti_partition_rule *rule, tutti_partition *out,
                                 tutti_failure *err)
{
    int n, ngroups = 0;
    tutti_core_unit *units = list_units(machine, &n);
    int *group_of = tutti_alloc(sizeof *group_of * (size_t)(n + 1));
    tutti_status st = n ? assign(units, n, rule, group_of, &ngroups, err)
                        : tutti_fail(err, TUTTI_ERR_USAGE, "there is no core to share out");
    if (!st) {
        tutti_partition p = {.rule = *rule, .ngroups = ngroups, .ncores = n, .fewest = n};
        p.groups = tutti_alloc(sizeof *p.groups * (size_t)ngroups);
        p.domains = tutti_alloc(sizeof *p.domains * (size_t)ngroups);
        for (int g = 0; g < ngroups; g++) {
            fill_group(&p.groups[g], units, n, group_of, g);
            if (p.groups[g].ncores < p.fewest) p.fewest = p.groups[g].ncores;
        }
        fill_domains(machine, &p);
        *out = p;
    }
    free(group_of);
    free(units);
    return st;
}
