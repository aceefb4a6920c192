/* SPDX-License-Identifier: Apache-2.0 */
/* coll_explain.h: the parts of `tutti coll explain`. Threads: owner. */
#ifndef TUTTI_COLL_EXPLAIN_H
#define TUTTI_COLL_EXPLAIN_H

#include "../../collective/simulate/simulate.h"
#include "../cli.h"
#include "tutti/topology.h"

/* Of the file that is the only argument: a program of MSCCL or our text form. bytes: what one rank has. */
tutti_status tutti_coll_explain_file(const tutti_flags *f, int64_t bytes, const tutti_topology *t, tutti_failure *err);
/* The columns of a row, without the end of its line: predicted, latency, transfer, local, at least, rounds, messages, busiest. */
void tutti_coll_print_times(const char *name, int width, const tutti_simulation *s);

#endif
