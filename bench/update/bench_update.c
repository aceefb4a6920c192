/* SPDX-License-Identifier: Apache-2.0 */
/* bench_update.c: bench_update RULE N REPEATS: seconds of the fastest of so many updates of n weights, and of a loop that moves the same
 * bytes (see run). */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "tensor/elementwise.h"
#include "training/method/rule.h"

#if defined(__x86_64__)
#define EACH_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_ISA
#endif

/* Every vector that the rule writes is read and written, the gradients are read: what an update cannot do without. */
EACH_ISA static void move(const tutti_update_slice *s, int nstates)
{
    float *restrict w = s->w, *restrict a = nstates > 0 ? s->state[0] : NULL,
                    *restrict b = nstates > 1 ? s->state[1] : NULL;
    const float *restrict sum = s->sum;
    if (nstates == 0)
        for (int64_t i = 0; i < s->n; i++) w[i] += sum[i];
    else if (nstates == 1)
        for (int64_t i = 0; i < s->n; i++) w[i] += sum[i], a[i] += sum[i];
    else
        for (int64_t i = 0; i < s->n; i++) w[i] += sum[i], a[i] += sum[i], b[i] += sum[i];
}

static double fastest(const tutti_update *u, const tutti_update_slice *s, bool moves, int repeats)
{
    const tutti_update_step step = {.lr = 1e-6, .unscale = 1, .nupdates = 10};
    const int inner = s->n < 1 << 20 ? 50 : 1;
    double best = 1e9;
    for (int r = 0; r < repeats; r++) {
        const double begin = tutti_clock_s();
        for (int i = 0; i < inner; i++) {
            if (moves)
                move(s, u->rule->nstates);
            else
                tutti_update_apply(u, &step, TUTTI_PARAM_WEIGHT, s);
        }
        const double seconds = (tutti_clock_s() - begin) / inner;
        best = seconds < best ? seconds : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    tutti_update u = {.rule = argc == 4 ? tutti_rule_find(argv[1]) : NULL, .weight_decay = 1e-4};
    tutti_update_slice s = {.n = argc == 4 ? strtoll(argv[2], NULL, 10) : 0};
    const int repeats = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (!u.rule || s.n < 1 || repeats < 1) {
        fprintf(stderr, "usage: bench_update RULE N REPEATS\n");
        return 2;
    }
    for (int i = 0; i < TUTTI_RULE_MAX_KEYS && u.rule->keys[i]; i++)
        u.value[i] = strtod(u.rule->keys[i]->initial, NULL);
    tutti_arena arena = {0};
    const size_t nbytes = (size_t)s.n * sizeof(float);
    float *sum = tutti_arena_alloc(&arena, nbytes);
    s.w = tutti_arena_alloc(&arena, nbytes);
    for (int i = 0; i < u.rule->nstates; i++) s.state[i] = tutti_arena_alloc(&arena, nbytes);
    for (int64_t i = 0; i < s.n; i++) sum[i] = 1e-3f * (float)(i % 1000 - 500);
    s.sum = sum;
    const double moved = fastest(&u, &s, true, repeats), updated = fastest(&u, &s, false, repeats);
    printf("{\"update_s\": %.9g, \"move_s\": %.9g, \"nstates\": %d, \"isa\": \"%s\"}\n", updated, moved,
           u.rule->nstates, tutti_elementwise_isa());
    tutti_arena_release(&arena);
    return 0;
}
