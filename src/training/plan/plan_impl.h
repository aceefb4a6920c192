/* SPDX-License-Identifier: Apache-2.0 */
/* plan_impl.h: what the files of the plan share: its parts under construction, in the order in which tutti_plan_build
 * calls them. */
#ifndef TUTTI_PLAN_IMPL_H
#define TUTTI_PLAN_IMPL_H

#include "plan_builder.h"

/* Exchange order, packed offsets, buckets (buckets.c). TUTTI_ERR_USAGE: config.cut is of another number of
 * parameters. */
tutti_status tutti_plan_pack_params(tutti_plan *p, tutti_failure *err);
/* The bucket that a parameter travels in; TUTTI_CONTROL_BUCKET for control numbers, TUTTI_NO_BUCKET for frozen
 * parameters. */
int tutti_plan_bucket_of(const tutti_plan *p, int param);
const tutti_bucket *tutti_plan_bucket_at(const tutti_plan *p, int bucket);
/* Fills in tutti_bucket.turn (plan_walk.c). */
void tutti_plan_find_turns(tutti_plan *p);
/* Roots and copies over all ranks (plan_walk.c). */
void tutti_plan_count_copies(tutti_plan *p);
/* Memories, schedules, exchanges, as the method declares them (plan_builder.c). */
tutti_status tutti_plan_declare(tutti_plan *p, tutti_failure *err);
/* Compiles and lowers (plan_schedules.c). members: NULL: all, which nmembers says too. algorithm: NULL: as "auto". */
tutti_status tutti_plan_make_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err);
/* Of "auto": from how many bytes on such an exchange goes by ring; INT64_MAX: never. */
int64_t tutti_plan_ring_from(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members, int nmembers);
/* Whether sums by the configuration's algorithm are of groups' sums, which are what is rounded to travel. */
bool tutti_plan_rounds_groups(const tutti_plan_config *c);
/* The same from the configuration's shelf, where it has one: what lies there is not released with the plan. */
tutti_status tutti_plan_take_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err);
void tutti_plan_destroy_schedules(tutti_plan *p);
/* This rank for itself, which is too much to ask beyond 256 of them: then it only hashes. */
tutti_status tutti_plan_prove_alone(tutti_plan *p, tutti_failure *err);
/* Members (plan_members.c). The rank that is asked about an exchange: the plan's own if it is a member, else the first
 * one. */
int tutti_plan_spokesman(const tutti_plan *p, const tutti_plan_exchange *x);
bool tutti_plan_is_spokesman(const tutti_plan *p, int rank); /* of some exchange; the plan's own rank in any case */
void tutti_plan_print_members(const tutti_plan_exchange *x, tutti_strbuf *sb);
/* Lists that are none of members, and actions on exchanges in which the rank takes no part. */
tutti_status tutti_plan_check_members(const tutti_plan *p, tutti_failure *err);
tutti_status tutti_plan_check_actions(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                      tutti_failure *err);
/* What a rank may do with common memories, and when (plan_visits.c); of all ranks: that they visit equally often, where
 * that must be. */
tutti_status tutti_plan_check_visits(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                     tutti_failure *err);
tutti_status tutti_plan_check_all_visits(const tutti_plan *p, tutti_failure *err);
/* That what ranks that share a layer hand each other is what its kernels want, and whose it is (plan_split.c). */
tutti_status tutti_plan_check_split(const tutti_plan *p, tutti_failure *err);
/* That ranks, modes and batch go with the graph's split layers. */
tutti_status tutti_plan_accept_split(const tutti_plan *p, tutti_failure *err);
/* Who shares which layers, and what that saves; nothing where nobody does. */
void tutti_plan_print_split(const tutti_plan *p, tutti_strbuf *sb);
/* What a part that serves a worker of another host may do (plan_serve.c); and that it and the worker take turns. */
tutti_status tutti_plan_check_parts(const tutti_plan *p, const tutti_loop loops[TUTTI_NDRIVERS], tutti_failure *err);
tutti_status tutti_plan_check_served(const tutti_plan *p, tutti_failure *err);
/* Memories that an action touches, by itself; returns how many. */
enum { TUTTI_MOST_TOUCHED = 2 * TUTTI_MOST_ACTION_FLOWS };
int tutti_plan_touched(const tutti_plan *p, const tutti_action *a, int out[TUTTI_MOST_TOUCHED]);
/* "rank 0, each step: 'update bucket 0' touches .."; a: NULL = no action. */
tutti_status tutti_plan_refuse(const tutti_plan *p, int rank, tutti_loop_driver driver, const tutti_action *a,
                               const char *why, tutti_failure *err);
/* That the norms which updates go by are of all elements (plan_looks.c). */
tutti_status tutti_plan_check_looks(const tutti_plan *p, tutti_failure *err);
/* That what was rounded to travel is summed once, in f32, and nothing else reads it (plan_types.c). */
tutti_status tutti_plan_check_types(const tutti_plan *p, tutti_failure *err);
/* Fills in tutti_plan.is_paced, tutti_plan.other_loops and tutti_plan_exchange.drivers. */
void tutti_plan_find_drivers(tutti_plan *p);
/* What merged by costs expects, for people; nothing where buckets were merged by size (plan_times.c). */
void tutti_plan_print_times(const tutti_plan *p, tutti_strbuf *sb);
/* "update fc1.weight"; "start gradients of bucket 0 (ready, free)" (plan_text.c). */
void tutti_plan_print_action(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb);

/* ---- what the files of the builder share ---- */

struct tutti_plan_builder {
    tutti_plan *plan; /* declaring: is filled in; listing: is read */
    int rank;
    tutti_loop *loops;                               /* listing: TUTTI_NDRIVERS of them */
    tutti_loop_driver driver;                        /* listing: the one that is added to */
    int worker;                                      /* listing: whose part it is, in the loop of arrivals; else 0 */
    tutti_action_steps steps;                        /* listing: in which steps what is added is done */
    void (*travel)(tutti_plan_builder *b, int node); /* listing: NULL = nothing */
    int capacity[TUTTI_NDRIVERS];
    int nmemories, nschedules, npairs, nexchanges; /* declaring: for how many there is room */
};
void tutti_builder_add(tutti_plan_builder *b, tutti_action a);

#endif
