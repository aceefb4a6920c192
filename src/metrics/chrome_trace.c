/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_trace.c: writes trace.json, spans for chrome://tracing and Perfetto. Prints spans as trace events: X
 * (complete) for spans, M (metadata) for names.
 *
 * Spans of one thread must not overlap unless one encloses the other. Exchanges do overlap, so each is drawn in a lane,
 * which is a row of the picture: in the first lane that is free when the exchange begins. */
#include "trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text/json.h"

enum { MAX_LANES = 64, MOST_RANKS_LISTED = 30 };

static const char *const track_name[] = {"compute", "exchange", "loader"};
static_assert(sizeof track_name / sizeof *track_name == TUTTI_NTRACKS, "a name for each track, in their order");

typedef struct {
    const tutti_trace *trace;
    int64_t base_ns; /* time at which the earliest span begins */
    tutti_json json;
    tutti_strbuf group; /* text of a group of ranks: "[0, 1, 2, 3]" */
} printer;

/* Sorts enclosing spans before enclosed ones. */
static int by_time(const void *a, const void *b)
{
    const tutti_span *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int64_t earliest(const tutti_trace *t)
{
    int64_t base = INT64_MAX;
    for (int r = 0; r < t->nranks; r++)
        if (t->ranks[r].nspans && t->ranks[r].spans[0].begin_ns < base) base = t->ranks[r].spans[0].begin_ns;
    return base == INT64_MAX ? 0 : base;
}

static int thread_id(int track, int lane)
{
    return track == TUTTI_TRACK_COMPUTE ? 0 : (track - 1) * MAX_LANES + 1 + lane;
}

/* ---- events that name processes and threads ---- */

static void open_event(printer *p, const char *name, const char *phase, int pid, int tid)
{
    tutti_json *j = &p->json;
    tutti_strbuf_puts(j->out, j->need_comma ? ",\n" : "\n");
    j->need_comma = false;
    tutti_json_open(j, NULL, '{');
    tutti_json_text(j, "ph", phase);
    tutti_json_text(j, "name", name);
    tutti_json_int(j, "pid", pid);
    tutti_json_int(j, "tid", tid);
}

/* Writes a metadata event. what: "thread_name" and the like. The part after its underscore is the key of the value:
 * `text`, or if that is NULL, `number`. */
static void put_metadata(printer *p, const char *what, int pid, int tid, const char *text, int64_t number)
{
    const char *key = strchr(what, '_') + 1;
    tutti_json *j = &p->json;
    open_event(p, what, "M", pid, tid);
    tutti_json_int(j, "ts", 0);
    tutti_json_open(j, "args", '{');
    if (text)
        tutti_json_text(j, key, text);
    else
        tutti_json_int(j, key, number);
    tutti_json_close(j, '}');
    tutti_json_close(j, '}');
}

static void put_thread(printer *p, int pid, int track, int lane, bool alone)
{
    tutti_strbuf name = {0};
    const int tid = thread_id(track, lane);
    tutti_strbuf_puts(&name, track_name[track]);
    if (!alone) tutti_strbuf_printf(&name, " %d", lane);
    put_metadata(p, "thread_name", pid, tid, name.text, 0);
    put_metadata(p, "thread_sort_index", pid, tid, NULL, tid);
    tutti_strbuf_release(&name);
}

/* ---- spans ---- */

/* Writes microseconds with three decimals, so that no nanosecond is lost. */
static void put_us(tutti_json *j, const char *key, int64_t ns)
{
    tutti_strbuf_printf(j->out, ",\"%s\":%lld.%03lld", key, (long long)(ns / 1000), (long long)(ns % 1000));
}

/* Returns PyTorch's name for a type, or for a collective that takes and gives one tensor. */
static const char *torch_name(const char *ours)
{
    static const char *const names[][2] = {{"reduce-scatter", "_reduce_scatter_base"},
                                           {"all-gather", "_allgather_base"},
                                           {"f32", "Float"},
                                           {"bf16", "BFloat16"},
                                           {"f16", "Half"},
                                           {"i32", "Int"},
                                           {"u8", "Byte"},
                                           {"f64", "Double"},
                                           {"i64", "Long"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], ours)) return names[i][1];
    return ours;
}

/* Shortens long groups with "..." as PyTorch does, because readers know that. */
static void list_group(const int32_t *members, int n, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "[");
    for (int i = 0; i < n && i < MOST_RANKS_LISTED; i++)
        tutti_strbuf_printf(out, "%s%d", i ? ", " : "", members ? (int)members[i] : i);
    tutti_strbuf_puts(out, n > MOST_RANKS_LISTED ? ", ...]" : "]");
}

