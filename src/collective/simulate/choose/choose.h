/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: chooses the algorithm for a collective, rank count, size and topology: simulates every algorithm of the
 * table that can serve, and takes the fastest. A row is tried with each variant of its parameters, and with parameters
 * that the topology suggests: groups of the ranks of one host, rows of a torus. A schedule is lowered as it would run
 * where ranks map each other's memory. Times that differ by less than a thousandth are equal (slices are whole
 * elements): ties go to the earlier row.
 *
 * A policy names the rows that may be taken. "hybrid" is that of Jia et al. 2018: hierarchical below a size, ring above
 * it; nobody sets the size by hand: it is the point where the times cross (tutti_choose_ranges).
 *
 * Nothing is cached and nothing is random: equal questions have equal answers on all ranks. Threads: any. */
#ifndef TUTTI_CHOOSE_H
#define TUTTI_CHOOSE_H

#include "../engines/engines.h"
#include "../simulate.h"
#include "cuts.h"
#include "tutti/compile.h"

typedef struct {
    const char *name, *summary;
    const char *rows[4]; /* names of the rows; ends with NULL; none = all rows. A name with parameters allows the row
                          * with these parameters only */
    int32_t most_fan_in; /* refuses algorithms by which more ranks than this send to one rank of another host at a time;
                          * 0 = any */
    bool is_brief; /* true: tutti_choose_sizes leaves out rows that are bound to a topology, schedules in which very
                    * many messages travel at a time, and bounds */
} tutti_policy;
int tutti_policy_count(void);
const tutti_policy *tutti_policy_at(int i); /* policy 0 is "fastest", which takes all rows */

enum { TUTTI_MAX_CANDIDATES = 96 };

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* the candidate's name with all parameters; if it cannot be compiled, the
                                           * name that was asked for */
    bool can;                             /* the algorithm can serve the request; false: `refusal` says why */
    bool skipped;                         /* the algorithm can serve, but its schedule has too many steps */
    tutti_simulation sim;
    tutti_closed_form form; /* the closed form of the algorithm; its `seconds` is 0 if there is none */
    char refusal[200];
} tutti_candidate;

typedef struct {
    tutti_candidate candidates[TUTTI_MAX_CANDIDATES]; /* candidates in the order of the table; a row's initial
                                                       * parameters come first, then its variants */
    int ncandidates;
    int best; /* index of the fastest candidate; -1: no candidate can serve */
    tutti_bounds bounds;
} tutti_choice;

/* Returns true if candidate i takes the time of the best candidate, within a thousandth; also for the best candidate
 * itself. Returns false if no candidate can serve. */
bool tutti_choice_ties(const tutti_choice *choice, int i);

enum { TUTTI_CHOOSE_STEPS = 16 << 20 }; /* most steps of a schedule that is simulated: some seconds' work */
/* Chooses for n elements by the policy "fastest", from schedules of at most TUTTI_CHOOSE_STEPS steps. Cost: simulates
 * every schedule once; direct has ranks^2 messages. */
void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                            tutti_choice *out);
/* Chooses by a policy. most_steps: schedules of more steps (all ranks together) are skipped; 0 = no limit. About 15
 * million steps take a second. */
void tutti_choose_by(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request, int64_t n,
                     const tutti_topology *t, tutti_choice *out);

/* Chooses for several sizes: out[i] is the choice at n[i] elements, as tutti_choose_by makes it with most_steps 0. Each
 * schedule is simulated once. Its time at each size comes from straight lines (flows.h), which are exact if slices are
 * whole elements. A brief policy keeps its own limit of steps. The times by formula in out[i] stay 0. */
void tutti_choose_sizes(const tutti_policy *policy, const tutti_compile_request *request, const int64_t *n, int nsizes,
                        const tutti_topology *t, tutti_choice *out);

