/* SPDX-License-Identifier: Apache-2.0 */
/* topo.h: the verbs of `tutti topo`: for each a file topo_<verb>.c and a row in cmd_topo.c. argv[0] is the verb; they
 * return the exit code. Threads: one at a time. */
#ifndef TUTTI_TOPO_H
#define TUTTI_TOPO_H

#include "../cli.h"
#include "tutti/topology.h"

int tutti_topo_detect(int argc, char **argv);
int tutti_topo_make(int argc, char **argv);
int tutti_topo_bounds(int argc, char **argv);
int tutti_topo_map(int argc, char **argv);

/* Opens a topology: "host" with its fitted figures, or a text form. --cores, if the command has it (f may be NULL),
 * applies to "host"; notes about it for the user go to stderr. */
tutti_status tutti_topo_open(const tutti_flags *f, const char *text, tutti_topology *out, tutti_failure *err);
/* Opens "host" for a machine whose shape is known already. */
tutti_status tutti_topo_of_machine(const tutti_flags *f, const tutti_host_shape *machine, tutti_topology *out,
                                   tutti_failure *err);
/* Values of --topology, for tables of flags: all kinds (tests/cli/test_ranks_predict_commands.c). */
#define TUTTI_TOPO_KINDS "star,bw=10GbE,lat=5us; cluster pcie dgx1p dgx1v dgx2 fat-tree bigraph torus cards nvswitch"
/* The row of --cores for the tables of flags. */
#define TUTTI_TOPO_CORES_FLAG                                                                                          \
    {                                                                                                                  \
        "cores", "N", "of this host (default: those that it allows its processes)", 0                                  \
    }

#endif
