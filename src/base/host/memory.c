/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: finds out how much memory is left, from /proc/meminfo, the control groups and /proc/self/statm. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control_group.h"

static const int64_t NEVER_REFUSED = 16 << 20;

/* Returns the number that follows the key in the line that begins with it; -1: the file has no such line. */
static int64_t number_of(const char *path, const char *key)
{
    char line[256];
    int64_t found = -1;
    FILE *f = fopen(path, "re");
    while (f && found < 0 && fgets(line, sizeof line, f)) {
        char *end;
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const long long value = strtoll(line + strlen(key), &end, 10);
        if (end != line + strlen(key)) found = value;
    }
    if (f) fclose(f);
    return found;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t left_of_system(void)
{
    const int64_t free_kb = number_of("/proc/meminfo", "MemAvailable:"),
                  swap_kb = number_of("/proc/meminfo", "SwapFree:");
    if (free_kb < 0) return INT64_MAX;
    return (free_kb + (swap_kb > 0 ? swap_kb : 0)) << 10;
}

typedef struct {
    const char *limit, *used, *unused;
} group_files;

static int64_t number_in(const char *folder, const char *file, const char *key)
{
    char path[TUTTI_CONTROL_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return number_of(path, key);
}

/* Returns the bytes that are left below the group's limit. A group without a limit has "max" in its file, or a number
 * larger than the memory of the machine. Cached pages of files count as used, but can be freed. */
static int64_t left_of_group(const tutti_control_walk *walk)
{
    static const group_files files[3] = {
        [1] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
        [2] = {"memory.max", "memory.current", "inactive_file "},
    };
    const group_files *name = &files[walk->version];
    const int64_t limit = number_in(walk->folder, name->limit, ""), used = number_in(walk->folder, name->used, "");
    const int64_t unused = number_in(walk->folder, "memory.stat", name->unused);
    if (limit < 0 || used < 0) return INT64_MAX;
    const int64_t taken = used - (unused > 0 ? least(unused, used) : 0);
    return limit > taken ? limit - taken : 0;
}

int64_t tutti_memory_left_of_groups(const char *root)
{
    int64_t left = INT64_MAX;
    tutti_control_walk walk;
    tutti_control_walk_begin(&walk, root, "memory");
    while (tutti_control_walk_next(&walk)) left = least(left, left_of_group(&walk));
    return left;
}

int64_t tutti_memory_kills(const char *root)
{
    static const char *const files[3] = {[1] = "memory.oom_control", [2] = "memory.events"};
    int64_t kills = 0;
    tutti_control_walk walk;
    tutti_control_walk_begin(&walk, root, "memory");
    while (tutti_control_walk_next(&walk)) {
        const int64_t n = number_in(walk.folder, files[walk.version], "oom_kill ");
        kills += n > 0 ? n : 0;
    }
    return kills;
}

static int64_t left_of_addresses(void)
{
    struct rlimit limit;
    const int64_t pages = number_of("/proc/self/statm", "");
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || pages < 0) return INT64_MAX;
    const int64_t left = (int64_t)limit.rlim_cur - pages * sysconf(_SC_PAGESIZE);
    return left > 0 ? left : 0;
}

int64_t tutti_memory_left(void)
{
    return least(left_of_system(), least(tutti_memory_left_of_groups(""), left_of_addresses()));
}

tutti_status tutti_memory_check(int64_t nbytes, const char *what, const char *remedy, tutti_failure *err)
{
    if (nbytes <= NEVER_REFUSED) return TUTTI_OK;
    const int64_t left = tutti_memory_left();
    if (nbytes <= left) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %.1f MB of memory are needed and %.1f MB are left: %s", what,
                      1e-6 * (double)nbytes, 1e-6 * (double)left, remedy);
}
