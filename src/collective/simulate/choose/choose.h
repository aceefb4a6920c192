/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: chooses the algorithm for a collective, rank count, size and topology: simulates every row of the table of
 * algorithms that serves, and takes the fastest. Variants are those of the row and what the topology suggests: groups
 * of the ranks of one host, rows of a torus. Times that differ by less than a thousandth are equal (slices are whole
 * elements): ties go to the earlier row.
 *
 * A policy names the rows that may be taken. "hybrid" is that of Jia et al. 2018: hierarchical below a size, ring above
 * it; the size is not set by hand but is where the times cross (tutti_choose_ranges).
 *
 * Nothing is cached and nothing is random: equal questions have equal answers on all ranks. Threads: shared. */
#ifndef TUTTI_CHOOSE_H
#define TUTTI_CHOOSE_H

#include "../engines/engines.h"
#include "../simulate.h"
#include "cuts.h"
#include "tutti/compile.h"

typedef struct {
    const char *name, *summary;
    const char *rows[4]; /* until NULL; none = all. With parameters: with those and no others */
    int32_t most_fan_in; /* none by which more ranks send to one of another host at a time; 0 = any */
    bool is_brief; /* tutti_choose_sizes: rows that are bound to a topology, schedules of very many messages at a time
                   * and bounds are left out */
} tutti_policy;
int tutti_policy_count(void);
const tutti_policy *tutti_policy_at(int i); /* 0: "fastest", all rows */

enum { TUTTI_MAX_CANDIDATES = 96 };

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* with all parameters; what was asked for where it cannot be had */
    bool can;                             /* false: refusal says why */
    bool skipped;                         /* it could, but has too many steps */
    tutti_simulation sim;
    tutti_closed_form form; /* seconds 0 where there is none */
    char refusal[200];
} tutti_candidate;

typedef struct {
    tutti_candidate candidates[TUTTI_MAX_CANDIDATES]; /* in table order, what stands initially before the variants */
    int ncandidates;
    int best; /* index; -1: none can */
    tutti_bounds bounds;
} tutti_choice;

/* Does candidate i take the best one's time, within a thousandth? So does the best itself; false where none can. */
bool tutti_choice_ties(const tutti_choice *choice, int i);

enum { TUTTI_CHOOSE_STEPS = 16 << 20 }; /* a second or so a schedule */
/* n elements, the policy "fastest", schedules of at most TUTTI_CHOOSE_STEPS. Cost: every schedule once; direct has
 * ranks^2 messages. */
void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                            tutti_choice *out);
/* most_steps: schedules of more steps (all ranks together) are skipped; 0 = no limit. About 15
 * million steps take a second. */
void tutti_choose_by(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request, int64_t n,
                     const tutti_topology *t, tutti_choice *out);

/* As tutti_choose_by without a limit, unless the policy is brief, at n[i] elements for each out[i], from one simulation
 * of each schedule: other sizes lie on lines (lines.h), exactly where slices are whole elements. Closed forms are left
 * at 0. */
void tutti_choose_sizes(const tutti_policy *policy, const tutti_compile_request *request, const int64_t *n, int nsizes,
                        const tutti_topology *t, tutti_choice *out);

/* For which sizes which algorithm is best. */
typedef struct {
    int64_t first, last; /* elements */
    char algorithm[TUTTI_ALGORITHM_TEXT];
    double first_s, last_s; /* predicted */
} tutti_range;
enum { TUTTI_MAX_RANGES = 64 };
typedef struct {
    tutti_range ranges[TUTTI_MAX_RANGES]; /* from 1 element up */
    int nranges;
    char skipped[400]; /* what has too many steps; "" = nothing */
} tutti_ranges;
/* Sizes of 1 element to `most`. Best sizes are found within 1/256, ranges if they hold a power of 4 or border on one
 * that does. Cost: about 20 simulations of each schedule, and ten a border. TUTTI_ERR_USAGE: no algorithm can do
 * this. */
tutti_status tutti_choose_ranges(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                                 int64_t most, const tutti_topology *t, tutti_ranges *out, tutti_failure *err);

/* What physics allows a collective on a topology: seven figures, L1 .. L7, each with its meaning, what it holds for
 * and which ranks, cut or partition attain it. Full duplex, no coding, no compression; switches neither copy nor add,
 * unless it says so. docs/topologies.md has the derivations and sources. Threads: shared. */

typedef enum {
    TUTTI_LIMIT_NONE,    /* says nothing here; where says why */
    TUTTI_LIMIT_BOUND,   /* no schedule is faster; maybe none reaches it */
    TUTTI_LIMIT_EXACT,   /* no schedule is faster, and some come as close as one likes for large vectors */
    TUTTI_LIMIT_REACHED, /* what some schedule takes; others may be faster */
} tutti_limit_kind;
const char *tutti_limit_kind_name(tutti_limit_kind k); /* "-", "bound", "exact", "reached" */

enum { TUTTI_NLIMITS = 7 };
typedef struct {
    const char *name;    /* "L1 latency" */
    const char *meaning; /* one line */
    tutti_limit_kind kind;
    double seconds;
    char where[320];
} tutti_limit;

/* n elements of f32. Cost: max-flows, a few for each rank; L6 a small linear program on top. */
void tutti_simulate_limits(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_limit out[TUTTI_NLIMITS]);

/* The parts that the chooser wants, network only: seconds of L1, L2, L3 and L7 for a root of 0. */
double tutti_limit_latency(const tutti_cuts *cuts, const tutti_topology *t);
double tutti_limit_in_network(const tutti_cuts *cuts, tutti_collective c, double bytes, tutti_limit *out);
double tutti_limit_partition(const tutti_cuts *cuts, const tutti_topology *t, tutti_collective c, double bytes,
                             tutti_limit *out);
double tutti_limit_work(tutti_collective c, int32_t nranks, double bytes, const tutti_topology *t);

/* "0-3,7" for the ranks of a side (which = 1) or of a part; cut short with "..." where there is no room. */
void tutti_limit_ranks(int32_t nranks, const int32_t *part, int32_t which, char *out, size_t room);

/* The candidates of a choice (choose.h), each timed by several engines. Threads: shared. */

enum { TUTTI_MAX_ENGINES = 8 };

typedef struct {
    bool can;
    double seconds;
    char why[200]; /* it cannot, or failed */
} tutti_engine_answer;

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_engine_answer of[TUTTI_MAX_ENGINES]; /* in the table's order; what was not asked cannot, without a why */
} tutti_engine_row;

/* Every candidate as tutti_choose_by compiles and lowers it, those that cannot be had left out; rows: room for
 * TUTTI_MAX_CANDIDATES. engines: bit i = ask engine i. limit_s: of each run of a helper. late_s: when each rank begins,
 * or NULL. Returns how many rows. */
int tutti_engines_compare(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                          int64_t n, const tutti_topology *t, unsigned engines, double limit_s, const double *late_s,
                          tutti_engine_row *rows);

#endif
