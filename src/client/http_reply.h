/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply.h: reads one answer of an HTTP/1.1 server from the bytes of a connection, in pieces of any size. Threads:
 * owner. */
#ifndef TUTTI_CLIENT_HTTP_REPLY_H
#define TUTTI_CLIENT_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/text/strbuf.h"
#include "tutti/failure.h"

/* The part of the answer that the next byte belongs to. */
typedef enum {
    TUTTI_REPLY_STATUS,
    TUTTI_REPLY_HEADER,
    TUTTI_REPLY_SIZE,       /* the size of a chunk */
    TUTTI_REPLY_CHUNK,      /* the bytes of a chunk */
    TUTTI_REPLY_CHUNK_END,  /* the end of line behind them */
    TUTTI_REPLY_TRAILER,    /* header lines behind the last chunk */
    TUTTI_REPLY_BODY,       /* a body of known length */
    TUTTI_REPLY_TO_THE_END, /* a body that ends with the connection */
    TUTTI_REPLY_DONE,
} tutti_reply_part;

typedef struct {
    size_t max_body;   /* the most bytes that the body may have; the caller sets it */
    int status;        /* 200, 404, ..; 0 before the first line was read */
    tutti_strbuf body; /* its text is NULL if the body is empty */
    int64_t next;      /* value of the header X-Tutti-Next; -1: the answer has none */
    /* how far it was read; for http_reply.c alone */
    tutti_reply_part part;
    tutti_strbuf line;
    size_t head_bytes; /* bytes of all lines: they have a limit, too */
    uint64_t left;     /* bytes of the body or of the chunk that are still to come */
    bool chunked, has_length;
} tutti_reply;

/* Prepares an answer whose body may have max_body bytes. */
void tutti_reply_begin(tutti_reply *r, size_t max_body);
/* Takes the next n bytes. Bytes behind the answer are ignored, because a connection carries one answer.
 * TUTTI_ERR_FAILED: this is no HTTP/1.x, or it is larger than the limits. */
tutti_status tutti_reply_take(tutti_reply *r, const char *bytes, size_t n, tutti_failure *err);
/* True once the answer is whole. */
bool tutti_reply_is_done(const tutti_reply *r);
/* Says that the connection has ended. TUTTI_ERR_PEER: in the middle of the answer. */
tutti_status tutti_reply_end(tutti_reply *r, tutti_failure *err);
void tutti_reply_release(tutti_reply *r);

#endif
