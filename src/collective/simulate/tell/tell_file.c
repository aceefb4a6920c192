/* SPDX-License-Identifier: Apache-2.0 */
/* tell_file.c: predicts an imported program or a schedule in text form, and prints it beside the best algorithm of the
 * table. Nothing is proved here. */
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/text/json.h"
#include "tell_choice.h"
#include "tutti/lower.h"

enum { MOST_FIGURES = 1 << 24 };

/* Checks the stages: a file may name any stage, and timing keeps figures of each rank for each stage. */
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

/* Simulates the schedule, lowered if ranks map each other's memory. */
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

static void tell_json(const tutti_tell_program *p, const tutti_simulation *s, const tutti_candidate *best,
                      const tutti_bounds *b, tutti_strbuf *out)
{
    const tutti_schedule_header *h = tutti_schedule_head(p->schedule);
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "file", p->path);
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
    tutti_strbuf_puts(out, "\n");
}

static void tell_words(const tutti_tell_program *p, const tutti_simulation *s, const tutti_candidate *best,
                       const tutti_bounds *b, tutti_strbuf *out)
{
    const tutti_schedule_header *h = tutti_schedule_head(p->schedule);
    const char *path = p->path;
    char *described = tutti_topology_describe(p->t);
    const int own = (int)strlen(path), other = best ? (int)strlen(best->algorithm) : 0;
    const int width = own > other ? own : other;
    tutti_strbuf_printf(out, "%s: %s of %lld bytes over %d ranks, timed as it is, not proved: tutti coll check\n%s\n",
                        path, tutti_collective_name(h->collective), (long long)p->bytes, h->nranks, described);
    tutti_tell_heads("", width, out);
    tutti_tell_row(path, width, s, out);
    tutti_strbuf_printf(out, "\n");
    if (best) tutti_tell_row(best->algorithm, width, &best->sim, out);
    tutti_strbuf_puts(out, best ? "\n\n" : "\n");
    if (best && best->sim.seconds > 0)
        tutti_strbuf_printf(out, "It takes %.3f times as long as %s, the fastest of the table.\n",
                            s->seconds / best->sim.seconds, best->algorithm);
    if (b->best_s > 0)
        tutti_strbuf_printf(out, "It takes %.3f times the best bound (%s).\n", s->seconds / b->best_s, b->best);
    tutti_strbuf_printf(out, "Not in the model: packets, congestion control, other users of the machine.\n");
    free(described);
}

tutti_status tutti_tell_file(const tutti_tell_program *program, tutti_strbuf *out, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(program->schedule);
    tutti_tell_program p = *program;
    tutti_topology grown = *p.t;
    tutti_simulation timed = {.bottleneck = -1};
    tutti_topology_grow(&grown, h->nranks);
    p.t = &grown;
    const int64_t n = p.bytes * (h->collective == TUTTI_ALL_TO_ALL ? h->nranks : 1) / TUTTI_ELEMENT_BYTES;
    tutti_status st = tutti_topology_fits(p.t, h->nranks, err);
    if (!st) st = check_stages(p.schedule, p.path, err);
    if (!st) st = simulate(p.schedule, p.t, n, &timed, err);
    if (st) return st;
    const tutti_compile_request q = {
        .collective = h->collective, .nranks = h->nranks, .root = h->root, .in_place = h->in_place};
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_choose_by(tutti_policy_at(0), p.most_steps, &q, n, p.t, choice);
    const tutti_candidate *best = choice->best < 0 ? NULL : &choice->candidates[choice->best];
    (p.json ? tell_json : tell_words)(&p, &timed, best, &choice->bounds, out);
    free(choice);
    return TUTTI_OK;
}