/* Writes the arguments of a collective, under the names of PyTorch's record_param_comms. */
static void put_collective(printer *p, const tutti_span_label *label, int rank)
{
    tutti_json *j = &p->json;
    tutti_strbuf some = {0};
    if (label->members) list_group(label->members, label->nmembers, &some);
    tutti_json_open(j, "args", '{');
    tutti_json_text(j, "Collective name", torch_name(label->collective));
    tutti_json_int(j, "In msg nelems", label->elements_in);
    tutti_json_int(j, "Out msg nelems", label->elements_out);
    tutti_json_int(j, "Group size", label->members ? label->nmembers : p->trace->nranks);
    tutti_json_text(j, "dtype", torch_name(label->type));
    tutti_json_text(j, "Process Group Name", "tutti");
    tutti_json_text(j, "Process Group Ranks", label->members ? some.text : p->group.text);
    tutti_json_int(j, "Rank", rank);
    tutti_json_text(j, "Algorithm", label->algorithm);
    tutti_json_close(j, '}');
    tutti_strbuf_release(&some);
}

static void put_span(printer *p, const tutti_span *s, int rank, int tid)
{
    const tutti_span_label *label = &p->trace->labels[s->label];
    const int64_t length = s->end_ns - s->begin_ns;
    tutti_strbuf name = {0};
    tutti_strbuf_puts(&name, label->name);
    if (label->numbered) tutti_strbuf_printf(&name, "#%d", (int)s->step);
    open_event(p, name.text, "X", rank, tid);
    tutti_json_text(&p->json, "cat", label->numbered || label->collective ? "user_annotation" : "cpu_op");
    put_us(&p->json, "ts", s->begin_ns - p->base_ns);
    put_us(&p->json, "dur", length > 0 ? length : 0);
    if (label->collective) put_collective(p, label, rank);
    tutti_json_close(&p->json, '}');
    tutti_strbuf_release(&name);
}

/* Takes the first lane that is free; if none is, the lane that becomes free first. */
static int take_lane(int64_t free_at[MAX_LANES], int *nlanes, const tutti_span *s)
{
    int lane = 0;
    for (int l = 0; l < *nlanes; l++) {
        if (free_at[l] <= s->begin_ns) {
            lane = l;
            break;
        }
        if (l == *nlanes - 1 && *nlanes < MAX_LANES)
            lane = *nlanes;
        else if (free_at[l] < free_at[lane])
            lane = l;
    }
    if (lane >= *nlanes) *nlanes = lane + 1;
    free_at[lane] = s->end_ns;
    return lane;
}

static void put_rank(printer *p, int r)
{
    const tutti_rank_spans *rank = &p->trace->ranks[r];
    int64_t free_at[TUTTI_NTRACKS][MAX_LANES];
    int nlanes[TUTTI_NTRACKS] = {0};
    put_metadata(p, "process_name", r, 0, rank->name, 0);
    put_metadata(p, "process_sort_index", r, 0, NULL, r);
    for (int64_t i = 0; i < rank->nspans; i++) {
        const tutti_span *s = &rank->spans[i];
        const int track = p->trace->labels[s->label].track;
        int lane = 0;
        if (track == TUTTI_TRACK_COMPUTE)
            nlanes[track] = 1;
        else
            lane = take_lane(free_at[track], &nlanes[track], s);
        put_span(p, s, r, thread_id(track, lane));
    }
    for (int track = 0; track < TUTTI_NTRACKS; track++)
        for (int lane = 0; lane < nlanes[track]; lane++)
            put_thread(p, r, track, lane, track == TUTTI_TRACK_COMPUTE || nlanes[track] == 1);
}

void tutti_chrome_trace_print(const tutti_trace *trace, tutti_strbuf *out)
{
    printer p = {.trace = trace, .json = {.out = out}};
    tutti_json *j = &p.json;
    for (int r = 0; r < trace->nranks; r++)
        qsort(trace->ranks[r].spans, (size_t)trace->ranks[r].nspans, sizeof(tutti_span), by_time);
    p.base_ns = earliest(trace);
    list_group(NULL, trace->nranks, &p.group);
    tutti_json_open(j, NULL, '{');
    tutti_json_int(j, "schemaVersion", 1);
    tutti_json_open(j, "deviceProperties", '[');
    tutti_json_close(j, ']');
    tutti_json_open(j, "distributedInfo", '{');
    tutti_json_text(j, "backend", "tutti");
    tutti_json_int(j, "rank", 0);
    tutti_json_int(j, "world_size", trace->nranks);
    tutti_json_close(j, '}');
    tutti_json_text(j, "displayTimeUnit", "ms");
    tutti_json_int(j, "baseTimeNanoseconds", trace->wall_ns + p.base_ns);
    tutti_json_open(j, "traceEvents", '[');
    for (int r = 0; r < trace->nranks; r++) put_rank(&p, r);
    tutti_json_close(j, ']');
    tutti_json_close(j, '}');
    tutti_strbuf_puts(out, "\n");
    tutti_strbuf_release(&p.group);
}
