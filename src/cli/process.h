/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: what the process needs before any command, and after it. Threads: owner. */
#ifndef TUTTI_CLI_PROCESS_H
#define TUTTI_CLI_PROCESS_H

void tutti_process_begin(void);
/* The code to end with: that of the command, or TUTTI_ERR_FAILED where it had none and not all that it printed could be written. */
int tutti_process_end(int code);

#endif
