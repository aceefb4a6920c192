/* SPDX-License-Identifier: Apache-2.0 */
/* client.h: finds the job server and asks it: one request a connection, each with a deadline.
 *
 * The server is the one whose folder (HOME) the user names: HOME/address says where it listens, HOME/token has the
 * token. Both are read for each request, because a server that was started again may listen elsewhere. Or the user
 * names an address and a file with the token. Threads: one at a time. */
#ifndef TUTTI_CLIENT_H
#define TUTTI_CLIENT_H

#include "http_reply.h"
#include "job_view.h"

/* Seconds in which a command that must not fail waits for a server that is being started again. */
enum { TUTTI_CLIENT_LONG_PATIENCE_S = 60 };

typedef struct {
    char *home;        /* the server's folder; NULL: `server` says where it is */
    char *server;      /* address that the user gave; NULL: `home` says it */
    char *token_file;  /* file that holds the token */
    double deadline_s; /* seconds that one request may take, from the connection to the end of the answer */
    double patience_s; /* seconds in which a request is repeated while no server answers */
    /* Called once for a request that waits for a server for a second. address: where it was sought, NULL = not known;
     * why: words. NULL = nothing is called. */
    void (*waits)(const char *address, const char *why);
    bool has_answered; /* true once a server has answered this client */
} tutti_client;

/* The server that the user names. For a member that is NULL the environment is asked (TUTTI_HOME, TUTTI_SERVER,
 * TUTTI_TOKEN_FILE). */
typedef struct {
    const char *home;       /* the server's folder */
    const char *server;     /* its address, instead of `home` */
    const char *token_file; /* the file with its token */
} tutti_client_place;
/* Fills `out`; tutti_client_close releases it. TUTTI_ERR_USAGE: home and server are both given, or no token is
 * known. */
tutti_status tutti_client_open(const tutti_client_place *place, tutti_client *out, tutti_failure *err);
void tutti_client_close(tutti_client *c);
/* Writes where the server listens and the token, as the files say now. The caller frees both. TUTTI_ERR_PEER: no server
 * runs for this folder. */
tutti_status tutti_client_find(const tutti_client *c, char **address, char **token, tutti_failure *err);

typedef struct {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* "/api/v1/jobs?limit=20" */
    const char *body;   /* JSON; NULL: none */
    const char *key;    /* value of the header Idempotency-Key; NULL: none */
    bool may_repeat;    /* true: the request may be sent again if the answer was lost */
    size_t max_reply;   /* the most bytes of the answer's body; 0: 16 MiB */
} tutti_request;

/* Sends the request and reads the answer, whose status is below 300. The caller releases *out after success.
 * TUTTI_ERR_PEER: no server answers within the deadline. TUTTI_ERR_FAILED: the server refuses the request, in its
 * words; out->status then says by which number. */
tutti_status tutti_client_call(tutti_client *c, const tutti_request *request, tutti_reply *out, tutti_failure *err);
/* Works as tutti_client_call and reads the answer as JSON. The caller frees *out by tutti_server_answer_free. */
tutti_status tutti_client_ask(tutti_client *c, const tutti_request *request, tutti_server_answer **out,
                              tutti_failure *err);
/* GET of one path. */
tutti_status tutti_client_get(tutti_client *c, const char *path, tutti_server_answer **out, tutti_failure *err);

#endif
