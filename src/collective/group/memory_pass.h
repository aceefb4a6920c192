/* SPDX-License-Identifier: Apache-2.0 */
/* memory_pass.h: passes a memory file to other ranks of the host. Threads: one at a time. */
#ifndef TUTTI_MEMORY_PASS_H
#define TUTTI_MEMORY_PASS_H

#include "../../base/host/memory_file.h"
#include "group_impl.h"

/* Sends the file as `id` to every near peer, or only to peers with this rank's number in set_of (NULL = all). */
void tutti_memory_file_send(tutti_group *g, uint64_t id, int fd);
void tutti_memory_file_send_among(tutti_group *g, const int32_t *set_of, uint64_t id, int fd);
/* Receives the file of peer `from`. `name`: for failures. */
tutti_status tutti_memory_file_receive(tutti_group *g, int from, const char *name, uint64_t id, int *fd,
                                       tutti_failure *err);

#endif
