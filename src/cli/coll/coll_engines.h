/* SPDX-License-Identifier: Apache-2.0 */
/* coll_engines.h: how `tutti coll explain --engine` shows the engines' answers side by side. Threads: owner. */
#ifndef TUTTI_COLL_ENGINES_H
#define TUTTI_COLL_ENGINES_H

#include "../../collective/simulate/choose/choose.h"
#include "../cli.h"

/* "all", or names joined by commas. TUTTI_ERR_USAGE names those that there are. */
tutti_status tutti_coll_read_engines(const char *text, unsigned *engines, tutti_failure *err);
/* What each --late RANK=MS says: seconds of each rank, the caller's (free()), or NULL: nobody is late. */
tutti_status tutti_coll_read_late(const tutti_flags *f, int32_t nranks, double **late_s, tutti_failure *err);
/* A table and why some places are empty, or one JSON object for each algorithm and engine, to standard output. */
void tutti_coll_print_engines(const tutti_engine_row *rows, int nrows, unsigned engines, bool json);

#endif