/* Ranges of sizes, each with its best algorithm. */
typedef struct {
    int64_t first, last; /* the range of sizes, in elements of the vector */
    char algorithm[TUTTI_ALGORITHM_TEXT];
    double first_s, last_s; /* predicted seconds at the range's first and last size */
} tutti_range;
enum { TUTTI_MAX_RANGES = 64 };
typedef struct {
    tutti_range ranges[TUTTI_MAX_RANGES]; /* ranges in ascending order, from 1 element up */
    int nranges;
    char skipped[400]; /* algorithms that have too many steps; "" = none */
} tutti_ranges;
/* Finds the best algorithm for each size of 1 element to `most`. Borders are exact within 1/256; a range is found if it
 * holds a power of 4 or borders on a range that does. Cost: about 20 simulations of each schedule, and ten for each
 * border. TUTTI_ERR_USAGE: no algorithm can do this. */
tutti_status tutti_choose_ranges(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                                 int64_t most, const tutti_topology *t, tutti_ranges *out, tutti_failure *err);

/* Limits that physics sets to a collective on a topology: seven figures, L1 .. L7, each with its meaning, its kind, and
 * the ranks, cut or partition that attain it. Full duplex, no coding, no compression; switches neither copy nor add,
 * unless the figure says so. bench/mapping/NOTES.md has derivations and sources. Threads: any. */

typedef enum {
    TUTTI_LIMIT_NONE,    /* there is no such limit for this collective and topology; `where` says why */
    TUTTI_LIMIT_BOUND,   /* no schedule is faster; perhaps no schedule reaches it */
    TUTTI_LIMIT_EXACT,   /* no schedule is faster, and for large vectors some schedules come arbitrarily close */
    TUTTI_LIMIT_REACHED, /* the time of some schedule; others may be faster */
} tutti_limit_kind;
const char *tutti_limit_kind_name(tutti_limit_kind k); /* returns "-", "bound", "exact" or "reached" */

enum { TUTTI_NLIMITS = 7 };
typedef struct {
    const char *name;    /* name of the limit, such as "L1 latency" */
    const char *meaning; /* meaning of the limit in one line */
    tutti_limit_kind kind;
    double seconds;
    char where[320];
} tutti_limit;

/* Fills the seven figures for n elements of f32. Cost: a few max-flows for each rank; L6 also a small linear
 * program. */
void tutti_simulate_limits(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_limit out[TUTTI_NLIMITS]);

/* Return four of the limits for the chooser, for networks only: seconds of L1, L2, L3 and L7 for root 0. */
double tutti_limit_latency(const tutti_cuts *cuts, const tutti_topology *t);
double tutti_limit_in_network(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out);
double tutti_limit_partition(const tutti_cuts *cuts, const tutti_topology *t, tutti_collective c, double bytes,
                             tutti_limit *out);
double tutti_limit_work(tutti_collective c, int32_t nranks, double bytes, const tutti_topology *t);

/* Writes the ranks r with part[r] == which, as "0-3,7"; cut short with "..." if there is no room. For a side of a cut,
 * part[r] is 1 on that side. */
void tutti_limit_ranks(int32_t nranks, const int32_t *part, int32_t which, char *out, size_t room);

/* Every candidate of a choice (choose.h), timed by several engines. Threads: any. */

enum { TUTTI_MAX_ENGINES = 8 };

typedef struct {
    bool can;
    double seconds;
    char why[200]; /* why the engine cannot answer, or how it failed */
} tutti_engine_answer;

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_engine_answer of[TUTTI_MAX_ENGINES]; /* answers in the order of the table; an engine that was not asked has
                                                * can = false and no why */
} tutti_engine_row;

/* Times every candidate that tutti_choose_by would compile and lower; candidates that cannot be made are left out. rows
 * has room for TUTTI_MAX_CANDIDATES. engines: bit i = ask engine i. limit_s: seconds for each run of a helper program.
 * late_s: the second at which each rank begins; NULL: all begin at once. Returns the number of rows. */
int tutti_engines_compare(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                          int64_t n, const tutti_topology *t, unsigned engines, double limit_s, const double *late_s,
                          tutti_engine_row *rows);

#endif
