/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_topo.c: `tutti topo VERB`: the table of verbs. A verb is one file topo_<verb>.c, a line in topo.h and a row here. */
#include <string.h>

#include "topo.h"

static const tutti_command verbs[] = {
    {"detect", "this machine as a topology, and what it is made of", tutti_topo_detect},
    {"make", "a machine of some kind as one line of text, described or drawn", tutti_topo_make},
    {"bounds", "what no schedule can beat on it: L1 to L7, and why", tutti_topo_bounds},
    {"map", "seat ranks so that a schedule's busiest link carries less", tutti_topo_map},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

tutti_status tutti_topo_open(const char *text, tutti_topology *out, tutti_failure *err)
{
    return strcmp(text, "host") ? tutti_topology_parse(text, out, err) : tutti_topology_of_this_host(out, err);
}

int tutti_cmd_topo(int argc, char **argv)
{
    return tutti_cli_verb("topo", "Machines: links, what they carry, where each figure is from (docs/topologies.md).",
                          verbs, NVERBS, argc, argv);
}
