/* SPDX-License-Identifier: Apache-2.0 */
/* control_group.h: walks through the control groups (cgroups) around this process, from the innermost to the root. Each
 * may set a limit, and the tightest limit holds. Versions 1 and 2 are supported. If a system has both, a controller
 * belongs to one version, and the folders of the other version have no file for it.
 *
 *     tutti_control_walk walk;
 *     tutti_control_walk_begin(&walk, "", "memory");
 *     while (tutti_control_walk_next(&walk)) read(walk.folder, walk.version == 2 ? "memory.max" :
 *     "memory.limit_in_bytes");
 *
 * In a container the kernel may name groups that cannot be seen there: folders may be missing. Threads: one at a
 * time. */
#ifndef TUTTI_BASE_CONTROL_GROUP_H
#define TUTTI_BASE_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

enum { TUTTI_CONTROL_PATH = 4096 };

typedef struct {
    int version;                     /* version of the control group: 1 or 2 */
    char folder[TUTTI_CONTROL_PATH]; /* folder of the group that tutti_control_walk_next found */
    const char *root, *controller;
    size_t stem; /* number of bytes at the begin of `folder` that name the root group */
} tutti_control_walk;

/* Begins a walk. root: text in front of /proc and /sys, "" for this machine. controller: such as "cpu" or "memory".
 * Both texts must outlive the walk. */
void tutti_control_walk_begin(tutti_control_walk *walk, const char *root, const char *controller);
bool tutti_control_walk_next(tutti_control_walk *walk);

#endif
