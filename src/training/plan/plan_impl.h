/* SPDX-License-Identifier: Apache-2.0 */
/* plan_impl.h: the parts of a plan under construction, in the order in which tutti_plan_build calls them. */
#ifndef TUTTI_PLAN_IMPL_H
#define TUTTI_PLAN_IMPL_H

#include "plan.h"

/* Exchange order, packed offsets, buckets without schedules (buckets.c). */
void tutti_plan_pack_params(tutti_plan *p);
/* Compiles and lowers the schedules of all buckets (plan_schedules.c). */
tutti_status tutti_plan_compile_schedules(tutti_plan *p, tutti_failure *err);
void tutti_plan_destroy_schedules(tutti_plan *p);
/* This rank for itself, which is too much to ask beyond 256 of them: then it only hashes. */
tutti_status tutti_plan_prove_alone(tutti_plan *p, tutti_failure *err);
/* Fills in tutti_bucket.turn (actions.c). */
void tutti_plan_find_turns(tutti_plan *p);
/* What merged by costs expects, for people; nothing where buckets were merged by size (plan_times.c). */
void tutti_plan_print_times(const tutti_plan *p, tutti_strbuf *sb);
/* Roots and gradient buffers over all ranks (actions.c). */
void tutti_plan_count_buffers(tutti_plan *p);

#endif
