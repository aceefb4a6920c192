/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h: the cores of a host in groups, each with its nearest memory, for one rank or a few each
 * (docs/partition.md).
 *
 *     rule ("numa", "l3", "4")  x  a machine  x  the cores that are given  ->  groups and memory domains     pure:
 *                               tutti_partition_cut
 *     a group  ->  this process is bound to it
 *              tutti_partition_bind
 *
 * A group is of whole cores: two hardware threads of one core are never in two groups. Its memory is that of the NUMA
 * nodes nearest to its cores; groups whose nodes overlap are of one domain, and have its bytes together. Threads:
 * owner; a partition is frozen once made. */
#ifndef TUTTI_PARTITION_H
#define TUTTI_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/host/cores.h"
#include "tutti/failure.h"

typedef enum {
    TUTTI_PARTITION_NONE,  /* ranks run where the system puts them */
    TUTTI_PARTITION_NUMA,  /* a group for all cores that have the same nearest nodes */
    TUTTI_PARTITION_L3,    /* ... the same last-level cache */
    TUTTI_PARTITION_NUMBER /* so many, of equal numbers of cores but for one */
} tutti_partition_kind;

typedef struct {
    tutti_partition_kind kind;
    int ngroups; /* of a number */
} tutti_partition_rule;

/* "none", "numa", "l3" or a number from 1 to TUTTI_MOST_CORES; TUTTI_ERR_USAGE for anything else. */
tutti_status tutti_partition_parse(const char *text, tutti_partition_rule *out, tutti_failure *err);

typedef struct {
    tutti_core_set threads; /* hardware threads, as the system numbers them */
    tutti_core_set nodes;   /* NUMA nodes nearest to them */
    int ncores, nthreads;
    int domain;     /* of memory */
    char cache[64]; /* "L3 0 (32.0 MiB)", "part of L3 0 (32.0 MiB)", "L3 0-1 (64.0 MiB)" */
} tutti_core_group;

typedef struct {
    tutti_core_set nodes;
    int64_t nbytes; /* 0 = the system does not say */
    int ngroups;
} tutti_memory_domain;

typedef struct {
    tutti_partition_rule rule;
    char text[16]; /* the rule as it was written */
    int ngroups, ndomains;
    int ncores, fewest; /* of all groups; of the smallest */
    tutti_core_group *groups;
    tutti_memory_domain *domains;
} tutti_partition;

/* Of this machine, as far as these cores go. TUTTI_ERR_USAGE: there are fewer cores than groups, no caches, or this
 * build cannot ask the machine. */
tutti_status tutti_partition_of_cores(const char *text, const tutti_core_set *given, tutti_partition *out,
                                      tutti_failure *err);
void tutti_partition_release(tutti_partition *p);

/* The cores that ranks of this host share out: those that TUTTI_CORES lists (tutti as launcher tells its ranks, whom it
 * has bound already), else those that this process may use. TUTTI_ERR_USAGE: the variable is no list. */
#define TUTTI_CORES_VARIABLE "TUTTI_CORES"
tutti_status tutti_partition_given(tutti_core_set *out, tutti_failure *err);
/* Both in one: of this machine, as far as those go. A refusal says so where this process may use less than the host
 * has. */
tutti_status tutti_partition_here(const char *text, tutti_core_set *given, tutti_partition *out, tutti_failure *err);

/* --- ranks of a host --- */

/* TUTTI_ERR_USAGE: so many ranks cannot have one group each, or equally many a group. */
tutti_status tutti_partition_fits(const tutti_partition *p, int nranks, tutti_failure *err);
/* Ranks in order: as many a group. */
int tutti_partition_group_of(const tutti_partition *p, int local_rank, int nranks);
/* Compute threads of each, the same for all, at least 1: a core of the smallest group each, as far as a quota (0 =
 * none) goes. */
int tutti_partition_threads(const tutti_partition *p, int nranks, double quota);

/* --- binding --- */

typedef struct {
    bool has_cores,
        has_memory; /* bound to the cores; memory is asked for on the nearest nodes, else first touch decides */
    int problem;    /* errno of memory that may not be asked for; 0 = there is no node to ask for */
} tutti_binding;

/* Binds this process, all threads of it, to a group: cores first, then memory, which goes elsewhere when there is none
 * left (it is preferred, never a reason to be killed). TUTTI_ERR_FAILED: the system refuses the cores. */
tutti_status tutti_partition_bind(const tutti_partition *p, int group, tutti_binding *out, tutti_failure *err);

/* --- words --- */

/* "0-3", hardware threads of the cores; "node 0", "nodes 0,2", "no near node". */
void tutti_partition_memory_words(const tutti_core_set *nodes, tutti_strbuf *out);
/* One line a group, of nranks ranks: "rank 0: group 0: cores 0-3 (4 cores), L3 0 (32.0 MiB), memory of node 0 (62.7
 * GB)". */
void tutti_partition_print(const tutti_partition *p, int nranks, const char *before, tutti_strbuf *out);
/* "2 groups of 4 cores", "3 groups of 2 to 3 cores". */
void tutti_partition_summary(const tutti_partition *p, tutti_strbuf *out);

/* What the ranks of one domain need of it: theirs, and samples once. TUTTI_ERR_USAGE with all numbers where it is more
 * than there is. */
typedef struct {
    const char *rule;   /* "l3" */
    const char *memory; /* "node 0" */
    int64_t nbytes;     /* of the domain; 0 = not known, nothing is refused */
    int nranks;
    int64_t of_ranks, of_samples; /* of all of them together; once */
} tutti_domain_need;
tutti_status tutti_partition_check_memory(const tutti_domain_need *need, tutti_failure *err);
void tutti_partition_need_words(const tutti_domain_need *need, tutti_strbuf *out);

#endif
