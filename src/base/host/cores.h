/* SPDX-License-Identifier: Apache-2.0 */
/* cores.h: which processor cores this process may use.
 *
 *   own      cores that this process may run on (its affinity mask: taskset, a launcher's binding)
 *   host     cores that this host allows its processes: online and in the cpuset of the control group, whatever the
 *            mask is
 *   quota    cores' worth of time that the control groups may use (cpu.max, cpu.cfs_quota_us)
 * Ranks of one group share the union of their own cores (tutti_group_ncores). Threads: any. */
#ifndef TUTTI_BASE_CORES_H
#define TUTTI_BASE_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include "../text/strbuf.h"

enum { TUTTI_MOST_CORES = 4096 };

typedef struct {
    uint64_t word[TUTTI_MOST_CORES / 64];
} tutti_core_set;

void tutti_cores_own(tutti_core_set *out);
void tutti_cores_host(tutti_core_set *out);
int tutti_cores_count(const tutti_core_set *set);
void tutti_cores_add(tutti_core_set *set, const tutti_core_set *more);
bool tutti_cores_has(const tutti_core_set *set, int core);
void tutti_cores_put(tutti_core_set *set, int core);
/* tutti_cores_print writes a set as a list like "0-3,8". The next function reads such a list. That function returns
 * false, and leaves *out unchanged, if the text is no such list. */
void tutti_cores_print(const tutti_core_set *set, tutti_strbuf *out);
bool tutti_cores_parse(const char *text, tutti_core_set *out);

/* The tightest quota among the control groups around this process. cores: processor time in cores; 0 = no quota. */
typedef struct {
    double cores;
    uint64_t group; /* number that identifies the control group with this quota on this machine */
} tutti_core_quota;
tutti_core_quota tutti_cores_quota(void);
/* for tests: the folder `root` has the files of /proc and /sys */
tutti_core_quota tutti_cores_quota_under(const char *root);
/* Returns the smaller of n and the quota, at least 1. */
int tutti_cores_within(int n, double quota);

/* Return the number of cores that this process can use: tutti_cores_usable counts its own cores,
 * tutti_cores_usable_of_host those of the host. Both are limited by the quota. */
int tutti_cores_usable(void);
int tutti_cores_usable_of_host(void);

#endif
