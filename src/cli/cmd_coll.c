/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_coll.c: `tutti coll VERB`: the table of verbs. A verb is one file coll_<verb>.c, a line in coll.h and a row here. */
#include <stdio.h>
#include <string.h>

#include "../base/options.h"
#include "cli.h"
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

static void print_usage(FILE *to)
{
    fprintf(to, "usage: tutti coll VERB [arguments], tutti coll VERB --help\n\n"
                "Schedules of collectives: what there is, what each does, whether it is right, how long it takes.\n\n");
    for (int i = 0; i < NVERBS; i++) fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
}

int tutti_cmd_coll(int argc, char **argv)
{
    const char *known[NVERBS], *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_usage(stderr);
        return TUTTI_ERR_USAGE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_usage(stdout);
        return 0;
    }
    for (int i = 0; i < NVERBS; i++) {
        known[i] = verbs[i].name;
        if (!strcmp(verbs[i].name, name)) return verbs[i].run(argc - 1, argv + 1);
    }
    const char *nearest = tutti_options_nearest(name, known, NVERBS);
    fprintf(stderr, "tutti coll: unknown verb '%s'%s%s%s; 'tutti coll --help' lists them\n", name,
            nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return TUTTI_ERR_USAGE;
}
