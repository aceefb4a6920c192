/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report.c: prints the notices of a group (silent ranks, hangs) on stderr. */
#include "rank_report.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../base/host/cores.h"

void tutti_cli_block_quit(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

tutti_status tutti_cli_cores(const tutti_flags *f, int *out, tutti_failure *err)
{
    long n;
    const tutti_status st = tutti_cli_int(f, "cores", (tutti_cli_range){1, TUTTI_MOST_CORES}, 0, &n, err);
    if (!st) *out = (int)n;
    return st;
}

void tutti_cli_print_report(const char *command, int rank, const char *words)
{
    char *line, of[24] = "";
    if (rank >= 0) snprintf(of, sizeof of, "rank %d: ", rank);
    const int n = asprintf(&line, "tutti %s: %s%s\n", command, of, words);
    if (n < 0) return;
    (void)!write(STDERR_FILENO, line, (size_t)n);
    free(line);
}

static void print_waiting(void *arg, const char *words)
{
    const char *const *command = arg;
    tutti_cli_print_report(*command, -1, words);
}

tutti_status tutti_cli_join(const char *command, const tutti_group_config *config, tutti_group **out,
                            tutti_failure *err)
{
    tutti_group_config c = *config;
    c.notice = print_waiting;
    c.notice_arg = &command;
    return tutti_group_join(&c, out, err);
}

static void print_notice(void *arg, const char *words)
{
    const tutti_cli_reporter *r = arg;
    tutti_cli_print_report(r->command, tutti_group_rank(r->group), words);
}

tutti_status tutti_cli_report(tutti_cli_reporter *reporter, tutti_failure *err)
{
    tutti_group_on_silence(reporter->group, print_notice, reporter);
    return tutti_group_report_on(reporter->group, SIGQUIT, err);
}
