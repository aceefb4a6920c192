/* SPDX-License-Identifier: Apache-2.0 */
/* coll_explain_file.c: `tutti coll explain FILE`: how long an imported program, or a schedule in text form, would take on a topology, beside
 * the best algorithm of the table. Nothing is proved here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/json.h"
#include "../../collective/compile/algorithms.h"
#include "../../collective/simulate/choose/choose.h"
#include "coll.h"
#include "coll_explain.h"
#include "tutti/lower.h"

enum { MOST_FIGURES = 1 << 24 };

/* A file may say any stage; what is timed keeps figures of each rank in each of them. */
static tutti_status check_stages(const tutti_schedule *s, const char *path, tutti_failure *err)
{
    int32_t last = 0;
    for (int32_t r = 0; r < tutti_schedule_head(s)->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        for (int32_t i = 0; i < part.nsteps; i++) last = part.steps[i].stage > last ? part.steps[i].stage : last;
        tutti_part_release(&part);
    }
    if ((last + 1LL) * tutti_schedule_head(s)->nranks <= MOST_FIGURES) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d stages of %d ranks are more than can be timed", path, (int)last + 1,
                      tutti_schedule_head(s)->nranks);
}

/* Where ranks map each other's memory, what runs is lowered for that. */
static tutti_status simulate(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_simulation *out,
                             tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    tutti_schedule *lowered = NULL;
    bool maps = false;
    tutti_topology_hosts(t, nranks, host_of);
    for (int32_t r = 0; r < nranks; r++) maps |= host_of[r] != r;
    const bool lowers =
        tutti_schedule_head(s)->wire == TUTTI_WIRE_TWO_SIDED && (maps || t->kind == TUTTI_TOPOLOGY_HOST);
    tutti_status st = lowers ? tutti_schedule_lower_hosts(s, host_of, &lowered, err) : TUTTI_OK;
    if (!st) st = tutti_simulate_schedule(lowered ? lowered : s, t, n, out, err);
    tutti_schedule_destroy(lowered);
    free(host_of);
    return st;
}

static void print_json(const char *path, const tutti_schedule_header *h, const tutti_simulation *s,
                       const tutti_candidate *best, const tutti_bounds *b)
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "file", path);
    tutti_json_text(&j, "collective", tutti_collective_name(h->collective));
    tutti_json_int(&j, "ranks", h->nranks);
    tutti_json_real(&j, "seconds", s->seconds);
    tutti_json_real(&j, "lower_s", s->lower_s);
    tutti_json_real(&j, "latency_s", s->latency_s);
    tutti_json_real(&j, "transfer_s", s->transfer_s);
    tutti_json_real(&j, "local_s", s->local_s);
    tutti_json_int(&j, "rounds", s->nrounds);
    tutti_json_int(&j, "messages", s->nmessages);
    tutti_json_text(&j, "bottleneck", s->bottleneck < 0 ? NULL : s->bottleneck_name);
    tutti_json_real(&j, "bottleneck_busy", s->bottleneck_busy);
    tutti_json_text(&j, "best_algorithm", best ? best->algorithm : NULL);
    if (best) tutti_json_real(&j, "best_algorithm_s", best->sim.seconds);
    tutti_json_real(&j, "bound_s", b->best_s);
    tutti_json_close(&j, '}');
    puts(out.text);
    tutti_strbuf_release(&out);
}

void tutti_coll_print_times(const char *name, int width, const tutti_simulation *s)
{
    printf("%-*s %11s %11s %11s %11s %11s %7d %9lld  %s %.0f%%", width, name, tutti_time_words(s->seconds).text,
           tutti_time_words(s->latency_s).text, tutti_time_words(s->transfer_s).text, tutti_time_words(s->local_s).text,
           tutti_time_words(s->lower_s).text, (int)s->nrounds, (long long)s->nmessages,
           s->bottleneck < 0 ? "-" : s->bottleneck_name, 100 * s->bottleneck_busy);
}

static void print(const char *path, const tutti_schedule_header *h, int64_t bytes, const tutti_topology *t,
                  const tutti_simulation *s, const tutti_candidate *best, const tutti_bounds *b)
{
    char *described = tutti_topology_describe(t);
    const int own = (int)strlen(path), other = best ? (int)strlen(best->algorithm) : 0;
    const int width = own > other ? own : other;
    printf("%s: %s of %lld bytes over %d ranks, timed as it is, not proved: tutti coll check\n%s\n", path,
           tutti_collective_name(h->collective), (long long)bytes, h->nranks, described);
    printf("%-*s %11s %11s %11s %11s %11s %7s %9s  %s\n", width, "", "predicted", "latency", "transfer", "local",
           "at least", "rounds", "messages", "busiest");
    tutti_coll_print_times(path, width, s);
    printf("\n");
    if (best) tutti_coll_print_times(best->algorithm, width, &best->sim);
    printf(best ? "\n\n" : "\n");
    if (best && best->sim.seconds > 0)
        printf("It takes %.3f times as long as %s, the fastest of the table.\n", s->seconds / best->sim.seconds,
               best->algorithm);
    if (b->best_s > 0) printf("It takes %.3f times the best bound (%s).\n", s->seconds / b->best_s, b->best);
    printf("Not in the model: packets, congestion control, other users of the machine.\n");
    free(described);
}

/* What no file goes with. */
static tutti_status refuse(const tutti_flags *f, const char *path, tutti_failure *err)
{
    static const char *const others[] = {"ranks", "collective", "ranges", "policy", "max-fan-in", "svg"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tutti_cli_has(f, others[i]))
            return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for all algorithms; %s is one", others[i], path);
    if (tutti_algorithm_find(path))
        return tutti_fail(err, TUTTI_ERR_USAGE, "all algorithms are timed without a name; '%s' is one of them", path);
    return TUTTI_OK;
}

tutti_status tutti_coll_explain_file(const tutti_flags *f, int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    const char *path = f->rest[0];
    const tutti_flags nothing = {.flags = f->flags, .nflags = f->nflags};
    tutti_coll_schedule s = {0};
    tutti_simulation timed = {.bottleneck = -1};
    tutti_status st = refuse(f, path, err);
    if (!st) st = tutti_coll_open(path, &nothing, &s, err);
    if (st) return st;
    const tutti_schedule_header *h = tutti_schedule_head(s.schedule);
    tutti_topology grown = *t;
    tutti_topology_grow(&grown, h->nranks);
    t = &grown;
    const int64_t n = bytes * (h->collective == TUTTI_ALL_TO_ALL ? h->nranks : 1) / TUTTI_ELEMENT_BYTES;
    st = tutti_topology_fits(t, h->nranks, err);
    if (!st) st = check_stages(s.schedule, path, err);
    if (!st) st = simulate(s.schedule, t, n, &timed, err);
    if (!st) {
        const tutti_compile_request q = {
            .collective = h->collective, .nranks = h->nranks, .root = h->root, .in_place = h->in_place};
        tutti_choice *choice = tutti_alloc(sizeof *choice);
        tutti_choose_by(tutti_policy_at(0), tutti_cli_has(f, "all") ? 0 : TUTTI_CHOOSE_STEPS, &q, n, t, choice);
        const tutti_candidate *best = choice->best < 0 ? NULL : &choice->candidates[choice->best];
        if (tutti_cli_has(f, "json"))
            print_json(path, h, &timed, best, &choice->bounds);
        else
            print(path, h, bytes, t, &timed, best, &choice->bounds);
        free(choice);
    }
    tutti_coll_close(&s);
    return st;
}
