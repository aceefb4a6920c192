/* SPDX-License-Identifier: Apache-2.0 */
/* bench_update.c: bench_update WHAT N REPEATS: seconds of the fastest of so many updates of n weights, and of a loop
 * that moves the same bytes (see run). WHAT: a rule; a rule with +pull: and pulled to a centre; elastic, outer: the
 * moves of a centre. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "tensor/isa.h"
#include "training/method/rule/rule.h"

#if defined(__x86_64__)
#define EACH_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_ISA
#endif

/* What is timed. The update, a pull included, and the moves of a centre by it. */
typedef struct {
    tutti_update update;
    tutti_update_slice slice;
    bool elastic, outer, looks;
} timed;

/* Every vector that is written is read and written, the others are read: what an update cannot do without. */
EACH_ISA static void move(const float *restrict sum, const float *restrict centre, float *const *written, int nwritten,
                          int64_t n)
{
    float *restrict w = written[0], *restrict a = nwritten > 1 ? written[1] : NULL,
                    *restrict b = nwritten > 2 ? written[2] : NULL;
    if (nwritten == 1 && centre)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i] + centre[i];
    else if (nwritten == 1)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i];
    else if (nwritten == 2 && centre)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i] + centre[i], a[i] += sum[i];
    else if (nwritten == 2)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i], a[i] += sum[i];
    else if (centre)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i] + centre[i], a[i] += sum[i], b[i] += sum[i];
    else if (sum)
        for (int64_t i = 0; i < n; i++) w[i] += sum[i], a[i] += sum[i], b[i] += sum[i];
    else
        for (int64_t i = 0; i < n; i++) w[i] += 1, a[i] += 1, b[i] += 1;
}

static void look(const timed *t, const tutti_update_step *step)
{
    float numbers[TUTTI_RULE_MAX_NUMBERS];
    tutti_update_prepare(&t->update, step, TUTTI_PARAM_WEIGHT, numbers);
    tutti_update_look(t->update.rule, numbers, &t->slice, (int64_t[TUTTI_RULE_LOOKED]){0});
}

static void play(const timed *t, bool moves)
{
    static const tutti_update_step step = {.lr = 1e-6, .unscale = 1, .trust = 1, .nupdates = 10};
    static const tutti_centre rule = {.outer_rate = 0.7, .outer_mu = 0.9};
    const tutti_update_slice *s = &t->slice;
    float *const written[] = {s->w, s->state[0], s->state[1]};
    if (moves)
        move(t->outer ? NULL : s->sum, s->centre, written,
             t->outer     ? 3
             : t->elastic ? 1
                          : 1 + t->update.rule->nstates,
             s->n);
    else if (t->looks)
        look(t, &step);
    else if (t->elastic)
        tutti_elements_run(&(tutti_elements){.loop = tutti_action_row_of(TUTTI_DO_ELASTIC)->loop,
                                             .alpha = 0.1f,
                                             .nworkers = 4,
                                             .to = s->w,
                                             .from = (float *)s->sum,
                                             .n = s->n});
    else if (t->outer)
        tutti_elements_run(&(tutti_elements){.loop = tutti_action_row_of(TUTTI_DO_OUTER)->loop,
                                             .rule = rule,
                                             .to = s->w,
                                             .other = s->state[0],
                                             .from = s->state[1],
                                             .n = s->n});
    else
        tutti_update_apply(&t->update, &step, TUTTI_PARAM_WEIGHT, s);
}

static double fastest(const timed *t, bool moves, int repeats)
{
    const int inner = t->slice.n < 1 << 20 ? 50 : 1;
    double best = 1e9;
    for (int r = 0; r < repeats; r++) {
        const double begin = tutti_clock_s();
        for (int i = 0; i < inner; i++) play(t, moves);
        const double seconds = (tutti_clock_s() - begin) / inner;
        best = seconds < best ? seconds : best;
    }
    return best;
}

/* false: there is no such thing. */
static bool read_what(const char *what, timed *t, bool *pulled)
{
    char rule[32];
    const size_t n = strcspn(what, "+");
    snprintf(rule, sizeof rule, "%.*s", (int)n, what);
    *pulled = !strcmp(what + n, "+pull");
    t->looks = !strcmp(what + n, "+look");
    t->elastic = !strcmp(what, "elastic");
    t->outer = !strcmp(what, "outer");
    t->update.rule = tutti_rule_find(t->elastic || t->outer ? "adamw" : rule);
    if (t->looks && t->update.rule && !t->update.rule->trust) return false;
    return t->update.rule && (*pulled || t->looks || !what[n]);
}

int main(int argc, char **argv)
{
    timed t = {.update = {.weight_decay = 1e-4}};
    bool pulled = false;
    const bool good = argc == 4 && read_what(argv[1], &t, &pulled);
    tutti_update_slice *s = &t.slice;
    s->n = argc == 4 ? strtoll(argv[2], NULL, 10) : 0;
    const int repeats = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (!good || s->n < 1 || repeats < 1) {
        fprintf(stderr, "usage: bench_update RULE[+pull|+look]|elastic|outer N REPEATS\n");
        return 2;
    }
    for (int i = 0; i < TUTTI_RULE_MAX_KEYS && t.update.rule->keys[i]; i++)
        t.update.value[i] = tutti_rule_key_initial(t.update.rule->keys[i]);
    tutti_arena arena = {0};
    const size_t nbytes = (size_t)s->n * sizeof(float);
    float *sum = tutti_arena_alloc(&arena, nbytes);
    s->w = tutti_arena_alloc(&arena, nbytes);
    for (int i = 0; i < t.update.rule->nstates; i++) s->state[i] = tutti_arena_alloc(&arena, nbytes);
    for (int64_t i = 0; i < s->n; i++) sum[i] = 1e-3f * (float)(i % 1000 - 500);
    s->sum = sum;
    s->centre = pulled ? tutti_arena_alloc(&arena, nbytes) : NULL;
    s->alpha = pulled ? 0.1f : 0;
    const int streams = t.elastic ? 3 : t.outer ? 6 : 3 + 2 * t.update.rule->nstates + pulled;
    const double moved = fastest(&t, true, repeats), updated = fastest(&t, false, repeats);
    printf("{\"update_s\": %.9g, \"move_s\": %.9g, \"bytes\": %d, \"isa\": \"%s\"}\n", updated, moved, 4 * streams,
           tutti_isa_name(tutti_isa_here()));
    tutti_arena_release(&arena);
    return 0;
}
