/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: finds the addresses by which other hosts can reach this one. Threads: any. */
#ifndef TUTTI_LAUNCH_REACH_H
#define TUTTI_LAUNCH_REACH_H

#include <stdbool.h>

enum { TUTTI_REACH_TEXT = 1024 };
/* Lists "10.0.0.7,fd00::7": addresses of interfaces that are up, without loopback and link-local ones; "127.0.0.1" if
 * none. */
void tutti_reach_own(char list[TUTTI_REACH_TEXT]);
/* Writes to `out` the first address of the list that answers on the port. Tries all addresses at once, for at most
 * timeout_s. */
bool tutti_reach_first(const char *list, int port, double timeout_s, char out[64]);
typedef enum {
    TUTTI_REACH_LOOPBACK, /* 127.0.0.1 */
    TUTTI_REACH_ALL,      /* all addresses of IP 4 */
    TUTTI_REACH_ALL_SIX,  /* all addresses of IP 6 and IP 4 */
} tutti_reach_where;
/* Opens a socket that listens on a port of the kernel's choice. Returns the socket and writes its port to `port`; -1
 * and errno if it cannot. */
int tutti_reach_listen(tutti_reach_where where, int *port);

#endif
