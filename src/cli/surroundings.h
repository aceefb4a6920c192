/* SPDX-License-Identifier: Apache-2.0 */
/* surroundings.h: prepares the process before any command, and checks its output after it. Threads: owner. */
#ifndef TUTTI_CLI_SURROUNDINGS_H
#define TUTTI_CLI_SURROUNDINGS_H

#include "tutti/failure.h"

void tutti_surroundings_begin(void);
/* Raises a stack limit that is too small for any command, of this process and of threads and ranks that it starts;
 * TUTTI_ERR_USAGE where the system does not let it. */
tutti_status tutti_surroundings_check_stack(tutti_failure *err);
/* The code to end with: that of the command, or TUTTI_ERR_FAILED where it had none and not all that it printed could be
 * written. */
int tutti_surroundings_end(int code);

#endif
