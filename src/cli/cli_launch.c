/* SPDX-License-Identifier: Apache-2.0 */
/* cli_launch.c: starts several ranks of one command on this host. The launcher has read its command line and job (so
 * that failures are printed once) and then only waits: it uses no data, no kernels, no group. */
#include <stdio.h>
#include <stdlib.h>

#include "../base/arena.h"
#include "../base/stop_request.h"
#include "../collective/launch/join.h"
#include "cli.h"

/* True if the launcher must explain the exit code. An orderly end by a signal needs no explanation, and a rank that
 * ended with a status has printed the reason itself. */
static bool needs_words(int exit_code)
{
    for (int i = 0; i < TUTTI_NSTOP_SIGNALS; i++)
        if (exit_code == 128 + tutti_stop_signals[i]) return false;
    return exit_code > 128;
}

tutti_status tutti_cli_refuse_ranks(long asked, int nranks, const char *launcher, tutti_failure *err)
{
    char unset[TUTTI_LAUNCHER_UNSET];
    tutti_launcher_unset(unset);
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "--ranks %ld, but the environment says %d (%s): leave --ranks out to be one of %d; '%s' first to start "
        "%ld on this host",
        asked, nranks, launcher, nranks, unset, asked);
}

int tutti_cli_launch(const char *command, const tutti_launch_options *options, char **argv)
{
    int n = 0;
    while (argv[n]) n++;
    char **full = tutti_alloc(sizeof *full * (size_t)(n + 2));
    full[0] = "tutti";
    for (int i = 0; i < n; i++) full[i + 1] = argv[i];
    tutti_launch_result result = {0};
    tutti_failure err = {0};
    tutti_status st = tutti_launch(options, full, &result, &err);
    free(full);
    if (st) return tutti_cli_fail(command, &err);
    if (needs_words(result.exit_code) && result.words) fprintf(stderr, "%s", result.words);
    if (result.lost) fprintf(stderr, "tutti %s: the others went on without: %s", command, result.lost);
    free(result.words), free(result.lost);
    return result.exit_code;
}
