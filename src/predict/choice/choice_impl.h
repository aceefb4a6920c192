/* SPDX-License-Identifier: Apache-2.0 */
/* choice_impl.h: functions of choice.c and choice_shared.c that the two share. Threads: any (pure functions). */
#ifndef TUTTI_CHOICE_IMPL_H
#define TUTTI_CHOICE_IMPL_H

#include "choice.h"

/* Searches plans of the question's graph; q->memory must be set. brief: predicts only the plan by the fixed rule
 * (`exchange.algorithm: rule`), is_chosen stays false, and out->step_s is INFINITY if that plan cannot be predicted.
 * The caller releases *out unless the search fails. */
tutti_status tutti_choice_search(const tutti_choice_question *q, bool brief, tutti_exchange_choice *out,
                                 tutti_failure *err);
/* Replaces *out, the best plan in which no layer is shared, by a plan in which groups of ranks share layers, if such a
 * plan is faster by more than the margin. q->memory must be set. */
void tutti_choice_share(const tutti_choice_question *q, tutti_exchange_choice *out);

#endif
