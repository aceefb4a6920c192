/* SPDX-License-Identifier: Apache-2.0 */
/* http_impl.h: what the files of the HTTP server share: the server itself, its streams, and the matching of routes. */
#ifndef TUTTI_HTTP_IMPL_H
#define TUTTI_HTTP_IMPL_H

#include <microhttpd.h>

#include "http.h"

enum { TUTTI_HTTP_CODES = 18 };

typedef struct tutti_http_stream tutti_http_stream;

struct tutti_http {
    struct MHD_Daemon *daemon;
    tutti_http_options options;
    int descriptor, port;
    bool is_closing;
    uint64_t (*counts)[TUTTI_HTTP_CODES]; /* answers by route; the last row is of no route */
    tutti_http_bytes bytes;
    tutti_http_stream *streams;
};

/* Finds the route of a method and a path. Returns its index; -1: no route has this path; -2: one has it by another
 * method. *id: the number in place of {id}. */
int tutti_http_match(const tutti_http_options *o, const char *method, const char *path, int64_t *id);

/* Makes a response that goes on until the client leaves or the server closes. NULL: no memory. */
struct MHD_Response *tutti_http_stream_begin(tutti_http *h, const tutti_http_source *source,
                                             struct MHD_Connection *connection);

#endif
