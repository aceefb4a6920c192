/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.h: the same machine with other figures, for `--what-if`: "bandwidth=2x,latency=0.5x,compute=2x". Threads:
 * shared (pure).
 *
 *   bandwidth  all rates of links: bw, nic, bus, nvlink, pcie, qpi, up; of a host also copy and remote
 *   latency    all times of the network: lat, near, hop, soft
 *   compute    kernels, updates and loading: 2x takes half as long
 *   or one figure by its key in the topology: nic=2x, soft=0.1x */
#ifndef TUTTI_WHAT_IF_H
#define TUTTI_WHAT_IF_H

#include "tutti/topology.h"

/* Changes *t and multiplies *speed. where: the first words of a failure. TUTTI_ERR_USAGE if the text is not a change,
 * or if it changes a figure that the topology does not have. */
tutti_status tutti_what_if_apply(const char *where, const char *text, tutti_topology *t, double *speed,
                                 tutti_failure *err);

#endif
