/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_coll.c: `tutti coll VERB`: the table of verbs. A verb is one file coll_<verb>.c, a line in coll.h and a row
 * here. */
#include "../cli.h"
#include "coll.h"

static const tutti_command verbs[] = {
    {"bench", "time an exchange between real ranks, beside the memory bound", tutti_coll_bench},
    {"list", "the algorithms there are and what they serve", tutti_coll_list},
    {"compile", "print one as text", tutti_coll_compile},
    {"convert", "print one as MSCCL XML, as text, or as a picture", tutti_coll_convert},
    {"check", "prove that one is right, or show where it is not", tutti_coll_check},
    {"verify-all", "prove all algorithms at 1 to 1,024 ranks, for every wire", tutti_coll_verify_all},
    {"explain", "predicted times of all algorithms, the choice and why", tutti_coll_explain},
    {"tune", "fit alpha, beta and gamma on this host; --check: the model against it", tutti_coll_tune},
    {"pack", "trees packed into a topology's links: how much they carry, on how many trees", tutti_coll_pack},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static int run_command(int argc, char **argv)
{
    return tutti_cli_verb(
        "coll", "Schedules of collectives: what there is, what each does, whether it is right, how long it takes.",
        verbs, NVERBS, argc, argv);
}

const tutti_command tutti_command_coll = {
    "coll", "schedules of collectives: compile, check, convert, explain, bench, pack", run_command};
