/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: answers HTTP requests by a table of routes, in the thread of the caller, who polls one descriptor.
 *
 * Every request is checked before its route is called: the Host header against the names of the server, Origin against
 * foreign pages, the token or the session's cookie against the role that the route wants, the body's type and size. The
 * server knows no job: routes do. Threads: one at a time; no thread is started. */
#ifndef TUTTI_HTTP_H
#define TUTTI_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/text/strbuf.h"
#include "guard.h"
#include "tutti/failure.h"

typedef struct tutti_http tutti_http;

/* The kinds into which the counters sort the bytes of routes. */
typedef enum {
    TUTTI_HTTP_CONTROL,
    TUTTI_HTTP_METRICS,
    TUTTI_HTTP_LOG,
    TUTTI_HTTP_PAGE,
    TUTTI_HTTP_KINDS
} tutti_http_kind;

enum { TUTTI_HTTP_MOST_BODY = 1 << 20 };

typedef struct {
    const char *path;
    const char *body; /* ends with '\0'; "" if there is none */
    size_t nbytes;
    tutti_role role;
    int64_t id;       /* the number in place of {id} */
    void *connection; /* for tutti_http_query and tutti_http_header */
} tutti_http_request;

/* Returns the value of a parameter behind the '?' of the path; NULL: the request has none of that name. */
const char *tutti_http_query(const tutti_http_request *r, const char *name);
/* Returns the value of a header; NULL: the request has none of that name. */
const char *tutti_http_header(const tutti_http_request *r, const char *name);
/* Reads a whole number behind the '?'. Absent: *out is unchanged. False: it is none, or not from lo to hi. */
bool tutti_http_query_int(const tutti_http_request *r, const char *name, int64_t lo, int64_t hi, int64_t *out);

/* A stream of events, which goes on until the client leaves. */
typedef struct {
    /* Appends what is newer than the two cursors, and moves them; appends nothing if there is nothing. */
    void (*next)(void *arg, int64_t cursor[2], tutti_strbuf *out);
    void *arg;
    int64_t cursor[2];
} tutti_http_source;

/* An answer; begins as 200 without a body. */
typedef struct {
    int code;
    char type[64]; /* "": application/json */
    tutti_strbuf body;
    const char *shared; /* instead of body: bytes that outlive the server */
    size_t nshared;
    char header[2][160];      /* more headers, "Name: value"; "" = none */
    tutti_http_source stream; /* instead of a body; next NULL = none */
} tutti_http_answer;

/* Makes the answer {"error":{"code":..,"message":..,"hint":..}}. hint: NULL = none. */
void tutti_http_refuse(tutti_http_answer *a, int code, const char *word, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

typedef struct {
    const char *method; /* "GET" (HEAD is answered, too), "POST", "DELETE" */
    const char *path;   /* "/api/v1/jobs/{id}/stop": {id} is a number above 0, {file} a name or nothing */
    tutti_role need;
    tutti_http_kind kind;
    void (*answer)(void *arg, const tutti_http_request *r, tutti_http_answer *a);
} tutti_http_route;

typedef struct {
    const char *address; /* a numeric address */
    int port;            /* 0: any */
    const tutti_http_route *routes;
    int nroutes;
    void *arg;          /* for the routes */
    tutti_guard *guard; /* the caller owns it; its port is set here */
} tutti_http_options;

/* Begins to listen. TUTTI_ERR_USAGE: the address cannot be had. */
tutti_status tutti_http_open(const tutti_http_options *options, tutti_http **out, tutti_failure *err);
void tutti_http_close(tutti_http *h); /* ends all connections; NULL is accepted */
int tutti_http_port(const tutti_http *h);
int tutti_http_descriptor(const tutti_http *h); /* readable when tutti_http_run has something to do */
/* Seconds after which tutti_http_run is to be called although the descriptor is silent; at most `most`. */
double tutti_http_limit(const tutti_http *h, double most);
void tutti_http_run(tutti_http *h);          /* does what can be done without waiting */
void tutti_http_wake(tutti_http *h);         /* streams may have something new */
int tutti_http_streams(const tutti_http *h); /* clients of streams at this moment */

/* Requests answered by a route with a code, and bytes of bodies by kind. */
void tutti_http_count(const tutti_http *h, void (*take)(void *arg, const char *route, int code, uint64_t n), void *arg);
typedef struct {
    uint64_t in[TUTTI_HTTP_KINDS], out[TUTTI_HTTP_KINDS];
} tutti_http_bytes;
tutti_http_bytes tutti_http_told(const tutti_http *h);

#endif
