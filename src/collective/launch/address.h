/* SPDX-License-Identifier: Apache-2.0 */
/* address.h: the address of rank 0 as people and launchers write it: "node7", "10.0.0.7", "[fe80::1%eth0]", each also
 * with a port, "node7:29500". Threads: shared. */
#ifndef TUTTI_LAUNCH_ADDRESS_H
#define TUTTI_LAUNCH_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>

#include "tutti/failure.h"

enum { TUTTI_ADDRESS_HOST = 256, TUTTI_ADDRESS_MOST_LISTENERS = 8 };

typedef struct {
    char host[TUTTI_ADDRESS_HOST]; /* without brackets: for getaddrinfo */
    int port;                      /* that stands behind it; 0: none does */
    bool is_number;                /* an address, and no name */
} tutti_address;

/* TUTTI_ERR_USAGE for what can be neither, now or later: a URL, 256.1.1.1, fe80::1 without its interface. */
tutti_status tutti_address_read(const char *text, tutti_address *out, tutti_failure *err);
/* A stream's addresses of it (freeaddrinfo), all of them; or getaddrinfo's answer. A name may not be known yet and be
 * known later. */
int tutti_address_resolve(const tutti_address *a, int port, struct addrinfo **out);
/* Sockets that listen where peers may look for rank 0: on an address that is given, on loopback for "localhost", else
 * on all interfaces, for peers may know a name by another address than this host does. -1 and errno: none could be
 * opened; else how many. */
int tutti_address_listen(const tutti_address *a, int port, int out[TUTTI_ADDRESS_MOST_LISTENERS]);
/* Whether it is known, and none of its addresses is one of this host. */
bool tutti_address_is_elsewhere(const tutti_address *a);

#endif
