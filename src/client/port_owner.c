/* SPDX-License-Identifier: Apache-2.0 */
/* port_owner.c: reads the tables of TCP sockets in /proc/net, which name the user of each. */
#include "port_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LISTENS = 0x0a }; /* the kernel's number for the state */

/* "0: 0100007F:1BCD 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 ..": local address, remote address,
 * state, two pairs of figures, one figure, user. */
static int foreign_listener(const char *line, unsigned port, long *user)
{
    unsigned at, state;
    return sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %ld", &at, &state, user) == 3 && at == port &&
           state == LISTENS && *user != 0 && *user != (long)geteuid();
}

tutti_status tutti_port_owner_check(int port, tutti_failure *err)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < 2 && !st; i++) {
        char *line = NULL;
        size_t room = 0;
        long user;
        FILE *f = fopen(tables[i], "re");
        while (f && !st && getline(&line, &room, f) > 0)
            if (foreign_listener(line, (unsigned)port, &user))
                st = tutti_fail(err, TUTTI_ERR_PEER,
                                "another user (%ld) listens on that port, and does not get the token", user);
        free(line);
        if (f) fclose(f);
    }
    return st;
}
