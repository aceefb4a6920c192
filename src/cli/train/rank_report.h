/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report.h: lets commands that run as ranks print what the group says of silent ranks and hangs. Threads: one at a
 * time. */
#ifndef TUTTI_CLI_RANK_REPORT_H
#define TUTTI_CLI_RANK_REPORT_H

#include "../../collective/launch/join.h"
#include "../cli.h"

/* Blocks SIGQUIT in this thread and in threads that it starts: SIGQUIT then asks for a report instead of ending the
 * process. Call this function before the group is joined, because a wire starts threads. A report that is asked for
 * during the rendezvous is printed after the rendezvous. */
void tutti_cli_block_quit(void);
/* The row of the flag --cores for a command's table of flags. tutti_cli_cores writes its value to *out, 0 = not
 * given. */
#define TUTTI_CLI_CORES_FLAG                                                                                           \
    {                                                                                                                  \
        "cores", "N", "that the ranks of a host have together (default: the union of their affinity masks)", 0         \
    }
tutti_status tutti_cli_cores(const tutti_flags *f, int *out, tutti_failure *err);
/* Joins the group; prints to stderr which ranks it waits for. `command` is borrowed until the function returns. */
tutti_status tutti_cli_join(const char *command, const tutti_group_config *config, tutti_group **out,
                            tutti_failure *err);
/* Prints one report with one write, so that the reports of several ranks do not mix; rank -1: no rank is named. */
void tutti_cli_print_report(const char *command, int rank, const char *words);
/* The names that precede a group's notices and reports on stderr. `command` is borrowed. */
typedef struct {
    const char *command; /* name of the command in messages, such as "train" */
    tutti_group *group;
} tutti_cli_reporter;
tutti_status tutti_cli_report(tutti_cli_reporter *reporter, tutti_failure *err);

#endif
