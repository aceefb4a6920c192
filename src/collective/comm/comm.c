/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: life of a communicator, its memory, and schedules of the caller's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "comm_group.h"
#include "comm_impl.h"

struct tutti_launched {
    tutti_group_config config; /* its launcher wants to hear how we end */
};

tutti_comm *tutti_comm_of_group(tutti_group *group)
{
    tutti_comm *comm = tutti_alloc(sizeof *comm);
    comm->group = group;
    comm->rank = tutti_group_rank(group), comm->nranks = tutti_group_nranks(group);
    return comm;
}

tutti_status tutti_comm_create_from_env(tutti_comm **out, tutti_failure *err)
{
    struct tutti_launched *from = tutti_alloc(sizeof *from);
    tutti_group *group;
    tutti_status s = tutti_group_config_from_env(&from->config, err);
    if (s) {
        free(from);
        return s;
    }
    s = tutti_group_join(&from->config, &group, err);
    if (s) {
        tutti_group_config_end(&from->config, (int)s, err ? err->text : "");
        free(from);
        return s;
    }
    *out = tutti_comm_of_group(group);
    (*out)->from = from;
    return TUTTI_OK;
}

tutti_status tutti_comm_create(const tutti_comm_config *config, tutti_comm **out, tutti_failure *err)
{
    if (config->nranks < 1 || config->rank < 0 || config->rank >= config->nranks || config->port < 1 ||
        config->port > 65535 || !(config->deadline_s >= 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "communicator: rank %d of %d, port %d, deadline %g s: out of range",
                          config->rank, config->nranks, config->port, config->deadline_s);
    const tutti_group_config group_config = {.rank = config->rank,
                                             .nranks = config->nranks,
                                             .local_rank = config->rank,
                                             .master_addr = config->address ? config->address : "127.0.0.1",
                                             .master_port = config->port,
                                             .master_fd = -1,
                                             .deadline_s = config->deadline_s > 0 ? config->deadline_s : 60,
                                             .fingerprint = ""};
    tutti_group *group;
    tutti_status s = tutti_group_join(&group_config, &group, err);
    if (!s) *out = tutti_comm_of_group(group);
    return s;
}

tutti_status tutti_comm_create_threads(int nranks, double deadline_s, tutti_comm **out, tutti_failure *err)
{
    if (nranks < 1 || nranks > 1024 || !(deadline_s >= 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "communicator: %d threads, deadline %g s: out of range", nranks,
                          deadline_s);
    tutti_group **groups = tutti_alloc(sizeof *groups * (size_t)nranks);
    tutti_status s = tutti_group_create_threads(nranks, deadline_s > 0 ? deadline_s : 60, groups, err);
    for (int r = 0; r < nranks && !s; r++) out[r] = tutti_comm_of_group(groups[r]);
    free(groups);
    return s;
}

void tutti_comm_destroy(tutti_comm *comm)
{
    if (!comm) return;
    tutti_failure why = {0};
    const tutti_status s = tutti_comm_failure(comm, NULL, &why);
    for (tutti_lane *l = comm->lanes, *next; l; l = next) next = l->next, tutti_lane_destroy(l);
    for (tutti_allocation *a = comm->allocations, *next; a; a = next)
        next = a->next, tutti_region_destroy(a->region), free(a);
    for (tutti_own_schedule *o = comm->schedules, *next; o; o = next) {
        next = o->next;
        tutti_schedule_destroy(o->lowered), tutti_schedule_destroy(o->compiled);
        free(o);
    }
    tutti_made_schedules_destroy(comm);
    tutti_remote_forget(comm->group, &comm->writes);
    tutti_region_destroy(comm->board);
    tutti_group_leave(comm->group);
    if (comm->from) tutti_group_config_end(&comm->from->config, (int)s, why.text);
    free(comm->from);
    free(comm);
}

int tutti_comm_rank(const tutti_comm *comm)
{
    return comm->rank;
}

int tutti_comm_size(const tutti_comm *comm)
{
    return comm->nranks;
}

const char *tutti_comm_describe(const tutti_comm *comm, int rank)
{
    return tutti_group_describe(comm->group, rank);
}

void tutti_comm_abort(tutti_comm *comm, const char *words)
{
    tutti_group_abort(comm->group, words);
}

tutti_status tutti_comm_failure(const tutti_comm *comm, int *culprit, tutti_failure *err)
{
    return tutti_group_failure(comm->group, culprit, err);
}

/* --- memory --- */

tutti_status tutti_comm_alloc(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err)
{
    tutti_allocation *a = tutti_alloc(sizeof *a);
    char size[32];
    snprintf(size, sizeof size, "%zu bytes", nbytes);
    tutti_status s = tutti_group_agree(comm->group, "size of an allocation", size, err);
    if (!s) s = tutti_region_create(comm->group, "allocation", nbytes, &a->region, err);
    if (s) {
        free(a);
        return s;
    }
    a->own = tutti_region_base(a->region, comm->rank);
    a->bytes = nbytes;
    a->number = ++comm->nallocations;
    a->next = comm->allocations;
    comm->allocations = a;
    *out = a->own;
    return TUTTI_OK;
}

/* Lanes bound to it go with it: on every rank the same, so no call is left that one has and another not. */
tutti_status tutti_comm_free(tutti_comm *comm, void *own, tutti_failure *err)
{
    tutti_allocation **at = &comm->allocations;
    while (*at && (*at)->own != own) at = &(*at)->next;
    tutti_allocation *a = *at;
    if (!a) return tutti_fail(err, TUTTI_ERR_USAGE, "free: %p is no allocation of this communicator", own);
    for (tutti_lane **l = &comm->lanes; *l;) {
        tutti_lane *lane = *l;
        if (lane->key.in >> 48 != a->number && lane->key.out >> 48 != a->number) {
            l = &lane->next;
            continue;
        }
        *l = lane->next;
        tutti_lane_destroy(lane);
    }
    *at = a->next;
    tutti_region_destroy(a->region);
    free(a);
    return TUTTI_OK;
}

/* --- schedules --- */

static tutti_status prove(tutti_own_schedule *own, const tutti_comm *comm, tutti_failure *err)
{
    tutti_check_report report;
    const tutti_schedule_header *h = tutti_schedule_head(own->compiled);
    if (h->nranks != comm->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "it is for %d ranks, the communicator has %d", h->nranks, comm->nranks);
    if (h->wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "it is lowered for %s already: give it as it was before",
                          tutti_wire_class_name(h->wire));
    tutti_status s = tutti_schedule_check(own->compiled, &report, err);
    if (!s) s = tutti_schedule_lower_hosts(own->compiled, tutti_group_hosts(comm->group), &own->lowered, err);
    if (!s) s = tutti_schedule_check(own->lowered, &report, err);
    return s;
}

tutti_status tutti_comm_add_schedule(tutti_comm *comm, const char *name, const char *text, size_t nbytes,
                                     tutti_failure *err)
{
    char hash[TUTTI_ALGORITHM_TEXT + 24], digits[17];
    if (!*name || strlen(name) >= TUTTI_ALGORITHM_TEXT || !strcmp(name, "auto") || tutti_find_schedule(comm, name))
        return tutti_fail(err, TUTTI_ERR_USAGE, "schedule '%s': the name is empty, too long or taken", name);
    tutti_hash_text(tutti_hash(text, nbytes), digits);
    snprintf(hash, sizeof hash, "%s with hash %s", name, digits);
    tutti_status s = tutti_group_agree(comm->group, "schedule", hash, err);
    if (s) return s;
    tutti_own_schedule *own = tutti_alloc(sizeof *own);
    snprintf(own->name, sizeof own->name, "%s", name);
    s = tutti_schedule_parse(name, text, nbytes, &own->compiled, err);
    if (!s) {
        s = prove(own, comm, err);
        if (s) tutti_fail_at(err, "schedule '%s'", name);
    }
    if (s) {
        tutti_schedule_destroy(own->lowered), tutti_schedule_destroy(own->compiled);
        free(own);
        return s;
    }
    own->next = comm->schedules;
    comm->schedules = own;
    return TUTTI_OK;
}
