/* SPDX-License-Identifier: Apache-2.0 */
/* rule_loops.h: the loops of a rule, included once by its file after it has defined
 *
 *   enum { NSTATES };
 *   static inline float step(const float *k, float w, float sum, float *state);    the new w; state[NSTATES] is changed in place
 *
 * One element's arithmetic stands there once. The compiler makes vectors of it for each instruction set; where there is none to be named,
 * for what every processor of its kind has. No loop fuses a multiplication with an addition (the build forbids it), and square roots and
 * quotients are rounded correctly, so all of them, and all their tails, give equal bits. */
#define ELEMENTS static inline __attribute__((always_inline))

ELEMENTS void elements(const float *numbers, float *restrict w, float *restrict first, float *restrict second,
                       const float *restrict sum, int64_t n)
{
    float k[TUTTI_RULE_MAX_NUMBERS]; /* registers: nothing that is stored can change them */
    for (int i = 0; i < TUTTI_RULE_MAX_NUMBERS; i++) k[i] = numbers[i];
    for (int64_t i = 0; i < n; i++) {
        float state[2] = {NSTATES > 0 ? first[i] : 0, NSTATES > 1 ? second[i] : 0};
        w[i] = step(k, w[i], sum[i], state);
        if (NSTATES > 0) first[i] = state[0];
        if (NSTATES > 1) second[i] = state[1];
    }
}
_Static_assert((int)NSTATES <= (int)TUTTI_RULE_MAX_STATES, "a third state wants a third pointer in these loops");

static void apply_generic(const float *numbers, const tutti_update_slice *s)
{
    elements(numbers, s->w, s->state[0], s->state[1], s->sum, s->n);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void apply_avx2(const float *numbers, const tutti_update_slice *s)
{
    elements(numbers, s->w, s->state[0], s->state[1], s->sum, s->n);
}

__attribute__((target("avx512f"))) static void apply_avx512(const float *numbers, const tutti_update_slice *s)
{
    elements(numbers, s->w, s->state[0], s->state[1], s->sum, s->n);
}

static const tutti_rule_loop loops[] = {{"avx512", apply_avx512}, {"avx2", apply_avx2}, {"generic", apply_generic}};
#else
static const tutti_rule_loop loops[] = {{"generic", apply_generic}};
#endif
enum { NLOOPS = sizeof loops / sizeof *loops };
