/* SPDX-License-Identifier: Apache-2.0 */
/* plan_impl.h: declarations that the files of the plan share: its parts under construction, in the order in which
 * tutti_plan_build calls them. */
#ifndef TUTTI_PLAN_IMPL_H
#define TUTTI_PLAN_IMPL_H

#include "plan_builder.h"

/* Finds the exchange order, packed offsets and buckets (buckets.c). TUTTI_ERR_USAGE: config.cut is for another number
 * of parameters. */
tutti_status tutti_plan_pack_params(tutti_plan *p, tutti_failure *err);
/* Returns the bucket that a parameter is exchanged in; TUTTI_CONTROL_BUCKET for control numbers, TUTTI_NO_BUCKET for
 * frozen parameters. */
int tutti_plan_bucket_of(const tutti_plan *p, int param);
const tutti_bucket *tutti_plan_bucket_at(const tutti_plan *p, int bucket);
/* Fills in tutti_bucket.turn (plan_walk.c). */
void tutti_plan_find_turns(tutti_plan *p);
/* Counts roots and copies over all ranks (plan_walk.c). */
void tutti_plan_count_copies(tutti_plan *p);
/* Makes the memories, schedules and exchanges that the method declares (plan_builder.c). */
tutti_status tutti_plan_declare(tutti_plan *p, tutti_failure *err);
/* Compiles and lowers a schedule (plan_schedules.c). members: NULL = all ranks; nmembers is set in both cases.
 * algorithm: NULL = "auto". */
tutti_status tutti_plan_make_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err);
/* Returns, for "auto", the number of bytes from which on the requested exchange uses ring; INT64_MAX = never. */
int64_t tutti_plan_ring_from(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members, int nmembers);
/* True if the configuration's algorithm first sums inside groups of ranks, and the groups' sums are rounded to be
 * sent. */
bool tutti_plan_rounds_groups(const tutti_plan_config *c);
/* Takes the schedule from the schedules that several plans share (config.shelf), if it is there, else makes it. The
 * plan does not release schedules that are shared. */
tutti_status tutti_plan_take_schedule(const tutti_plan *p, const tutti_builder_request *r, const int32_t *members,
                                      int nmembers, tutti_prepared *out, tutti_failure *err);
void tutti_plan_destroy_schedules(tutti_plan *p);
/* Proves the schedules on this rank alone. Beyond 256 ranks the proof would take too long, and they are only hashed. */
tutti_status tutti_plan_prove_alone(tutti_plan *p, tutti_failure *err);
/* Returns the rank whose loops decide questions about an exchange (plan_members.c): the plan's own rank if it is a
 * member, else the first member. */
int tutti_plan_spokesman(const tutti_plan *p, const tutti_plan_exchange *x);
/* Returns, per rank, whether it is the spokesman of some exchange; always true for the plan's own rank. */
bool *tutti_plan_find_spokesmen(const tutti_plan *p, tutti_arena *arena);
void tutti_plan_print_members(const tutti_plan_exchange *x, tutti_strbuf *sb);
/* Refuses lists that cannot be members, and actions on exchanges in which the rank takes no part. */
tutti_status tutti_plan_check_members(const tutti_plan *p, tutti_failure *err);
tutti_status tutti_plan_check_actions(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                      tutti_failure *err);
/* Checks that a rank touches common memories only in the allowed ways and in visits (plan_visits.c). The next function
 * checks that all ranks visit equally often, where they must. */
tutti_status tutti_plan_check_visits(const tutti_plan *p, int rank, const tutti_loop loops[TUTTI_NDRIVERS],
                                     tutti_failure *err);
tutti_status tutti_plan_check_all_visits(const tutti_plan *p, tutti_failure *err);
/* Checks that ranks that share a layer send each other all data that the layer's kernels need (plan_split.c). */
tutti_status tutti_plan_check_split(const tutti_plan *p, tutti_failure *err);
/* Checks that ranks, modes and batch fit the graph's split layers. */
tutti_status tutti_plan_accept_split(const tutti_plan *p, tutti_failure *err);
/* Prints which ranks share which layers, and how much exchange that saves; nothing where no layer is shared. */
void tutti_plan_print_split(const tutti_plan *p, tutti_strbuf *sb);
/* Checks the actions of a part that serves a worker of another host, and that the part and the worker take turns
 * (plan_serve.c). */
tutti_status tutti_plan_check_parts(const tutti_plan *p, const tutti_loop loops[TUTTI_NDRIVERS], tutti_failure *err);
tutti_status tutti_plan_check_served(const tutti_plan *p, tutti_failure *err);
/* Writes the memories that an action itself touches; returns how many. */
enum { TUTTI_MOST_TOUCHED = 2 * TUTTI_MOST_ACTION_FLOWS };
int tutti_plan_touched(const tutti_plan *p, const tutti_action *a, int out[TUTTI_MOST_TOUCHED]);
/* Fails with "rank 0, each step: 'update bucket 0' touches .."; a: NULL = no action. */
tutti_status tutti_plan_refuse(const tutti_plan *p, int rank, tutti_loop_driver driver, const tutti_action *a,
                               const char *why, tutti_failure *err);
/* Checks that the norms that updates use cover all elements (plan_looks.c). */
tutti_status tutti_plan_check_looks(const tutti_plan *p, tutti_failure *err);
/* Checks that values that were rounded to be sent are summed once, in f32, and that nothing else reads them
 * (plan_types.c). */
tutti_status tutti_plan_check_types(const tutti_plan *p, tutti_failure *err);
/* Fills in tutti_plan.is_paced, tutti_plan.other_loops and tutti_plan_exchange.drivers. */
void tutti_plan_find_drivers(tutti_plan *p);
/* Lists the loops of a rank as tutti_plan_list_loops does, but leaves out kernels and folds, except as the first action
 * of a loop. That is enough to know which loops a rank has and what it exchanges there. */
void tutti_plan_list_without_kernels(const tutti_plan *p, int rank, tutti_arena *arena, tutti_loop out[TUTTI_NDRIVERS]);
/* Prints the times that merging by costs expects, for people; nothing where buckets were merged by size
 * (plan_times.c). */
void tutti_plan_print_times(const tutti_plan *p, tutti_strbuf *sb);
/* Prints one action: "update fc1.weight"; "start gradients of bucket 0 (ready, free)" (plan_text.c). */
void tutti_plan_print_action(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb);

/* ---- shared by the files of the builder ---- */

struct tutti_plan_builder {
    tutti_plan *plan; /* the plan, which is filled in while declaring and read while listing */
    int rank;
    tutti_loop *loops;        /* while listing: TUTTI_NDRIVERS loops */
    tutti_loop_driver driver; /* while listing: the loop that actions are added to */
    /* while listing the loop TUTTI_EACH_ARRIVAL: the worker that the listed part serves; else 0 */
    int worker;
    tutti_action_steps steps;                        /* while listing: the steps in which added actions are done */
    void (*travel)(tutti_plan_builder *b, int node); /* while listing: the method's function for travel nodes; NULL =
                                                      * none */
    bool leaves_kernels; /* while listing: kernels and folds are left out, except as the first action of a loop */
    int capacity[TUTTI_NDRIVERS];
    int nmemories, nschedules, npairs, nexchanges; /* while declaring: number of entries that each array has room for */
};
void tutti_builder_add(tutti_plan_builder *b, tutti_action a);

#endif
