/* SPDX-License-Identifier: Apache-2.0 */
/* wire_impl.h: the rows of single wires; wire_table.c lists all of them. Threads: constants. */
#ifndef TUTTI_WIRE_IMPL_H
#define TUTTI_WIRE_IMPL_H

#include "wire.h"

extern const tutti_wire_row tutti_wire_tcp, tutti_wire_ucx;

#endif
