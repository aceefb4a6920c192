/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_topo.c: `tutti topo VERB`: the table of verbs. A verb is one file topo_<verb>.c, a line in topo.h and a row here. */
#include <stdio.h>
#include <string.h>

#include "../base/options.h"
#include "topo.h"

static const tutti_command verbs[] = {
    {"detect", "this machine as a topology, and what it is made of", tutti_topo_detect},
    {"make", "a machine of some kind as one line of text, described or drawn", tutti_topo_make},
    {"bounds", "what no schedule can beat on it: L1 to L7, and why", tutti_topo_bounds},
    {"map", "seat ranks so that a schedule's busiest link carries less", tutti_topo_map},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static void print_usage(FILE *to)
{
    fprintf(to, "usage: tutti topo VERB [arguments], tutti topo VERB --help\n\n"
                "Machines: links, what they carry, where each figure is from (docs/topologies.md).\n\n");
    for (int i = 0; i < NVERBS; i++) fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
}

tutti_status tutti_topo_open(const char *text, tutti_topology *out, tutti_failure *err)
{
    return strcmp(text, "host") ? tutti_topology_parse(text, out, err) : tutti_topology_of_this_host(out, err);
}

int tutti_cmd_topo(int argc, char **argv)
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
    fprintf(stderr, "tutti topo: unknown verb '%s'%s%s%s; 'tutti topo --help' lists them\n", name,
            nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return TUTTI_ERR_USAGE;
}
