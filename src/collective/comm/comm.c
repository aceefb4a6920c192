/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: creates and destroys communicators, and adds schedules of the caller's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/hash.h"
#include "../launch/join.h"
#include "comm_group.h"
#include "comm_impl.h"
#include "tutti/check.h"
#include "tutti/lower.h"

struct tutti_launched {
    tutti_group_config config; /* configuration of the group; through it the rank's launcher hears how the rank ends */
};

/* A page that the kernel zeroes in a child of fork, so that a child is recognised. */
struct tutti_home {
    _Atomic uint32_t ours;
};

static struct tutti_home *make_home(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct tutti_home *home = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (home == MAP_FAILED) abort();
    madvise(home, page, MADV_WIPEONFORK); /* Linux kernels before 4.14 refuse: then a child is not recognised */
    atomic_init(&home->ours, true);
    return home;
}

static bool is_home(const tutti_comm *comm)
{
    return atomic_load_explicit(&comm->home->ours, memory_order_relaxed);
}

tutti_comm *tutti_comm_of_group(tutti_group *group)
{
    tutti_comm *comm = tutti_alloc(sizeof *comm);
    comm->group = group;
    comm->device = tutti_device_cpu();
    comm->rank = tutti_group_rank(group), comm->nranks = tutti_group_nranks(group);
    comm->home = make_home();
    return comm;
}

tutti_status tutti_comm_enter(tutti_comm *comm, tutti_failure *err)
{
    if (!comm) return tutti_fail(err, TUTTI_ERR_USAGE, "there is no communicator");
    if (!is_home(comm))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "this process is a child (fork) of the one that made the communicator: it must make its own");
    if (atomic_exchange_explicit(&comm->in_use, true, memory_order_acquire))
        return tutti_fail(err, TUTTI_ERR_USAGE, "another thread is in a call on this communicator; only one may be");
    return TUTTI_OK;
}

void tutti_comm_leave(tutti_comm *comm)
{
    atomic_store_explicit(&comm->in_use, false, memory_order_release);
}

tutti_status tutti_comm_create_from_env(tutti_comm **out, tutti_failure *err)
{
    struct tutti_launched *from = tutti_alloc(sizeof *from);
    tutti_group *group;
    tutti_status st = tutti_group_config_from_env(&from->config, err);
    if (st) {
        free(from);
        return st;
    }
    st = tutti_group_join(&from->config, &group, err);
    if (st) {
        tutti_group_config_end(&from->config, (int)st, err ? err->text : "");
        free(from);
        return st;
    }
    *out = tutti_comm_of_group(group);
    (*out)->from = from;
    return TUTTI_OK;
}

tutti_status tutti_comm_create(const tutti_comm_config *config, tutti_comm **out, tutti_failure *err)
{
    if (!config) return tutti_fail(err, TUTTI_ERR_USAGE, "communicator: there is no configuration");
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
    tutti_status st = tutti_group_join(&group_config, &group, err);
    if (!st) *out = tutti_comm_of_group(group);
    return st;
}

tutti_status tutti_comm_create_threads(int nranks, double deadline_s, tutti_comm **out, tutti_failure *err)
{
    if (nranks < 1 || nranks > 1024 || !(deadline_s >= 0))
        return tutti_fail(err, TUTTI_ERR_USAGE, "communicator: %d threads, deadline %g s: out of range", nranks,
                          deadline_s);
    tutti_group **groups = tutti_alloc(sizeof *groups * (size_t)nranks);
    tutti_status st = tutti_group_create_threads(nranks, deadline_s > 0 ? deadline_s : 60, groups, err);
    for (int r = 0; r < nranks && !st; r++) out[r] = tutti_comm_of_group(groups[r]);
    free(groups);
    return st;
}

static void release(tutti_comm *comm)
{
    for (tutti_request *q = comm->prepared; q; q = q->next_prepared) q->comm = NULL, q->queue = NULL, q->active = false;
    for (tutti_call_queue *l = comm->queues, *next; l; l = next) next = l->next, tutti_call_queue_destroy(l);
    for (tutti_class *c = comm->classes, *next; c; c = next) next = c->next, free(c);
    tutti_free_allocations(comm);
    for (tutti_own_schedule *o = comm->schedules, *next; o; o = next) {
        next = o->next;
        tutti_schedule_destroy(o->lowered), tutti_schedule_destroy(o->compiled);
        free(o);
    }
    tutti_made_schedules_destroy(comm);
}

