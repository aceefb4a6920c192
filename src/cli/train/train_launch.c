/* SPDX-License-Identifier: Apache-2.0 */
/* train_launch.c: starts the ranks of `tutti train` on this host, each bound to its group of the partition. */
#include <stdio.h>
#include <stdlib.h>

#include "../../job/run/seat.h"
#include "rank_report.h"
#include "train_cmd.h"

typedef struct {
    tutti_core_set given;
    tutti_partition partition;
    int nranks;
    char *list; /* cores that the groups share, as text such as 0-3,8 */
} seating;

static tutti_status seat_rank(void *arg, int rank, tutti_failure *err)
{
    const seating *s = arg;
    tutti_binding binding;
    setenv(TUTTI_CORES_VARIABLE, s->list, 1);
    return tutti_partition_bind(&s->partition, tutti_partition_group_of(&s->partition, rank, s->nranks), &binding, err);
}

void tutti_train_tell(void *arg, const char *words)
{
    (void)arg;
    tutti_cli_print_report("train", -1, words);
}

tutti_status tutti_train_max_restarts(const tutti_flags *f, long *out, tutti_failure *err)
{
    return tutti_cli_int(f, "max-restarts", (tutti_cli_range){0, 1000000}, 0, out, err);
}

int tutti_train_launch(const tutti_job *job, int max_restarts, bool says, char **argv)
{
    tutti_launch_options options = {.nranks = (int)job->ranks,
                                    .max_restarts = max_restarts,
                                    .deadline_s = job->exchange.deadline_s,
                                    .tell = tutti_train_tell};
    seating s = {.nranks = (int)job->ranks};
    tutti_failure err = {0};
    tutti_strbuf list = {0};
    if (!tutti_seat_is_partitioned(job)) return tutti_cli_launch("train", &options, argv);
    if (tutti_seat_cut(job, s.nranks, &s.given, &s.partition, &err)) return tutti_cli_fail("train", &err);
    tutti_cores_print(&s.given, &list);
    s.list = list.text;
    if (says && job->ranks_by_partition)
        printf("partition %s sets the ranks: %d, one a group\n", job->partition, s.nranks);
    options.prepare = seat_rank;
    options.prepare_arg = &s;
    const int code = tutti_cli_launch("train", &options, argv);
    tutti_partition_release(&s.partition);
    tutti_strbuf_release(&list);
    return code;
}
