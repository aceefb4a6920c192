/* SPDX-License-Identifier: Apache-2.0 */
/* address.h: the address of rank 0 as users and launchers write it: "node7", "10.0.0.7", "[fe80::1%eth0]", each also
 * with a port, "node7:29500". Threads: any. */
#ifndef TUTTI_LAUNCH_ADDRESS_H
#define TUTTI_LAUNCH_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>

#include "tutti/failure.h"

enum { TUTTI_ADDRESS_HOST = 256, TUTTI_ADDRESS_MOST_LISTENERS = 8 };

typedef struct {
    char host[TUTTI_ADDRESS_HOST]; /* the host without brackets, as getaddrinfo wants it */
    int port;                      /* port after the address; 0: none */
    bool is_number;                /* true for an address in numbers, false for a name */
} tutti_address;

/* Reads an address. TUTTI_ERR_USAGE for a text that can never be one: a URL, 256.1.1.1, fe80::1 without its
 * interface. */
tutti_status tutti_address_read(const char *text, tutti_address *out, tutti_failure *err);
/* Finds all TCP addresses of `a` (the caller frees them by freeaddrinfo), or returns getaddrinfo's error. A name that
 * is unknown now may become known later. */
int tutti_address_resolve(const tutti_address *a, int port, struct addrinfo **out);
/* Opens sockets that listen where peers may look for rank 0: on a given address, on loopback for "localhost", else on
 * all interfaces, because peers may know a name by another address than this host does. Returns their number, or -1 and
 * errno if none could be opened. */
int tutti_address_listen(const tutti_address *a, int port, int out[TUTTI_ADDRESS_MOST_LISTENERS]);
/* Returns true if `a` can be resolved and none of its addresses belongs to this host. */
bool tutti_address_is_elsewhere(const tutti_address *a);

#endif
