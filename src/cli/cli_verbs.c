/* SPDX-License-Identifier: Apache-2.0 */
/* cli_verbs.c: runs commands that have verbs, such as `tutti coll VERB` and `tutti topo VERB`, by their tables. */
#include <string.h>

#include "../base/text/options.h"
#include "cli.h"

enum { MOST_VERBS = 32 };

static void print_usage(FILE *to, const char *command, const char *about, const tutti_command *verbs, int nverbs)
{
    fprintf(to, "usage: tutti %s VERB [arguments], tutti %s VERB --help\n\n%s\n\n", command, command, about);
    for (int i = 0; i < nverbs; i++) fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
}

int tutti_cli_verb(const char *command, const char *about, const tutti_command *verbs, int nverbs, int argc,
                   char **argv)
{
    const char *known[MOST_VERBS], *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_usage(stderr, command, about, verbs, nverbs);
        return TUTTI_ERR_USAGE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_usage(stdout, command, about, verbs, nverbs);
        return 0;
    }
    for (int i = 0; i < nverbs; i++) {
        if (i < MOST_VERBS) known[i] = verbs[i].name;
        if (!strcmp(verbs[i].name, name)) return verbs[i].run(argc - 1, argv + 1);
    }
    const char *nearest = tutti_options_nearest(name, known, nverbs < MOST_VERBS ? nverbs : MOST_VERBS);
    fprintf(stderr, "tutti %s: unknown verb '%s';%s%s%s 'tutti %s --help' lists them\n", command, name,
            nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", command);
    return TUTTI_ERR_USAGE;
}
