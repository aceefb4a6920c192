/* SPDX-License-Identifier: Apache-2.0 */
/* peer_state.c: what the system knows of a rank that has not arrived: stopped, running, asleep. A stopped process (SIGSTOP, a
 * debugger) keeps all its sockets open and looks like a slow one to everybody who does not ask. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "group_impl.h"

/* The socket knows the process by the number that it has here, whatever container it runs in; 0 = not seen from here. */
static int pid_of(const tutti_group *g, int rank)
{
    struct ucred who = {0};
    socklen_t length = sizeof who;
    const int mesh = g->peers[rank].mesh;
    if (g->thread_boards || mesh < 0 || getsockopt(mesh, SOL_SOCKET, SO_PEERCRED, &who, &length)) return 0;
    return (int)who.pid;
}

/* The letter of /proc/PID/stat: "pid (name) S ...", and the name may hold anything. 0 = unknown. */
static char state_of(int pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

bool tutti_peer_is_stopped(const tutti_group *g, int rank)
{
    const char state = state_of(pid_of(g, rank));
    return state == 'T' || state == 't';
}

bool tutti_group_has_stopped(const tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++)
        if (r != g->rank && tutti_peer_is_stopped(g, r)) return true;
    return false;
}

const char *tutti_peer_condition(const tutti_group *g, int rank)
{
    if (g->peers[rank].state == TUTTI_PEER_LEFT) return " which has left";
    if (g->peers[rank].long_phase) return " [in a long phase that it declared]";
    switch (state_of(pid_of(g, rank))) {
    case 'T': return " [stopped by a signal; kill -CONT lets it go on]";
    case 't': return " [stopped by a debugger]";
    case 'R': return " [running]";
    case 'S': return " [asleep]";
    case 'D': return " [waits for a disk or network file system]";
    case 'Z': return " [has ended]";
    default: return "";
    }
}
