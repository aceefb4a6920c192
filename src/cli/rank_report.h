/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report.h: commands that run as ranks print what the group tells of silence and hangs. Threads: owner. */
#ifndef TUTTI_CLI_RANK_REPORT_H
#define TUTTI_CLI_RANK_REPORT_H

#include "../collective/group/group.h"

/* Blocks SIGQUIT in this thread and those that it starts: it then asks for a report instead of ending the process. Before the
 * group is joined, because a wire starts threads: asked for during the rendezvous, the report comes after it. */
void tutti_cli_block_quit(void);
/* Notices and reports go to stderr, in one write each, so that those of several ranks do not mix. `command` is borrowed. */
typedef struct {
    const char *command; /* "train" */
    tutti_group *group;
} tutti_cli_reporter;
tutti_status tutti_cli_report(tutti_cli_reporter *reporter, tutti_failure *err);

#endif
