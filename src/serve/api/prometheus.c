/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c: the route /metrics: counters of the server in the text format of Prometheus. */
#include <stdio.h>

#include "../job_server.h"

static void head(tutti_strbuf *out, const char *name, const char *type, const char *help)
{
    tutti_strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_state(void *arg, const char *state, int64_t n)
{
    tutti_strbuf_printf(arg, "tutti_jobs{state=\"%s\"} %lld\n", state, (long long)n);
}

static void write_route(void *arg, const char *route, int code, uint64_t n)
{
    tutti_strbuf_printf(arg, "tutti_http_requests_total{route=\"%s\",code=\"%d\"} %llu\n", route, code,
                        (unsigned long long)n);
}

static void write_bytes(tutti_strbuf *out, const char *kind, uint64_t in, uint64_t sent)
{
    tutti_strbuf_printf(out,
                        "tutti_bytes_total{kind=\"%s\",direction=\"in\"} %llu\n"
                        "tutti_bytes_total{kind=\"%s\",direction=\"out\"} %llu\n",
                        kind, (unsigned long long)in, kind, (unsigned long long)sent);
}

static void write_real(tutti_strbuf *out, const char *name, double value)
{
    tutti_strbuf_printf(out, "%s ", name);
    tutti_strbuf_add_real(out, value);
    tutti_strbuf_puts(out, "\n");
}

void tutti_api_metrics(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_strbuf *out = &a->body;
    tutti_failure err = {0};
    const tutti_http_bytes bytes = tutti_http_told(s->http);
    const tutti_store_times store = tutti_store_told(s->store);
    (void)r;
    head(out, "tutti_jobs", "gauge", "Jobs in each state.");
    if (tutti_store_count(s->store, write_state, out, &err)) {
        tutti_api_fail(a, &err);
        return;
    }
    head(out, "tutti_http_requests_total", "counter", "Requests answered, by route and code.");
    tutti_http_count(s->http, write_route, out);
    /* kind="tensor": nothing that this program is linked with can carry one (a test looks at its symbols) */
    head(out, "tutti_bytes_total", "counter", "Bytes of bodies and of runs' files, by what they are.");
    write_bytes(out, "control", bytes.in[TUTTI_HTTP_CONTROL], bytes.out[TUTTI_HTTP_CONTROL]);
    write_bytes(out, "metrics", bytes.in[TUTTI_HTTP_METRICS] + tutti_jobs_bytes_read(s->jobs),
                bytes.out[TUTTI_HTTP_METRICS]);
    write_bytes(out, "log", bytes.in[TUTTI_HTTP_LOG], bytes.out[TUTTI_HTTP_LOG]);
    write_bytes(out, "page", bytes.in[TUTTI_HTTP_PAGE], bytes.out[TUTTI_HTTP_PAGE]);
    write_bytes(out, "tensor", 0, 0);
    head(out, "tutti_events_total", "counter", "Events since the store was made.");
    write_real(out, "tutti_events_total", (double)tutti_store_last_event(s->store));
    head(out, "tutti_event_streams", "gauge", "Clients of the stream of events.");
    write_real(out, "tutti_event_streams", tutti_http_streams(s->http));
    head(out, "tutti_store_transactions_total", "counter", "Transactions of the store.");
    write_real(out, "tutti_store_transactions_total", (double)store.ntransactions);
    head(out, "tutti_store_seconds_total", "counter", "Seconds that transactions of the store took.");
    write_real(out, "tutti_store_seconds_total", store.seconds);
    head(out, "tutti_start_time_seconds", "gauge", "When the server started, in seconds since 1970.");
    write_real(out, "tutti_start_time_seconds", s->started);
    snprintf(a->type, sizeof a->type, "text/plain; version=0.0.4; charset=utf-8");
}
