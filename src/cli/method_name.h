/* SPDX-License-Identifier: Apache-2.0 */
/* method_name.h: a row of the table of methods by what a user calls it. Threads: shared. */
#ifndef TUTTI_CLI_METHOD_NAME_H
#define TUTTI_CLI_METHOD_NAME_H

#include "../job/job_fields.h"

/* TUTTI_ERR_USAGE names the nearest one. */
tutti_status tutti_cli_find_method(const char *name, const tutti_method_row **out, tutti_failure *err);

#endif
