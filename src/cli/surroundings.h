/* SPDX-License-Identifier: Apache-2.0 */
/* surroundings.h: prepares the process before any command, and checks its output after it. Threads: one at a time. */
#ifndef TUTTI_CLI_SURROUNDINGS_H
#define TUTTI_CLI_SURROUNDINGS_H

#include "tutti/failure.h"

void tutti_surroundings_begin(void);
/* Raises the stack limit if it is too small for some command, for this process and the threads and ranks that it
 * starts; TUTTI_ERR_USAGE if the system does not allow it. */
tutti_status tutti_surroundings_check_stack(tutti_failure *err);
/* Returns the code to end with: that of the command, or TUTTI_ERR_FAILED if the command succeeded but not all of its
 * output could be written. */
int tutti_surroundings_end(int code);

#endif
