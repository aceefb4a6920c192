/* SPDX-License-Identifier: Apache-2.0 */
/* api_events.c: the route of events: a stream that goes on, or a list of what was missed. */
#include <stdlib.h>
#include <string.h>

#include "../job_server.h"

enum { EVENTS_ONCE = 200, MOST_LISTED = 1000 };

static void write_event(const tutti_stored_event *e, tutti_json *j)
{
    tutti_json_open(j, NULL, '{');
    tutti_json_int(j, "id", e->id);
    tutti_json_int(j, "job", e->job);
    tutti_json_text(j, "kind", e->kind);
    tutti_json_text(j, "state", e->text);
    tutti_json_real(j, "at", e->at);
    tutti_json_close(j, '}');
}

/* cursor[0]: the last event that was sent; cursor[1]: the last news. */
static void tell(void *arg, int64_t cursor[2], tutti_strbuf *out)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_stored_event *events;
    int n = cursor[0] == tutti_store_last_event(s->store) ? 0 : EVENTS_ONCE;
    if (n && tutti_store_events(s->store, cursor[0], &arena, &events, &n, NULL)) n = 0; /* asked at the next wake */
    for (int i = 0; i < n; i++) {
        tutti_strbuf_printf(out, "id: %lld\nevent: job\ndata: ", (long long)events[i].id);
        write_event(&events[i], &(tutti_json){.out = out});
        tutti_strbuf_puts(out, "\n\n");
        cursor[0] = events[i].id;
    }
    for (const int64_t last = tutti_jobs_last_news(s->jobs); cursor[1] < last;) {
        const char *news = tutti_jobs_news(s->jobs, ++cursor[1]);
        if (news) tutti_strbuf_printf(out, "event: progress\ndata: %s\n\n", news);
    }
    tutti_arena_release(&arena);
}

static void answer_list(tutti_job_server *s, int64_t after, tutti_http_answer *a)
{
    tutti_arena arena = {0};
    tutti_failure err = {0};
    tutti_stored_event *events;
    int n = MOST_LISTED;
    if (tutti_store_events(s->store, after, &arena, &events, &n, &err)) {
        tutti_api_fail(a, &err);
    } else {
        tutti_json j = {.out = &a->body};
        tutti_json_open(&j, NULL, '{');
        tutti_json_open(&j, "events", '[');
        for (int i = 0; i < n; i++) write_event(&events[i], &j);
        tutti_json_close(&j, ']');
        tutti_json_int(&j, "last", n ? events[n - 1].id : after);
        tutti_json_close(&j, '}');
    }
    tutti_arena_release(&arena);
}

void tutti_api_events(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    const char *accept = tutti_http_header(r, "Accept"), *last = tutti_http_header(r, "Last-Event-ID");
    const int64_t newest = tutti_store_last_event(s->store);
    int64_t after = last ? strtoll(last, NULL, 10) : newest; /* a new client asks for the list of jobs first */
    if (!tutti_http_query_int(r, "after", 0, INT64_MAX, &after)) {
        tutti_http_refuse(a, 400, "wrong_query", NULL, "after is the id of an event");
        return;
    }
    if (accept && strstr(accept, "application/json")) {
        answer_list(s, after, a);
        return;
    }
    a->stream = (tutti_http_source){.next = tell, .arg = s, .cursor = {after, tutti_jobs_last_news(s->jobs)}};
}
