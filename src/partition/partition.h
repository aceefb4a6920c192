/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h: divides the cores of a host into groups, each with its nearest memory. A group serves one rank or a few
 * ranks (docs/partition.md).
 *
 *   tutti_partition_cut   a rule ("numa", "l3", "4"), a machine and the given cores -> groups and memory domains; pure
 *   tutti_partition_bind  binds this process to a group
 *
 * A group has whole cores: two hardware threads of one core are never in two groups. Its memory is that of the NUMA
 * nodes nearest to its cores. Groups whose nodes overlap are in one domain and share its bytes. Threads: one at a time;
 * any may read a finished partition. */
#ifndef TUTTI_PARTITION_H
#define TUTTI_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/host/cores.h"
#include "tutti/failure.h"

typedef enum {
    TUTTI_PARTITION_NONE,  /* ranks run where the system puts them */
    TUTTI_PARTITION_NUMA,  /* one group for all cores with the same nearest nodes */
    TUTTI_PARTITION_L3,    /* one group for all cores with the same last-level cache */
    TUTTI_PARTITION_NUMBER /* a number of groups, whose sizes differ by at most one core */
} tutti_partition_kind;

typedef struct {
    tutti_partition_kind kind;
    int ngroups; /* for TUTTI_PARTITION_NUMBER: the number of groups */
} tutti_partition_rule;

/* Reads "none", "numa", "l3" or a number from 1 to TUTTI_MOST_CORES; TUTTI_ERR_USAGE for anything else. */
tutti_status tutti_partition_parse(const char *text, tutti_partition_rule *out, tutti_failure *err);

typedef struct {
    tutti_core_set threads; /* the group's hardware threads, by the system's numbers */
    tutti_core_set nodes;   /* NUMA nodes nearest to these hardware threads */
    int ncores, nthreads;
    int domain;     /* number of the memory domain that the group belongs to */
    char cache[64]; /* the group's cache in words: "L3 0 (32.0 MiB)", "part of L3 0 (32.0 MiB)", "L3 0-1 (64.0 MiB)" */
} tutti_core_group;

typedef struct {
    tutti_core_set nodes;
    int64_t nbytes; /* bytes of the domain's memory; 0 = unknown */
    int ngroups;
} tutti_memory_domain;

typedef struct {
    tutti_partition_rule rule;
    char text[16]; /* the rule's text, as the user wrote it */
    int ngroups, ndomains;
    /* ncores: number of cores of all groups together; fewest: number of cores of the smallest group */
    int ncores, fewest;
    tutti_core_group *groups;
    tutti_memory_domain *domains;
} tutti_partition;

/* Makes the partition of the given cores of this machine. TUTTI_ERR_USAGE: there are fewer cores than groups, the
 * machine reports no caches, or this build has no hwloc to ask the machine. */
tutti_status tutti_partition_of_cores(const char *text, const tutti_core_set *given, tutti_partition *out,
                                      tutti_failure *err);
void tutti_partition_release(tutti_partition *p);

/* Finds the cores that the ranks of this host share. If the environment variable TUTTI_CORES is set, it lists them: the
 * launcher sets it for ranks that it has already bound. Otherwise they are the cores that this process may use.
 * TUTTI_ERR_USAGE: the variable is no list. */
#define TUTTI_CORES_VARIABLE "TUTTI_CORES"
tutti_status tutti_partition_given(tutti_core_set *out, tutti_failure *err);
/* Finds the cores with tutti_partition_given, and makes their partition. The message of a failure says if this process
 * may use fewer cores than the host has. */
tutti_status tutti_partition_here(const char *text, tutti_core_set *given, tutti_partition *out, tutti_failure *err);

/* --- ranks of a host --- */

/* Returns TUTTI_OK if nranks ranks can be divided so that each group serves the same number of ranks, at least one;
 * else TUTTI_ERR_USAGE. */
tutti_status tutti_partition_fits(const tutti_partition *p, int nranks, tutti_failure *err);
/* Returns the group of a rank. Ranks fill groups in order, the same number in each. */
int tutti_partition_group_of(const tutti_partition *p, int local_rank, int nranks);
/* Returns the number of compute threads of a rank, the same for all ranks and at least 1. The cores of the smallest
 * group, limited by the quota (0 = no quota), are divided among the group's ranks. */
int tutti_partition_threads(const tutti_partition *p, int nranks, double quota);

/* --- binding --- */

typedef struct {
    /* has_cores: the process is bound to the cores. has_memory: pages come from the nearest nodes; false: from the node
     * of the thread that touches them first */
    bool has_cores, has_memory;
    int problem; /* if memory was not bound: errno of the refusal; 0 = the group has no nearest node */
} tutti_binding;

/* Binds this process with all its threads to a group: cores first, then memory. Memory is a preference: when the nodes
 * have none left, pages come from elsewhere, and the process is not killed. TUTTI_ERR_FAILED: the system refuses the
 * cores. */
tutti_status tutti_partition_bind(const tutti_partition *p, int group, tutti_binding *out, tutti_failure *err);

/* --- a partition in words --- */

/* tutti_partition_memory_words writes the nodes of a memory: "node 0", "nodes 0,2" or "no near node". */
void tutti_partition_memory_words(const tutti_core_set *nodes, tutti_strbuf *out);
/* Prints one line for each group, for nranks ranks: "rank 0: group 0: cores 0-3 (4 cores), L3 0 (32.0 MiB), memory of
 * node 0 (62.7 GB)". before: text in front of each line. */
void tutti_partition_print(const tutti_partition *p, int nranks, const char *before, tutti_strbuf *out);
/* Writes a summary, such as "2 groups of 4 cores" or "3 groups of 2 to 3 cores". */
void tutti_partition_summary(const tutti_partition *p, tutti_strbuf *out);

/* The memory that the ranks of one memory domain need: each rank's own memory, and the data set's samples once.
 * tutti_partition_check_memory returns TUTTI_ERR_USAGE, with all numbers, if the ranks need more than the domain
 * has. */
typedef struct {
    const char *rule;   /* the partition's rule, such as "l3" */
    const char *memory; /* the domain's memory in words, such as "node 0" */
    int64_t nbytes;     /* bytes of memory of the domain; 0 = unknown, so nothing is refused */
    int nranks;
    /* of_ranks: bytes that all its ranks need together; of_samples: bytes of the samples, counted once */
    int64_t of_ranks, of_samples;
} tutti_domain_need;
tutti_status tutti_partition_check_memory(const tutti_domain_need *need, tutti_failure *err);
void tutti_partition_need_words(const tutti_domain_need *need, tutti_strbuf *out);

#endif
