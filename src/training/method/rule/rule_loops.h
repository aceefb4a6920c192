/* SPDX-License-Identifier: Apache-2.0 */
/* rule_loops.h: makes the loops of a rule from the arithmetic of one element. A rule's file includes this header once,
 * after it has defined
 *
 *   enum { NSTATES };
 *   static inline float step(const float *k, float w, float sum, float *state);
 *       returns the new w; state[NSTATES] is changed in place
 *
 * and, where the rule compares the norms of its tensors with those of something else than gradients,
 *
 *   static inline float measure(const float *k, float w, float sum, float *state);
 *       returns what the weight is compared with; state is a copy
 *   #define MEASURES
 *
 * RULE_LOOPS and RULE_MEASURES are the values for the rule's row. The arithmetic of one element is written once, and
 * the compiler makes vectors of it for each instruction set (../../tensor/isa.h). No loop fuses a multiplication with
 * an addition (the build forbids it), and square roots and quotients are rounded correctly, so that all loops, and all
 * their tails, give equal bits. */
#define ELEMENTS static inline __attribute__((always_inline))

/* Applies the rule to the elements of a slice. centre: NULL where w is not pulled towards it; each case has its own
 * compiled loop. */
ELEMENTS void elements(const float *numbers, const tutti_update_slice *s, const float *restrict centre)
{
    float *restrict w = s->w, *restrict first = s->state[0], *restrict second = s->state[1];
    const float *restrict sum = s->sum;
    const float pull = s->alpha;
    float k[TUTTI_RULE_MAX_NUMBERS]; /* a copy, to keep the constants in registers */
    for (int i = 0; i < TUTTI_RULE_MAX_NUMBERS; i++) k[i] = numbers[i];
    for (int64_t i = 0, n = s->n; i < n; i++) {
        float state[2] = {NSTATES > 0 ? tutti_relaxed_read(&first[i]) : 0,
                          NSTATES > 1 ? tutti_relaxed_read(&second[i]) : 0};
        const float old = tutti_relaxed_read(&w[i]), moved = step(k, old, sum[i], state);
        tutti_relaxed_write(&w[i], centre ? moved - pull * (old - centre[i]) : moved);
        if (NSTATES > 0) tutti_relaxed_write(&first[i], state[0]);
        if (NSTATES > 1) tutti_relaxed_write(&second[i], state[1]);
    }
}
_Static_assert((int)NSTATES <= (int)TUTTI_RULE_MAX_STATES, "a third state wants a third pointer in these loops");

ELEMENTS void all_elements(const float *numbers, const tutti_update_slice *s)
{
    if (s->centre)
        elements(numbers, s, s->centre);
    else
        elements(numbers, s, NULL);
}

#define APPLY(isa, target)                                                                                             \
    target static void apply_##isa(const float *numbers, const tutti_update_slice *s)                                  \
    {                                                                                                                  \
        all_elements(numbers, s);                                                                                      \
    }
TUTTI_ISA_EACH(APPLY)
#define RULE_LOOPS TUTTI_ISA_LIST(apply)

#ifdef MEASURES
ELEMENTS void all_measured(const float *numbers, const tutti_update_slice *s, float *restrict out)
{
    const float *restrict w = s->w, *restrict first = s->state[0], *restrict second = s->state[1];
    const float *restrict sum = s->sum;
    float k[TUTTI_RULE_MAX_NUMBERS];
    for (int i = 0; i < TUTTI_RULE_MAX_NUMBERS; i++) k[i] = numbers[i];
    for (int64_t i = 0, n = s->n; i < n; i++) {
        float state[2] = {NSTATES > 0 ? first[i] : 0, NSTATES > 1 ? second[i] : 0};
        out[i] = measure(k, w[i], sum[i], state);
    }
}

#define MEASURE(isa, target)                                                                                           \
    target static void measure_##isa(const float *numbers, const tutti_update_slice *s, float *out)                    \
    {                                                                                                                  \
        all_measured(numbers, s, out);                                                                                 \
    }
TUTTI_ISA_EACH(MEASURE)
#define RULE_MEASURES TUTTI_ISA_LIST(measure)
#endif
