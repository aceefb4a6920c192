/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_topo.c: `tutti topo VERB`: the table of verbs. A verb is one file topo_<verb>.c, a line in topo.h and a row here. */
#include <stdio.h>
#include <string.h>

#include "topo.h"

static const tutti_command verbs[] = {
    {"detect", "this machine as a topology, and what it is made of", tutti_topo_detect},
    {"make", "a machine of some kind as one line of text, described or drawn", tutti_topo_make},
    {"bounds", "what no schedule can beat on it: L1 to L7, and why", tutti_topo_bounds},
    {"map", "seat ranks so that a schedule's busiest link carries less", tutti_topo_map},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

tutti_status tutti_topo_open(const tutti_flags *f, const char *text, tutti_topology *out, tutti_failure *err)
{
    char notes[TUTTI_TOPOLOGY_NOTES];
    long ncores = 0;
    tutti_status st = f ? tutti_cli_int(f, "cores", 1, 1 << 16, 0, &ncores, err) : TUTTI_OK;
    if (st) return st;
    if (strcmp(text, "host") && ncores)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--cores is of 'host', not of '%s'", text);
    if (strcmp(text, "host")) return tutti_topology_parse(text, out, err);
    st = tutti_topology_of_cores((int)ncores, out, notes, err);
    if (!st) fputs(notes, stderr);
    return st;
}

int tutti_cmd_topo(int argc, char **argv)
{
    return tutti_cli_verb("topo", "Machines: links, what they carry, where each figure is from (docs/topologies.md).",
                          verbs, NVERBS, argc, argv);
}
