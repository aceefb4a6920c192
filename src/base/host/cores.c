/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c: counts the cores that this process may use, quotas of control groups included. To find all cores that the
 * host allows, a thread sets its affinity to all cores, and the kernel gives it those that exist and are allowed.
 * Reading cpusets instead would have to handle both versions of control groups, and would fail where their file systems
 * are not mounted. */
#include "cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_group.h"

static int read_mask(tutti_core_set *out)
{
    memset(out, 0, sizeof *out);
    return sched_getaffinity(0, sizeof *out, (cpu_set_t *)(void *)out->word); /* 0 means this thread */
}

/* Sets the cores to 0 .. n - 1, for systems that report only their number n. */
static void guess(tutti_core_set *out)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    memset(out, 0, sizeof *out);
    for (long i = 0; i < (n < 1 ? 1 : n) && i < TUTTI_MOST_CORES; i++) out->word[i / 64] |= (uint64_t)1 << i % 64;
}

void tutti_cores_own(tutti_core_set *out)
{
    if (read_mask(out)) guess(out);
}

/* Widens the affinity mask to all cores and reads it. The function runs in a thread of its own, so that no other
 * thread's mask changes. */
static void *ask_for_all(void *arg)
{
    tutti_core_set *out = arg, all;
    memset(&all, 0xff, sizeof all);
    /* if the system refuses to widen the mask, this thread keeps the mask of the process */
    (void)sched_setaffinity(0, sizeof all, (const cpu_set_t *)(const void *)all.word);
    if (read_mask(out)) guess(out);
    return NULL;
}

void tutti_cores_host(tutti_core_set *out)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, ask_for_all, out))
        tutti_cores_own(out);
    else
        pthread_join(thread, NULL);
}

int tutti_cores_count(const tutti_core_set *set)
{
    int n = 0;
    for (int i = 0; i < TUTTI_MOST_CORES / 64; i++) n += __builtin_popcountll(set->word[i]);
    return n;
}

void tutti_cores_add(tutti_core_set *set, const tutti_core_set *more)
{
    for (int i = 0; i < TUTTI_MOST_CORES / 64; i++) set->word[i] |= more->word[i];
}

/* --- quota --- */

/* Reads quota and period from one file ("max 100000": no limit), or from two. */
static bool read_quota(const tutti_control_walk *walk, double *quota, double *period)
{
    static const char *const files[3][2] = {{NULL}, {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, {"cpu.max", NULL}};
    double *out[2] = {quota, period};
    int nread = 0;
    for (int i = 0; i < 2 && files[walk->version][i]; i++) {
        char path[TUTTI_CONTROL_PATH + 32];
        snprintf(path, sizeof path, "%s/%s", walk->folder, files[walk->version][i]);
        FILE *f = fopen(path, "re");
        while (f && nread < 2 && fscanf(f, "%lf", out[nread]) == 1) nread++;
        if (f) fclose(f);
    }
    return nread == 2;
}

static void tighten(tutti_core_quota *q, const tutti_control_walk *walk)
{
    double quota, period;
    struct stat info;
    if (!read_quota(walk, &quota, &period)) return;
    if (!(quota > 0) || !(period > 0) || (q->cores > 0 && quota / period >= q->cores)) return;
    q->cores = quota / period;
    q->group = stat(walk->folder, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

tutti_core_quota tutti_cores_quota_under(const char *root)
{
    tutti_core_quota q = {0};
    tutti_control_walk walk;
    tutti_control_walk_begin(&walk, root, "cpu");
    while (tutti_control_walk_next(&walk)) tighten(&q, &walk);
    return q;
}

tutti_core_quota tutti_cores_quota(void)
{
    return tutti_cores_quota_under("");
}

int tutti_cores_within(int n, double quota)
{
    const int most = quota > 0 && quota < n ? (int)quota : n;
    return most < 1 ? 1 : most;
}

int tutti_cores_usable(void)
{
    tutti_core_set set;
    tutti_cores_own(&set);
    return tutti_cores_within(tutti_cores_count(&set), tutti_cores_quota().cores);
}

int tutti_cores_usable_of_host(void)
{
    tutti_core_set set;
    tutti_cores_host(&set);
    return tutti_cores_within(tutti_cores_count(&set), tutti_cores_quota().cores);
}
