/* SPDX-License-Identifier: Apache-2.0 */
/* compile_dissemination.c: dissemination: the barrier of Hensgen, Finkel and Manber (1988): in round s rank r signals
 * rank r + 2^s, so that after ceil(lg p) rounds every rank has heard, directly or through others, from all ranks. With
 * radix k it signals r + j k^s for j = 1 .. k-1 (Hoefler et al. 2006): fewer rounds, more messages in each; distances
 * of p or more are left out.
 *
 * Why two invocations do not race: no data moves, messages are only counted, and all distances differ, so each pair has
 * a channel that it uses once per invocation. A rank signals only after it has heard all of the round before. */
#include "../compile_impl.h"

static void dissemination_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    int32_t p = q->nranks, radix = q->param[0], heard = -1, stage = 0;
    tutti_compile_buffers(q, r, b);
    for (int64_t distance = 1; distance < p; distance *= radix, stage++) {
        const tutti_message send = {.stage = stage, .hint = TUTTI_HINT_NO_ACK, .when = stage ? 0 : TUTTI_WHEN_READY};
        const tutti_message recv = {.sequence = 1, .stage = stage, .hint = TUTTI_HINT_NO_ACK};
        int32_t told = heard;
        for (int32_t j = 1; j < radix && j * distance < p; j++) {
            int32_t to = tutti_rank_at(q, r + j * distance);
            tutti_compile_send(b, &send, tutti_compile_nothing(r), tutti_compile_nothing(to));
            if (j == 1 && told >= 0) tutti_part_dep(b, told);
        }
        for (int32_t j = 1; j < radix && j * distance < p; j++) {
            int32_t from = tutti_rank_at(q, r - j * distance);
            heard = tutti_compile_recv(b, &recv, tutti_compile_nothing(r), tutti_compile_nothing(from));
        }
    }
}

const tutti_algorithm tutti_algorithm_dissemination = {
    .name = "dissemination",
    .summary = "barrier: rank r tells r + 2^s: ceil(lg p) rounds",
    .collectives = 1u << TUTTI_BARRIER,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .part = dissemination_part,
    .parameters = {{"radix", 2, 2, 64, "k: in a round each rank tells k - 1 others"}},
    .variants = {"radix=4", "radix=8"},
};
