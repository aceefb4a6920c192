/* SPDX-License-Identifier: Apache-2.0 */
/* partition_machine.c: reads this machine through hwloc, and binds a process to cores and memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "partition_impl.h"

static hwloc_bitmap_t bitmap_of(const tutti_core_set *set)
{
    hwloc_bitmap_t b = hwloc_bitmap_alloc();
    for (int i = 0; b && i < TUTTI_MOST_CORES; i++)
        if (tutti_cores_has(set, i)) hwloc_bitmap_set(b, (unsigned)i);
    return b;
}

/* Loads hwloc's description of this machine. hwloc itself leaves out cores and nodes that control groups forbid. */
static bool load(hwloc_topology_t *out)
{
    hwloc_topology_t machine;
    if (hwloc_topology_init(&machine)) return false;
    if (hwloc_topology_load(machine)) {
        hwloc_topology_destroy(machine);
        return false;
    }
    *out = machine;
    return true;
}

/* Restricts the machine to the given cores. Fails if a core is missing, because hwloc would silently leave it out, and
 * the groups would have other cores than asked for. */
static tutti_status restrict_to(hwloc_topology_t machine, const tutti_core_set *given, tutti_failure *err)
{
    hwloc_bitmap_t set = bitmap_of(given);
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(machine);
    tutti_core_set missing = {0};
    for (int i = 0; i < TUTTI_MOST_CORES; i++)
        if (tutti_cores_has(given, i) && !hwloc_bitmap_isset(allowed, (unsigned)i)) tutti_cores_put(&missing, i);
    const bool fits = set && tutti_cores_count(given) && !tutti_cores_count(&missing);
    const bool done = fits && !hwloc_topology_restrict(machine, set, 0);
    hwloc_bitmap_free(set);
    if (done) return TUTTI_OK;
    tutti_strbuf list = {0};
    tutti_cores_print(&missing, &list);
    const tutti_status st = tutti_fail(err, TUTTI_ERR_USAGE, "cores %.200s are none that this host allows",
                                       list.text ? list.text : "(none)");
    tutti_strbuf_release(&list);
    return st;
}

tutti_status tutti_partition_of_cores(const char *text, const tutti_core_set *given, tutti_partition *out,
                                      tutti_failure *err)
{
    tutti_partition_rule rule;
    hwloc_topology_t machine;
    tutti_status st = tutti_partition_parse(text, &rule, err);
    if (st) return st;
    if (!load(&machine))
        return tutti_fail(err, TUTTI_ERR_USAGE, "hwloc cannot read this machine; only 'none' can be had here");
    st = restrict_to(machine, given, err);
    if (!st) st = tutti_partition_cut(machine, &rule, out, err);
    if (!st) snprintf(out->text, sizeof out->text, "%s", text);
    hwloc_topology_destroy(machine);
    return st;
}

/* ---- binding to cores and memory ---- */

static tutti_status bind_cores(hwloc_topology_t machine, const tutti_core_group *g, tutti_failure *err)
{
    hwloc_bitmap_t cores = bitmap_of(&g->threads);
    const bool done = cores && !hwloc_set_cpubind(machine, cores, HWLOC_CPUBIND_PROCESS);
    const int problem = errno;
    hwloc_bitmap_free(cores);
    if (done) return TUTTI_OK;
    tutti_strbuf list = {0};
    tutti_cores_print(&g->threads, &list);
    const tutti_status st = tutti_fail(err, TUTTI_ERR_FAILED,
                                       "the system refuses to bind to cores %s: %s; only 'partition: none' can be had",
                                       list.text, strerror(problem));
    tutti_strbuf_release(&list);
    return st;
}

/* Binds memory, but not strictly: if the nodes have no page left, pages come from other nodes. The policy belongs to
 * the calling thread, and threads that it starts inherit it. */
static void bind_memory(hwloc_topology_t machine, const tutti_core_group *g, tutti_binding *out)
{
    if (!tutti_cores_count(&g->nodes)) return;
    hwloc_bitmap_t nodes = bitmap_of(&g->nodes);
    errno = 0;
    out->has_memory =
        nodes && !hwloc_set_membind(machine, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
    out->problem = out->has_memory ? 0 : errno ? errno : ENOSYS;
    hwloc_bitmap_free(nodes);
}

tutti_status tutti_partition_bind(const tutti_partition *p, int group, tutti_binding *out, tutti_failure *err)
{
    hwloc_topology_t machine;
    const tutti_core_group *g = &p->groups[group];
    *out = (tutti_binding){0};
    if (!load(&machine)) return tutti_fail(err, TUTTI_ERR_FAILED, "hwloc cannot read this machine");
    /* for another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE) hwloc reports success without binding anything */
    const tutti_status st = hwloc_topology_is_thissystem(machine)
                                ? bind_cores(machine, g, err)
                                : tutti_fail(err, TUTTI_ERR_USAGE,
                                             "hwloc's variables describe another machine, where nothing can be bound; "
                                             "--dry-run and plan show it");
    if (!st) bind_memory(machine, g, out);
    out->has_cores = !st;
    hwloc_topology_destroy(machine);
    return st;
}
