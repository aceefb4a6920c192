/* SPDX-License-Identifier: Apache-2.0 */
/* exports.h: writes a schedule for other simulators (docs/simulation.md): GOAL of LogGOPSim, traces of SimGrid's SMPI,
 * Chakra traces of ASTRA-sim.
 *
 * All formats hold the same: messages with their bytes, dependencies, additions. None has slices, so nothing that is
 * read from them can be proved. s must be two-sided; the i-th message on a channel keeps its partner by a tag of its
 * own. A sum or copy is work of bytes / add_bytes_per_s. TUTTI_ERR_USAGE says what a format cannot hold. Threads:
 * shared. */
#ifndef TUTTI_COLLECTIVE_INTERCHANGE_EXPORTS_H
#define TUTTI_COLLECTIVE_INTERCHANGE_EXPORTS_H

#include "tutti/schedule.h"

typedef struct {
    int64_t n;              /* number of elements, of 4 bytes each */
    double add_bytes_per_s; /* speed of sums and copies, > 0 */
} tutti_export_options;

/* Writes GOAL into *out; the text is the caller's (free()). */
tutti_status tutti_export_goal(const tutti_schedule *s, const tutti_export_options *o, char **out, tutti_failure *err);
/* Makes the folder and writes into it rank-R.txt for each rank, and traces.txt, which lists these files and is the
 * argument of smpirun -replay. Work is in bytes added, for hosts with the speed add_bytes_per_s. */
tutti_status tutti_export_smpi(const tutti_schedule *s, const tutti_export_options *o, const char *folder,
                               tutti_failure *err);
/* Makes the folder and writes schedule.R.et into it for each rank R. */
tutti_status tutti_export_chakra(const tutti_schedule *s, const tutti_export_options *o, const char *folder,
                                 tutti_failure *err);

#endif
