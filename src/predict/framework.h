/* SPDX-License-Identifier: Apache-2.0 */
/* framework.h: training frameworks as data: overheads, exchange and transport, and what makes the gap between two of
 * them.
 *
 * A framework is a file of figures with their sources (base/text/sourced.h): src/predict/frameworks/NAME.txt,
 * docs/devices.md has the keys. Its step is made of that of a job whose exchanges are the framework's, on a topology as
 * its transport leaves it, after Shi et al.'s DAG of synchronous SGD (arXiv 1805.03812): what does not overlap is
 * added, what is read and copied ahead takes the step's place where it takes longer. Threads: frozen after open. */
#ifndef TUTTI_FRAMEWORK_H
#define TUTTI_FRAMEWORK_H

#include "../base/text/sourced.h"
#include "tutti/predict.h"
#include "tutti/topology.h"

typedef struct {
    tutti_sourced file;
    const char *about;
    /* exchange */
    const char *algorithm, *buckets; /* exchange.algorithm and exchange.buckets of a job */
    const char *update;              /* exchange.update */
    double bucket_bytes;             /* exchange.bucket_bytes; 0: not said */
    /* transport */
    double transport,
        most_bytes_per_s;       /* share of a network's rate that it reaches, and no more than this (0: no bound) */
    double message_s;           /* on top of the network's latency */
    double checked_bytes_per_s; /* the fastest network on which steps were held against published ones; 0: never */
    /* overlap */
    bool overlaps_exchange; /* with the backward pass; else all exchanges come behind it */
    /* input */
    bool overlaps_read, overlaps_copy;         /* with the steps before */
    double read_bytes_per_s, copy_bytes_per_s; /* of samples in f32: into memory, into the device */
} tutti_framework;

/* A name that comes with the program, or a file (a name with '/' or '.'). TUTTI_ERR_USAGE: there is none;
 * TUTTI_ERR_DATA names the line. Released by the caller. */
tutti_status tutti_framework_open(const char *name_or_path, tutti_framework *out, tutti_failure *err);
tutti_status tutti_framework_parse(const char *name, const char *text, tutti_framework *out, tutti_failure *err);
void tutti_framework_release(tutti_framework *f);
const char *tutti_framework_shipped_at(int i); /* NULL past the end */

/* Overrides of a job, KEY=VALUE, in `space`; how many, at most TUTTI_FRAMEWORK_MAX_SETS. */
enum { TUTTI_FRAMEWORK_MAX_SETS = 6 };
typedef char tutti_framework_sets[TUTTI_FRAMEWORK_MAX_SETS][80];
int tutti_framework_overrides(const tutti_framework *f, tutti_framework_sets space);
/* The network between hosts as the transport leaves it. */
void tutti_framework_slow_down(const tutti_framework *f, tutti_topology *t);
/* A sentence where steps on the topology's network (before it is slowed down) were never held against published ones;
 * "" else. */
enum { TUTTI_FRAMEWORK_GUARD = 320 };
void tutti_framework_guard(const tutti_framework *f, const tutti_topology *t, char out[TUTTI_FRAMEWORK_GUARD]);
/* *p, of a job with the overrides on that topology, becomes the framework's: step_s, exposed_s, bounds, samples_per_s.
 * bytes: of the samples of one rank and step in f32. speedup and efficiency are the caller's. */
void tutti_framework_apply(const tutti_framework *f, double bytes, tutti_prediction *p);

/* What differs between two, in the order in which it is turned. */
typedef enum {
    TUTTI_FACTOR_EXCHANGE,
    TUTTI_FACTOR_TRANSPORT,
    TUTTI_FACTOR_OVERLAP,
    TUTTI_FACTOR_INPUT,
    TUTTI_NFACTORS
} tutti_factor;
const char *tutti_factor_name(tutti_factor factor);
const char *tutti_factor_meaning(tutti_factor factor);
/* `f` takes over one factor of another; texts stay those of their files. */
void tutti_framework_turn(tutti_framework *f, const tutti_framework *to, tutti_factor factor);
/* step_s: of the first, then with one factor more of the other each time. part_ns[i]: what factor i makes of the gap,
 * in whole nanoseconds: their sum is the gap, exactly. Returns the gap. */
int64_t tutti_framework_gap(const double step_s[TUTTI_NFACTORS + 1], int64_t part_ns[TUTTI_NFACTORS]);

#endif
