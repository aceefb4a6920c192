/* SPDX-License-Identifier: Apache-2.0 */
/* framework.h: training frameworks as data: overheads, exchange and transport, and the factors that make the gap
 * between two of them.
 *
 * A framework is a file of figures with their sources (base/text/sourced.h): src/predict/frameworks/NAME.txt,
 * docs/devices.md has the keys. Its step is made from the step of a job with the framework's exchanges, on a topology
 * that is slowed down to the framework's transport. The parts are put together as in Shi et al.'s DAG of synchronous
 * SGD (arXiv 1805.03812). Parts that do not overlap are added. If samples are read or copied while earlier steps run,
 * and that takes longer than all other parts, it determines the length of the step. Threads: any, after open. */
#ifndef TUTTI_FRAMEWORK_H
#define TUTTI_FRAMEWORK_H

#include "../base/text/sourced.h"
#include "tutti/predict.h"
#include "tutti/topology.h"

typedef struct {
    tutti_sourced file;
    const char *about;
    /* keys of the exchange */
    const char *algorithm, *buckets; /* exchange.algorithm and exchange.buckets of a job */
    const char *update;              /* exchange.update of a job */
    double bucket_bytes;             /* exchange.bucket_bytes of a job, in bytes; 0 if the file has none */
    /* figures of the transport */
    double transport,
        most_bytes_per_s;       /* the fraction of a network's rate that the transport reaches; an upper bound of
                                 * that rate (0: none) */
    double message_s;           /* seconds that a message costs in addition to the network's latency */
    double checked_bytes_per_s; /* rate of the fastest network on which predictions were compared with published steps;
                                 * 0: they were not compared */
    /* which parts of a step overlap */
    bool overlaps_exchange; /* true: exchanges overlap with the backward pass; false: all exchanges come after it */
    /* input of samples */
    bool overlaps_read, overlaps_copy;         /* true if reading, or copying, overlaps with earlier steps */
    double read_bytes_per_s, copy_bytes_per_s; /* bytes per second: of reading samples (f32) into memory, and of copying
                                                * them into the device */
} tutti_framework;

/* Opens a framework that comes with the program, or a file (a name with '/' or '.'). TUTTI_ERR_USAGE if there is none;
 * TUTTI_ERR_DATA names the line. The caller releases it. */
tutti_status tutti_framework_open(const char *name_or_path, tutti_framework *out, tutti_failure *err);
tutti_status tutti_framework_parse(const char *name, const char *text, tutti_framework *out, tutti_failure *err);
void tutti_framework_release(tutti_framework *f);
const char *tutti_framework_shipped_at(int i); /* Returns the names of shipped frameworks, for i = 0, 1, ...; NULL past
                                                * the end. */

/* Writes overrides of a job, KEY=VALUE, into `space`. Returns their number, at most TUTTI_FRAMEWORK_MAX_SETS. */
enum { TUTTI_FRAMEWORK_MAX_SETS = 6 };
typedef char tutti_framework_sets[TUTTI_FRAMEWORK_MAX_SETS][80];
int tutti_framework_overrides(const tutti_framework *f, tutti_framework_sets space);
/* Lowers the rates and raises the latencies of the network between hosts to those that the transport reaches. */
void tutti_framework_slow_down(const tutti_framework *f, tutti_topology *t);
/* Writes a sentence if predicted steps were never compared with published ones on a network as fast as the topology's
 * (before tutti_framework_slow_down); else "". */
enum { TUTTI_FRAMEWORK_GUARD = 320 };
void tutti_framework_guard(const tutti_framework *f, const tutti_topology *t, char out[TUTTI_FRAMEWORK_GUARD]);
/* Turns *p, predicted for a job with the overrides on the slowed topology, into a prediction of the framework: sets
 * step_s, exposed_s, bounds, samples_per_s. bytes: the samples of one rank and step in f32. The caller sets speedup and
 * efficiency. */
void tutti_framework_apply(const tutti_framework *f, double bytes, tutti_prediction *p);

/* The factors in which two frameworks differ, in the order in which tutti_framework_gap's steps replace them. */
typedef enum {
    TUTTI_FACTOR_EXCHANGE,
    TUTTI_FACTOR_TRANSPORT,
    TUTTI_FACTOR_OVERLAP,
    TUTTI_FACTOR_INPUT,
    TUTTI_NFACTORS
} tutti_factor;
const char *tutti_factor_name(tutti_factor factor);
const char *tutti_factor_meaning(tutti_factor factor);
/* Replaces one factor of `f` by that of another framework. The texts of `f` stay as they are. */
void tutti_framework_turn(tutti_framework *f, const tutti_framework *to, tutti_factor factor);
/* Splits a gap. step_s[0] is the step of the first framework; in each further step one more factor is the second
 * framework's. part_ns[i] becomes the part of factor i in whole nanoseconds, so that the parts add up to the gap
 * exactly. Returns the gap. */
int64_t tutti_framework_gap(const double step_s[TUTTI_NFACTORS + 1], int64_t part_ns[TUTTI_NFACTORS]);

#endif
