/* SPDX-License-Identifier: Apache-2.0 */
/* update_loops.h: the rules of every row, included once by each row file after it has defined WIDTH (floats in a vector),
 * vector (of the compiler's vector extension) and loose (the same, unaligned). What is left over at the end goes through the
 * same lines in a vector of its own. */
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *from)
{
    return *(const loose *)(const void *)from;
}

INLINE void store(float *to, vector v)
{
    *(loose *)(void *)to = v;
}

/* The rule is a constant where this is called, so each becomes a loop of its own. */
INLINE void step(const tutti_update_call *c, tutti_rule rule, float *to_w, float *to_v, const float *from)
{
    const vector w = load(to_w), g = c->unscale * load(from) + c->decay * w;
    if (rule == TUTTI_RULE_SGD) {
        store(to_w, w - c->lr * g);
        return;
    }
    const vector v = c->mu * load(to_v) + g;
    store(to_v, v);
    store(to_w, w - c->lr * (rule == TUTTI_RULE_NESTEROV ? g + c->mu * v : v));
}

INLINE void apply_rule(const tutti_update_call *c, tutti_rule rule)
{
    float w[WIDTH] = {0}, v[WIDTH] = {0}, sum[WIDTH] = {0};
    const bool has_v = rule != TUTTI_RULE_SGD;
    int64_t i = 0;
    for (; i + WIDTH <= c->n; i += WIDTH) step(c, rule, c->w + i, has_v ? c->v + i : NULL, c->sum + i);
    const size_t left = (size_t)(c->n - i) * sizeof(float);
    if (!left) return;
    memcpy(w, c->w + i, left);
    if (has_v) memcpy(v, c->v + i, left);
    memcpy(sum, c->sum + i, left);
    step(c, rule, w, v, sum);
    memcpy(c->w + i, w, left);
    if (has_v) memcpy(c->v + i, v, left);
}

static void apply(const tutti_update_call *c)
{
    switch (c->rule) {
    case TUTTI_RULE_SGD: apply_rule(c, TUTTI_RULE_SGD); break;
    case TUTTI_RULE_MOMENTUM: apply_rule(c, TUTTI_RULE_MOMENTUM); break;
    case TUTTI_RULE_NESTEROV: apply_rule(c, TUTTI_RULE_NESTEROV); break;
    }
}
