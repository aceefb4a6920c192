/* SPDX-License-Identifier: Apache-2.0 */
/* update.c: applies a rule to a slice of the weights, and looks at slices for the norms of their tensors.
 *
 * Invariant: wherever a slice begins, each element is computed by the same multiplications and additions in the same
 * order (the build forbids fused multiply-adds). So another rank count, which cuts the vector into other slices, gives
 * the same bits. */
#include <math.h>

#include "../../../tensor/elementwise.h"
#include "rule.h"

void tutti_update_prepare(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind, float *numbers)
{
    for (int i = 0; i < TUTTI_RULE_MAX_NUMBERS; i++) numbers[i] = 0;
    u->rule->prepare(u, s, kind == TUTTI_PARAM_WEIGHT ? u->weight_decay : 0, numbers);
}

void tutti_update_run(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice)
{
    rule->loops[tutti_isa_here()](numbers, slice);
}

void tutti_update_apply(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind,
                        const tutti_update_slice *slice)
{
    float numbers[TUTTI_RULE_MAX_NUMBERS];
    tutti_update_prepare(u, s, kind, numbers);
    tutti_update_run(u->rule, numbers, slice);
}

/* ---- norms of tensors ---- */

/* elements of a buffer on the stack; sums are exact, so this number changes no norm */
enum { MEASURED_AT_ONCE = 8192 };

static bool measures(const tutti_rule_row *rule)
{
    return rule->measures[tutti_isa_here()];
}

static tutti_update_slice part_of(const tutti_update_slice *s, int64_t first, int64_t n)
{
    tutti_update_slice part = {.w = s->w + first, .sum = s->sum + first, .n = n};
    for (int i = 0; i < TUTTI_RULE_MAX_STATES; i++) part.state[i] = s->state[i] ? s->state[i] + first : NULL;
    return part;
}

static void look_at_measured(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice,
                             int64_t *looked)
{
    float out[MEASURED_AT_ONCE];
    for (int64_t at = 0; at < slice->n; at += MEASURED_AT_ONCE) {
        const int64_t left = slice->n - at, n = left < MEASURED_AT_ONCE ? left : MEASURED_AT_ONCE;
        const tutti_update_slice part = part_of(slice, at, n);
        rule->measures[tutti_isa_here()](numbers, &part, out);
        tutti_squares_add(out, n, looked);
    }
}

bool tutti_update_look(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice,
                       int64_t looked[TUTTI_RULE_LOOKED])
{
    tutti_squares_add(slice->w, slice->n, looked);
    if (!measures(rule)) return tutti_squares_add(slice->sum, slice->n, looked + TUTTI_SQUARES_LIMBS);
    look_at_measured(rule, numbers, slice, looked + TUTTI_SQUARES_LIMBS);
    return tutti_elementwise_is_finite(slice->sum, slice->n);
}

double tutti_update_trust(const tutti_update *u, const tutti_update_step *s, const int64_t numbers[TUTTI_RULE_LOOKED])
{
    const double weights = sqrt(tutti_squares_value(numbers));
    const double other = sqrt(tutti_squares_value(numbers + TUTTI_SQUARES_LIMBS));
    if (!(weights > 0 && other > 0)) return 1;
    return u->rule->trust(u, weights, measures(u->rule) ? other : other * s->unscale);
}

/* Updates statistics. With a momentum of 1 the old value is not used at all, so an old NaN disappears. */
void tutti_update_statistic(double momentum, int nslots, float *w, const float *sum, int64_t n)
{
    const float keep = (float)(1 - momentum), take = (float)momentum, slots = (float)nslots;
    if (momentum == 1)
        for (int64_t i = 0; i < n; i++) w[i] = sum[i] / slots;
    else
        for (int64_t i = 0; i < n; i++) w[i] = keep * w[i] + take * (sum[i] / slots);
}
