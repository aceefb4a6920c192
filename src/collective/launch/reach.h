/* SPDX-License-Identifier: Apache-2.0 */
/* reach.h: finds the addresses by which other hosts can reach this one. Threads: shared. */
#ifndef TUTTI_LAUNCH_REACH_H
#define TUTTI_LAUNCH_REACH_H

#include <stdbool.h>

enum { TUTTI_REACH_TEXT = 1024 };
/* Lists "10.0.0.7,fd00::7": addresses of interfaces that are up, without loopback and link-local ones; "127.0.0.1" if
 * none. */
void tutti_reach_own(char list[TUTTI_REACH_TEXT]);
/* Writes to `out` the first address of the list that answers on the port. Tries all at once, for at most timeout_s. */
bool tutti_reach_first(const char *list, int port, double timeout_s, char out[64]);
/* Opens a socket that listens on a port of the kernel's choice, on loopback or on all addresses; -1 and errno. */
int tutti_reach_listen(bool loopback, int *port);

#endif
