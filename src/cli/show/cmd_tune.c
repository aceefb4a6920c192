/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tune.c: `tutti tune VERB`: the verbs that measure figures of this machine. A verb is one file tune_<verb>.c, a
 * line in tune_verbs.h and a row here. */
#include "../cli.h"
#include "../coll/coll.h"
#include "tune_verbs.h"

static const tutti_command verbs[] = {
    {"device", "this processor as a file for `tutti predict --device`", tutti_tune_device},
    {"kernels", "what computes products and a job's layers the soonest: `kernels.tuned`", tutti_tune_kernels},
    {"host", "its memory and cores as ranks share them: `tutti coll tune`", tutti_coll_tune},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static int run_command(int argc, char **argv)
{
    return tutti_cli_verb("tune",
                          "Measures this machine and writes files that predictions and kernels' choices are made from.",
                          verbs, NVERBS, argc, argv);
}

const tutti_command tutti_command_tune = {"tune", "measure this machine: device, kernels, host", run_command};
