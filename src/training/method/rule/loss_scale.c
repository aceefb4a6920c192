/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scale.c: raises and lowers the loss scale, by whether gradients were finite. Scales are powers of two, so that
 * scaling rounds nothing. */
#include <math.h>

#include "../method.h"

/* exponent of the largest scale, a power of two; with more, f16 could not hold a scaled gradient above 2^-8 */
enum { LARGEST_EXPONENT = 24 };

tutti_loss_scale_state tutti_loss_scale_begin(const tutti_loss_scale *l)
{
    return (tutti_loss_scale_state){.scale = l->start};
}

void tutti_loss_scale_step(const tutti_loss_scale *l, bool skipped, tutti_loss_scale_state *s)
{
    s->skipped += skipped;
    if (!l->dynamic) return;
    s->clean_steps = skipped ? 0 : s->clean_steps + 1;
    if (skipped && s->scale > 1) s->scale /= 2;
    if (s->clean_steps < l->interval) return;
    s->clean_steps = 0;
    if (s->scale < ldexp(1, LARGEST_EXPONENT)) s->scale *= 2;
}
