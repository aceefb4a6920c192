/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.c: raises the limit on open files, or names it in a failure.
 *
 * The soft limit is 1,024 on most systems, for the sake of programs that use select(); the hard one is what the
 * administrator chose. */
#include "open_files.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum { SPARE = 256 };

/* Returns the number of open files of this process; the limit if not even one more can be opened. */
static rlim_t count_open(rlim_t limit)
{
    DIR *all = opendir("/proc/self/fd");
    if (!all) return tutti_open_files_is_limit(errno) ? limit : 16;
    rlim_t n = 0;
    for (const struct dirent *e = readdir(all); e; e = readdir(all)) n += e->d_name[0] != '.';
    closedir(all);
    return n - 1; /* the descriptor of the folder itself does not count */
}

tutti_status tutti_open_files_allow(int more, const char *who, tutti_failure *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return TUTTI_OK; /* there is no limit */
    const rlim_t need = count_open(limit.rlim_cur) + (rlim_t)more;
    if (need <= limit.rlim_cur) return TUTTI_OK;
    const rlim_t may = limit.rlim_max;
    /* Does not raise to the hard limit: programs that this one starts may close as many descriptors as the limit, one
     * by one. */
    limit.rlim_cur = may - need < SPARE ? may : need + SPARE;
    if (need <= may && setrlimit(RLIMIT_NOFILE, &limit) == 0) return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_RENDEZVOUS,
        "%s needs %llu open files, and the hard limit is %llu (ulimit -Hn): raise it, or start fewer ranks a host", who,
        (unsigned long long)need, (unsigned long long)may);
}

bool tutti_open_files_is_limit(int problem)
{
    return problem == EMFILE || problem == ENFILE || problem == ENOMEM || problem == ENOBUFS;
}

tutti_status tutti_open_files_fail(int problem, const char *who, tutti_failure *err)
{
    struct rlimit limit;
    if (problem == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                          "%s: this process may have %llu open files (ulimit -n), and has them: raise the limit", who,
                          (unsigned long long)limit.rlim_cur);
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "%s: %s%s", who, strerror(problem),
                      problem == ENFILE ? " (sysctl fs.file-max)" : "");
}
