/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_absent.c: replaces ucx_wire.c in a build that found no UCX. */
#include "wire_impl.h"

const tutti_wire_row tutti_wire_ucx = {
    .name = "ucx",
    .help = "puts and reads over what UCX finds (not in this build: UCX's headers were not there)",
    .can = TUTTI_WIRE_CROSSES_HOSTS,
    .absent = "this build knows nothing of UCX: install libucx-dev (./dev setup) and build again",
};
