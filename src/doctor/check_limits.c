/* SPDX-License-Identifier: Apache-2.0 */
/* check_limits.c: checks of the limits that the system sets to a process (ulimit) and to a control group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../base/host/control_group.h"
#include "../collective/launch/join.h"
#include "doctor_impl.h"

enum { MANY_RANKS = 64, FEW_PROCESSES = 256 };
static const int64_t LOCKED_FOR_CARDS = 1LL << 30;

/* Returns the soft limit of a resource; INT64_MAX = no limit. */
static int64_t soft_limit(__rlimit_resource_t what)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) || limit.rlim_cur > INT64_MAX) return INT64_MAX;
    return (int64_t)limit.rlim_cur;
}

void tutti_doctor_check_open_files(tutti_exam *e)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    const int64_t ranks = tutti_launcher_most_ranks();
    const int wanted = e->ncores > 2 ? e->ncores : 2;
    const tutti_finding_state state = ranks < wanted       ? TUTTI_FINDING_BAD
                                      : ranks < MANY_RANKS ? TUTTI_FINDING_NOTE
                                                           : TUTTI_FINDING_OK;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max == RLIM_INFINITY) {
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "the number of open files has no limit (ulimit -Hn)");
        return;
    }
    tutti_doctor_say(
        e, NULL, state,
        "Raise the hard limit: ulimit -Hn 65536 as root, nofile in /etc/security/limits.conf, or docker run "
        "--ulimit nofile=65536.",
        "%llu files may be open (ulimit -Hn), enough for %" PRId64 " rank%s on this host",
        (unsigned long long)limit.rlim_max, ranks, ranks == 1 ? "" : "s");
}

/* Returns how many more processes the tightest control group allows; INT64_MAX = no limit. */
static int64_t left_of_groups(void)
{
    tutti_control_walk walk;
    int64_t least = INT64_MAX;
    tutti_control_walk_begin(&walk, "", "pids");
    while (tutti_control_walk_next(&walk)) {
        char path[TUTTI_CONTROL_PATH + 32], most[TUTTI_LINE], now[TUTTI_LINE], *end;
        snprintf(path, sizeof path, "%s/pids.max", walk.folder);
        if (!tutti_doctor_first_line(path, most)) continue;
        snprintf(path, sizeof path, "%s/pids.current", walk.folder);
        if (!tutti_doctor_first_line(path, now)) continue;
        const int64_t max = strtoll(most, &end, 10);
        if (end == most) continue; /* the file has "max": no limit */
        const int64_t left = max - strtoll(now, NULL, 10);
        if (left < least) least = left;
    }
    return least;
}

void tutti_doctor_check_processes(tutti_exam *e)
{
    const int64_t own = soft_limit(RLIMIT_NPROC), group = left_of_groups(), least = own < group ? own : group;
    char user[32] = "any number of", more[80] = "the control group sets no limit";
    const tutti_finding_state state = least < e->ncores + 2   ? TUTTI_FINDING_BAD
                                      : least < FEW_PROCESSES ? TUTTI_FINDING_NOTE
                                                              : TUTTI_FINDING_OK;
    if (own < INT64_MAX) snprintf(user, sizeof user, "%" PRId64, own);
    if (group < INT64_MAX) snprintf(more, sizeof more, "the control group allows %" PRId64 " more", group);
    tutti_doctor_say(e, NULL, state, "Raise ulimit -u, or pids.max of the control group (docker run --pids-limit).",
                     "the user may have %s processes and threads (ulimit -u); %s", user, more);
}

void tutti_doctor_check_locked_memory(tutti_exam *e)
{
    const int64_t limit = soft_limit(RLIMIT_MEMLOCK);
    char bytes[TUTTI_BYTES_TEXT];
    if (limit == INT64_MAX)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "memory may be locked without limit (ulimit -l)");
    else if (tutti_doctor_has_rdma() && limit < LOCKED_FOR_CARDS)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Set memlock to unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, or "
                         "docker run --ulimit memlock=-1.",
                         "%s may be locked (ulimit -l), and RDMA cards of this host need more",
                         tutti_doctor_bytes(limit, bytes));
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s may be locked (ulimit -l); only RDMA cards need more",
                         tutti_doctor_bytes(limit, bytes));
}

void tutti_doctor_check_core_files(tutti_exam *e)
{
    const int64_t limit = soft_limit(RLIMIT_CORE);
    char bytes[TUTTI_BYTES_TEXT];
    if (limit == 0)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "a crash leaves no core file (ulimit -c is 0)");
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "a crash may leave a core file of %s a rank (ulimit -c)",
                         limit == INT64_MAX ? "any size" : tutti_doctor_bytes(limit, bytes));
}

void tutti_doctor_check_other_limits(tutti_exam *e)
{
    static const struct {
        __rlimit_resource_t what;
        const char *words;
        bool is_bytes;
    } rows[] = {{RLIMIT_AS, "address space (ulimit -v)", true},
                {RLIMIT_DATA, "data (ulimit -d)", true},
                {RLIMIT_FSIZE, "size of a file (ulimit -f)", true},
                {RLIMIT_CPU, "seconds of processor time (ulimit -t)", false}};
    tutti_strbuf text = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t limit = soft_limit(rows[i].what);
        char bytes[TUTTI_BYTES_TEXT];
        if (limit == INT64_MAX) continue;
        snprintf(bytes, sizeof bytes, "%" PRId64, limit);
        tutti_strbuf_printf(&text, "%s%s: %s", text.length ? ", " : "", rows[i].words,
                            rows[i].is_bytes ? tutti_doctor_bytes(limit, bytes) : bytes);
    }
    if (text.length)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Remove these limits before a run: ulimit -v unlimited, and so on.",
                         "a rank has limits that may end it: %s", text.text);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL,
                         "address space, data, size of files and processor time have no limit");
    tutti_strbuf_release(&text);
}
