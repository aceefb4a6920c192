/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: streams of events to clients, which wait suspended until there is something to say.
 *
 * A stream has two cursors and no queue: what a slow client has not taken yet is asked for when it has taken the rest.
 * So memory does not grow with clients that sleep. One that takes nothing is dropped by the timeout of connections. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "http_impl.h"

/* A comment after COMMENT_S seconds shows both sides whether the other one is there. */
static const double COMMENT_S = 15;

struct tutti_http_stream {
    tutti_http *http;
    tutti_http_source source;
    struct MHD_Connection *connection;
    tutti_strbuf out;
    size_t nsent; /* bytes of out */
    double said;  /* when something was put into out */
    bool is_suspended;
    tutti_http_stream *next, **link;
};

static void ask_source(tutti_http_stream *s)
{
    s->out.length = s->nsent = 0;
    s->source.next(s->source.arg, s->source.cursor, &s->out);
    const double now = tutti_clock_s();
    if (!s->out.length && now >= s->said + COMMENT_S) tutti_strbuf_puts(&s->out, ": still here\n\n");
    if (s->out.length) s->said = now;
}

static ssize_t give(void *arg, uint64_t position, char *room, size_t most)
{
    tutti_http_stream *s = arg;
    (void)position;
    if (s->http->is_closing) return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->nsent == s->out.length) ask_source(s);
    const size_t left = s->out.length - s->nsent, n = left < most ? left : most;
    if (n == 0) { /* without this the daemon would ask again and again */
        s->is_suspended = true;
        MHD_suspend_connection(s->connection);
        return 0;
    }
    memcpy(room, s->out.text + s->nsent, n);
    s->nsent += n;
    s->http->bytes.out[TUTTI_HTTP_CONTROL] += n;
    return (ssize_t)n;
}

static void forget(void *arg)
{
    tutti_http_stream *s = arg;
    *s->link = s->next;
    if (s->next) s->next->link = s->link;
    tutti_strbuf_release(&s->out);
    free(s);
}

struct MHD_Response *tutti_http_stream_begin(tutti_http *h, const tutti_http_source *source,
                                             struct MHD_Connection *connection)
{
    tutti_http_stream *s = tutti_alloc(sizeof *s);
    *s = (tutti_http_stream){.http = h, .source = *source, .connection = connection, .link = &h->streams};
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, give, s, forget);
    if (!response) {
        free(s);
        return NULL;
    }
    tutti_strbuf_puts(&s->out, "retry: 1000\n\n");
    s->said = tutti_clock_s();
    s->next = h->streams;
    if (s->next) s->next->link = &s->next;
    h->streams = s;
    return response;
}

void tutti_http_wake(tutti_http *h)
{
    for (tutti_http_stream *s = h->streams; s; s = s->next) {
        if (!s->is_suspended) continue;
        s->is_suspended = false;
        MHD_resume_connection(s->connection);
    }
}

int tutti_http_streams(const tutti_http *h)
{
    int n = 0;
    for (const tutti_http_stream *s = h->streams; s; s = s->next) n++;
    return n;
}
