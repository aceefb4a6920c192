/* SPDX-License-Identifier: Apache-2.0 */
/* http_call.h: one request of HTTP/1.1 over a TCP connection of its own, with a deadline for all of it. Threads:
 * shared. */
#ifndef TUTTI_CLIENT_HTTP_CALL_H
#define TUTTI_CLIENT_HTTP_CALL_H

#include "http_reply.h"

typedef struct {
    const char *url;    /* "http://127.0.0.1:7117" */
    const char *token;  /* value of "Authorization: Bearer" */
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* path and query */
    const char *body;   /* JSON; NULL: none */
    const char *key;    /* value of Idempotency-Key; NULL: none */
    size_t max_reply;   /* the most bytes that the answer's body may have */
    double deadline_s;  /* seconds until the answer must be whole */
    bool is_own;        /* true: the server must be of this user or of root, else the token is not sent */
} tutti_http_call;

/* Makes the call. On success *out holds the whole answer, of whatever status, and the caller releases it. was_sent: set
 * to true once the server may have got the request. TUTTI_ERR_PEER: no connection, the deadline passed, or the
 * connection ended too early. TUTTI_ERR_USAGE: the URL is none of http. TUTTI_ERR_FAILED: the answer is not HTTP, or
 * too large. */
tutti_status tutti_http_call_make(const tutti_http_call *call, tutti_reply *out, bool *was_sent, tutti_failure *err);

#endif
