/* SPDX-License-Identifier: Apache-2.0 */
/* port_owner.h: finds out who listens on a port of this host, before a secret is sent there. Threads: any. */
#ifndef TUTTI_CLIENT_PORT_OWNER_H
#define TUTTI_CLIENT_PORT_OWNER_H

#include "tutti/failure.h"

/* Checks that nobody but this user and root listens on the TCP port. A server that was killed leaves its address
 * behind, and another user may listen there by now, who would get the token. TUTTI_ERR_PEER names that user. TUTTI_OK
 * also if nobody listens, or if the system does not say who does. */
tutti_status tutti_port_owner_check(int port, tutti_failure *err);

#endif