/* In a child of fork the communicator is the parent's: the child says no goodbye and keeps the memory until it ends. */
void tutti_comm_destroy(tutti_comm *comm)
{
    if (!comm || !is_home(comm)) return;
    tutti_failure why = {0};
    const tutti_status st = tutti_comm_failure(comm, NULL, &why);
    release(comm);
    tutti_remote_forget(comm->group, &comm->writes);
    tutti_region_destroy(comm->board);
    tutti_group_leave(comm->group);
    if (comm->from) tutti_group_config_end(&comm->from->config, (int)st, why.text);
    munmap(comm->home, (size_t)sysconf(_SC_PAGESIZE));
    free(comm->from);
    free(comm->here);
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
    return rank >= 0 && rank < comm->nranks ? tutti_group_describe(comm->group, rank) : "no rank of this communicator";
}

void tutti_comm_abort(tutti_comm *comm, const char *words)
{
    if (is_home(comm)) tutti_group_abort(comm->group, words ? words : "no reason given");
}

tutti_status tutti_comm_failure(const tutti_comm *comm, int *culprit, tutti_failure *err)
{
    return tutti_group_failure(comm->group, culprit, err);
}

/* --- schedules of the caller --- */

static tutti_status prove(tutti_own_schedule *own, const tutti_comm *comm, tutti_failure *err)
{
    tutti_check_report report;
    const tutti_schedule_header *h = tutti_schedule_head(own->compiled);
    if (h->nranks != comm->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "it is for %d ranks, the communicator has %d", h->nranks, comm->nranks);
    if (h->wire != TUTTI_WIRE_TWO_SIDED)
        return tutti_fail(err, TUTTI_ERR_USAGE, "it is lowered for %s already: give the schedule before it is lowered",
                          tutti_wire_class_name(h->wire));
    tutti_status st = tutti_schedule_check(own->compiled, &report, err);
    if (!st) st = tutti_schedule_lower_hosts(own->compiled, tutti_group_hosts(comm->group), &own->lowered, err);
    if (!st) st = tutti_schedule_check(own->lowered, &report, err);
    return st;
}

static tutti_status add_schedule(tutti_comm *comm, const char *name, const char *text, size_t nbytes,
                                 tutti_failure *err)
{
    char hash[TUTTI_ALGORITHM_TEXT + 24], digits[17];
    if (!name || !text) return tutti_fail(err, TUTTI_ERR_USAGE, "schedule: there is no %s", name ? "text" : "name");
    if (!*name || strlen(name) >= TUTTI_ALGORITHM_TEXT || !strcmp(name, "auto") || tutti_find_schedule(comm, name))
        return tutti_fail(err, TUTTI_ERR_USAGE, "schedule '%s': the name is empty, too long or taken", name);
    tutti_hash_text(tutti_hash(text, nbytes), digits);
    snprintf(hash, sizeof hash, "%s with hash %s", name, digits);
    tutti_status st = tutti_group_agree(comm->group, "schedule", hash, err);
    if (st) return st;
    tutti_own_schedule *own = tutti_alloc(sizeof *own);
    snprintf(own->name, sizeof own->name, "%s", name);
    st = tutti_schedule_parse(name, text, nbytes, &own->compiled, err);
    if (!st) {
        st = prove(own, comm, err);
        if (st) tutti_fail_at(err, "schedule '%s'", name);
    }
    if (st) {
        tutti_schedule_destroy(own->lowered), tutti_schedule_destroy(own->compiled);
        free(own);
        return st;
    }
    own->next = comm->schedules;
    comm->schedules = own;
    return TUTTI_OK;
}

tutti_status tutti_comm_add_schedule(tutti_comm *comm, const char *name, const char *text, size_t nbytes,
                                     tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    st = add_schedule(comm, name, text, nbytes, err);
    tutti_comm_leave(comm);
    return st;
}
