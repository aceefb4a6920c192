/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: decides who may ask the server: tokens, sessions of browsers, names in the Host header, foreign pages.
 *
 * A page of another origin can make a browser send requests to this machine, by any name that its own name server
 * answers (DNS rebinding). So the Host header must be a name of this server, and an Origin must be this server's.
 * Tokens are compared in constant time. Threads: one at a time. */
#ifndef TUTTI_HTTP_GUARD_H
#define TUTTI_HTTP_GUARD_H

#include <stdbool.h>

typedef enum { TUTTI_ROLE_NONE, TUTTI_ROLE_READ, TUTTI_ROLE_OPERATE } tutti_role;

#define TUTTI_GUARD_COOKIE "tutti_session"
enum { TUTTI_GUARD_TOKEN = 128, TUTTI_GUARD_SESSIONS = 256, TUTTI_GUARD_SESSION = 65 };

typedef struct {
    char id[TUTTI_GUARD_SESSION];
    tutti_role role;
} tutti_guard_session;

typedef struct {
    char operate[TUTTI_GUARD_TOKEN], read[TUTTI_GUARD_TOKEN]; /* the tokens; "" = nobody has that role */
    char address[64];                                         /* where the server listens; "" = on this machine alone */
    const char *name; /* one more name in the Host header, of a proxy in front, at any port; NULL = none */
    int port;
    tutti_guard_session sessions[TUTTI_GUARD_SESSIONS]; /* the oldest gives way */
    int next;
} tutti_guard;

/* Makes 256 random bits as 64 hex digits. False: the system gives none. */
bool tutti_guard_draw(char out[TUTTI_GUARD_SESSION]);
/* True for a Host header that names this server: a loopback name or the address, with the port. NULL = no header. */
bool tutti_guard_knows_host(const tutti_guard *g, const char *host);
/* True if a request with this Origin comes from the server's own page, or from no page (NULL). */
bool tutti_guard_knows_origin(const tutti_guard *g, const char *origin);
/* The role of a token. */
tutti_role tutti_guard_token(const tutti_guard *g, const char *token);
/* The role of a request, by its header "Authorization" or the cookie "tutti_session"; each may be NULL. A header that
 * is there and wrong counts: the cookie is not looked at then. */
tutti_role tutti_guard_role(const tutti_guard *g, const char *authorization, const char *cookie);
/* Begins a session for a token; writes its cookie's value. False: the token has no role, or there is no randomness. */
bool tutti_guard_begin(tutti_guard *g, const char *token, char out[TUTTI_GUARD_SESSION]);
/* Ends the session of a header "Cookie"; does nothing without one. */
void tutti_guard_end(tutti_guard *g, const char *cookie);

#endif
