/* SPDX-License-Identifier: Apache-2.0 */
/* control_group.c: finds the control groups of this process. /proc/self/cgroup has a line "0::/user.slice/run.scope"
 * for version 2, whose files lie in /sys/fs/cgroup. For each hierarchy of version 1 it has a line
 * "4:cpu,cpuacct:/batch", whose files lie in /sys/fs/cgroup/CONTROLLER (a link if several controllers share one). */
#include "control_group.h"

#include <stdio.h>
#include <string.h>

static bool names(const char *list, size_t n, const char *controller)
{
    const size_t length = strlen(controller);
    for (size_t at = 0; at <= n; at += strcspn(list + at, ",:") + 1)
        if (strcspn(list + at, ",:") == length && !memcmp(list + at, controller, length)) return true;
    return false;
}

/* Returns the group's path on this line of /proc/self/cgroup, or NULL if the line belongs to another hierarchy. */
static const char *path_on(char *line, const tutti_control_walk *walk)
{
    char *list = strchr(line, ':'), *path = list ? strchr(++list, ':') : NULL;
    if (!path) return NULL;
    const size_t n = (size_t)(path - list);
    if (walk->version == 2 ? strncmp(line, "0::", 3) != 0 : !n || !names(list, n, walk->controller)) return NULL;
    path[1 + strcspn(path + 1, "\n")] = '\0';
    return strcmp(path + 1, "/") ? path + 1 : "";
}

static bool enter(tutti_control_walk *walk, int version)
{
    char name[TUTTI_CONTROL_PATH], line[TUTTI_CONTROL_PATH];
    const char *path = NULL;
    walk->version = version;
    int n = snprintf(walk->folder, sizeof walk->folder, "%s/sys/fs/cgroup%s%s", walk->root, version == 2 ? "" : "/",
                     version == 2 ? "" : walk->controller);
    if (n < 0 || (size_t)n >= sizeof walk->folder) return false;
    walk->stem = (size_t)n;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", walk->root);
    FILE *f = fopen(name, "re");
    while (f && !path && fgets(line, sizeof line, f)) path = path_on(line, walk);
    if (f) fclose(f);
    /* if the path is too long, the walk visits only the root group */
    if (path && strlen(path) < sizeof walk->folder - walk->stem)
        memcpy(walk->folder + walk->stem, path, strlen(path) + 1);
    return true;
}

void tutti_control_walk_begin(tutti_control_walk *walk, const char *root, const char *controller)
{
    *walk = (tutti_control_walk){.root = root, .controller = controller};
}

bool tutti_control_walk_next(tutti_control_walk *walk)
{
    if (!walk->version) return enter(walk, 2);
    char *slash = strrchr(walk->folder, '/');
    if (slash && slash >= walk->folder + walk->stem) {
        *slash = '\0';
        return true;
    }
    return walk->version == 2 && enter(walk, 1);
}
