/* SPDX-License-Identifier: Apache-2.0 */
/* comm_group.h: makes a communicator for a command that has joined its group itself. Threads: one at a time. */
#ifndef TUTTI_COMM_GROUP_H
#define TUTTI_COMM_GROUP_H

#include "../group/group.h"
#include "tutti/comm.h"

/* Makes a communicator that takes over the group; tutti_comm_destroy leaves the group. */
tutti_comm *tutti_comm_of_group(tutti_group *group);

#endif
