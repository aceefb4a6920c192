/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_topo.c: `tutti topo VERB`: the table of verbs. A verb is one file topo_<verb>.c, a line in topo.h and a row
 * here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo.h"

static const tutti_command verbs[] = {
    {"detect", "this machine as a topology, and what it is made of", tutti_topo_detect},
    {"make", "a machine of some kind as one line of text, described or drawn", tutti_topo_make},
    {"bounds", "what no schedule can beat on it: L1 to L7, and why", tutti_topo_bounds},
    {"map", "seat ranks so that a schedule's busiest link carries less", tutti_topo_map},
};
enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static tutti_status cores_of(const tutti_flags *f, long *out, tutti_failure *err)
{
    *out = 0;
    return f ? tutti_cli_int(f, "cores", (tutti_cli_range){1, 1 << 16}, 0, out, err) : TUTTI_OK;
}

tutti_status tutti_topo_of_machine(const tutti_flags *f, const tutti_host_shape *machine, tutti_topology *out,
                                   tutti_failure *err)
{
    char notes[TUTTI_TOPOLOGY_NOTES];
    long ncores;
    tutti_status st = cores_of(f, &ncores, err);
    if (!st) st = tutti_topology_of_machine(machine, (int)ncores, out, notes, err);
    if (!st) fputs(notes, stderr);
    return st;
}

tutti_status tutti_topo_open(const tutti_flags *f, const char *text, tutti_topology *out, tutti_failure *err)
{
    tutti_host_shape machine;
    long ncores;
    if (!strcmp(text, "host")) {
        char *tuned = tutti_topology_tuned_path();
        tutti_status st = tutti_cli_check_read(f, "this host's figures", tuned, false, err);
        free(tuned);
        if (st) return st;
        tutti_topology_detect(&machine);
        return tutti_topo_of_machine(f, &machine, out, err);
    }
    tutti_status st = cores_of(f, &ncores, err);
    if (!st && ncores) st = tutti_fail(err, TUTTI_ERR_USAGE, "--cores is of 'host', not of '%s'", text);
    return st ? st : tutti_topology_parse(text, out, err);
}

static int run_command(int argc, char **argv)
{
    return tutti_cli_verb("topo", "Machines: links, what they carry, where each figure is from (docs/topologies.md).",
                          verbs, NVERBS, argc, argv);
}

const tutti_command tutti_command_topo = {"topo", "machines: make, detect, bounds, map", run_command};
