/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.h: makes room for a group's open files, or names the limit in the way. Threads: one at a time. */
#ifndef TUTTI_OPEN_FILES_H
#define TUTTI_OPEN_FILES_H

#include <stdbool.h>

#include "tutti/failure.h"

/* Number of files that a rank opens for itself, and for each other rank of its host: a socket and a doorbell. */
enum { TUTTI_FILES_OF_A_RANK = 24, TUTTI_FILES_A_PEER = 2 };

/* Makes room for `more` files besides those that are open: raises the soft limit if the hard one allows it.
 * TUTTI_ERR_RENDEZVOUS names the limit; `who` begins the words ("join: rank 3 of 300"). */
tutti_status tutti_open_files_allow(int more, const char *who, tutti_failure *err);
/* Returns true if this errno is a limit that waiting does not lift. The caller then fails with the name of the
 * limit. */
bool tutti_open_files_is_limit(int problem);
tutti_status tutti_open_files_fail(int problem, const char *who, tutti_failure *err);

#endif
