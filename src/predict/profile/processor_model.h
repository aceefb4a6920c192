/* SPDX-License-Identifier: Apache-2.0 */
/* processor_model.h: a processor model, a processor as figures: how long the kernels of a step graph take on a
 * processor that need not be here.
 *
 * A device is a file of figures with their sources (base/text/sourced.h): src/predict/devices/NAME.txt come with the
 * program, `tutti tune device` writes that of this processor, docs/devices.md describes the keys. A kernel takes
 *
 *     launch + max(FLOPs / (peak * compute), bytes / (rate * memory)) + (1 - overlap) * min(the same two)
 *
 * where launch, compute, memory and overlap (1 unless the file says otherwise) are the figures of its class in its
 * pass, of the candidate that computes it and of the job's precision where the file tells these apart; peak is that of
 * the precision (of f32 where the work is no product), rate is that of the device's memory, or of its cache where the
 * bytes fit in there (Williams et al., CACM 2009: roofline). FLOPs are those that an op's row counts; bytes are what
 * the kernel is given and makes, each once. Threads: frozen after open. */
#ifndef TUTTI_PROCESSOR_MODEL_H
#define TUTTI_PROCESSOR_MODEL_H

#include "../../base/text/sourced.h"
#include "../../training/graph/graph.h"
#include "profile.h"

/* A class that a file does not name takes the figures of the one that it belongs to. */
typedef enum {
    TUTTI_DEVICE_CONV,    /* convolutions that are none of the next three */
    TUTTI_DEVICE_CONV3X3, /* 3x3, stride 1: may be computed by fewer multiplications than are counted */
    TUTTI_DEVICE_CONV1X1, /* a product of matrices */
    TUTTI_DEVICE_STEM,    /* of fewer than 8 channels a group */
    TUTTI_DEVICE_DENSE,
    TUTTI_DEVICE_PASS,    /* what goes over its values once or twice: all others that are none of the next */
    TUTTI_DEVICE_NORM,    /* batch norm */
    TUTTI_DEVICE_DROPOUT, /* draws a random number an element */
    TUTTI_DEVICE_LRN,
    TUTTI_DEVICE_POOL,
    TUTTI_DEVICE_AVGPOOL, /* pools that average */
    TUTTI_DEVICE_LOSS,
    TUTTI_DEVICE_NCLASSES
} tutti_processor_model_class;
const char *tutti_processor_model_class_name(tutti_processor_model_class c);

/* What is said of a class, in a line each. */
typedef enum {
    TUTTI_DEVICE_COMPUTE, /* shares: of the peak, */
    TUTTI_DEVICE_MEMORY,  /* of the memory's rate, */
    TUTTI_DEVICE_CACHE,   /* of the cache's rate; where none is said that of the memory's */
    TUTTI_DEVICE_OVERLAP, /* of computing and memory: 1 where the shorter is hidden, 0 where one follows the other */
    TUTTI_DEVICE_LAUNCH,  /* s a call; where none is said that of the device */
    TUTTI_DEVICE_NTERMS
} tutti_processor_model_term;

/* Beside the precisions of a job: what figures of products of f32 jobs with TF32 are of. */
enum { TUTTI_DEVICE_TF32 = TUTTI_NPRECISIONS };

typedef struct {
    tutti_processor_model_class class;
    tutti_processor_model_term term;
    const char *kernel;  /* a candidate's (kernel.h); NULL: of all */
    int precision, pass; /* -1: of all; precision may be TUTTI_DEVICE_TF32 */
    double value;        /* shares above 0, overlap from 0 to 1 */
} tutti_processor_model_figure;

typedef struct {
    tutti_sourced file; /* the lines, for those who show them */
    const char *about;
    const char *like;               /* the device whose figures count where this one has none; NULL: none */
    const char *kernels;            /* whose kernels' graph the times are of: "reference" where the file does not say */
    bool shares_host;               /* a processor whose ranks may share a host: topology `host` goes with it */
    double peak[TUTTI_NPRECISIONS]; /* FLOP/s of products; 0: it has no such figure */
    double peak_tf32;               /* of products in f32 whose factors are rounded to TF32; 0: it has no such figure */
    bool uses_tf32;                 /* products of f32 jobs go by peak_tf32 (the name ended in ":tf32") */
    double datasheet[5]; /* f32, tf32, bf16, f16, memory as the maker states them: shown, never computed with */
    double rate;         /* of its memory, bytes/s */
    double memory_bytes; /* how much it holds; 0: not said */
    double cache_bytes, cache_rate;        /* 0: none is told apart */
    double launch_s;                       /* of a kernel whose class has none of its own */
    double load_s_per_byte;                /* of a sample in f32, until it lies in the device's memory; 0: not said */
    tutti_processor_model_figure *figures; /* of classes */
    int nfigures;                          /* the own ones first */
} tutti_processor_model;

/* Of a name that comes with the program, else of a file (what contains '/' or '.'); ":tf32" behind it lets products of
 * f32 jobs round to TF32. TUTTI_ERR_USAGE: there is none, or it has no such peak; TUTTI_ERR_DATA names
 * the line. Released by the caller. */
tutti_status tutti_processor_model_open(const char *name_or_path, tutti_processor_model *out, tutti_failure *err);
/* As a test or fuzz target has it. */
tutti_status tutti_processor_model_parse(const char *name, const char *text, tutti_processor_model *out,
                                         tutti_failure *err);
void tutti_processor_model_release(tutti_processor_model *d);
/* Names, NULL past the end. */
const char *tutti_processor_model_shipped_at(int i);

/* What a pass of a layer's kernel does. */
typedef struct {
    tutti_processor_model_class class;
    bool is_product; /* at the peak of the job's precision */
    double flops, bytes;
    const char *by; /* the candidate that computes it (kernel.h); NULL: none is named */
} tutti_processor_model_work;
/* false: that pass is not run. */
bool tutti_processor_model_work_of(const tutti_graph *graph, int layer, tutti_kernel_pass pass,
                                   tutti_processor_model_work *out);
/* Of a class the most special figure: what is said of the class counts before what is said of the one that it belongs
 * to, then the kernel counts before the precision and that before the pass. */
double tutti_processor_model_figure_of(const tutti_processor_model *d, tutti_processor_model_term term,
                                       tutti_precision precision, tutti_kernel_pass pass,
                                       const tutti_processor_model_work *work);
double tutti_processor_model_seconds(const tutti_processor_model *d, tutti_precision precision, tutti_kernel_pass pass,
                                     const tutti_processor_model_work *work);

/* Times of all nodes. TUTTI_ERR_USAGE: the device has no figure for the precision. */
tutti_status tutti_profile_of_processor_model(const tutti_processor_model *d, const tutti_graph *graph,
                                              tutti_profile *out, tutti_failure *err);

/* The figures of a device from times of kernels that were measured on it.
 *
 * Peaks are the fastest products, rates the fastest passes over more bytes than caches hold and over fewer. For each
 * class and pass, apart for other precisions than f32 and for each candidate where several compute the class, launch,
 * overlap and the three efficiencies are those with the least sum of |log(predicted / measured)| over its samples:
 * launches and overlaps of a grid, efficiencies that single samples imply, one after the other until none is better.
 * What samples do not say is as for the device: its launch is the one that would have the least sum over all classes.
 * Cost: 1e6 times the samples of a class and pass, some seconds for 3,000. Threads: shared (pure). */

typedef struct {
    const char *layer; /* the profile's */
    tutti_processor_model_work work;
    tutti_kernel_pass pass;
    tutti_precision precision;
    double seconds; /* above 0 */
} tutti_processor_model_sample;

/* Of all passes of a graph that are run and took time; out has room for TUTTI_NPASSES a layer. How many. */
int tutti_processor_model_samples(const tutti_graph *graph, const tutti_profile *profile,
                                  tutti_processor_model_sample *out);
/* Adds the lines of a device's file, all but its texts. TUTTI_ERR_FAILED: no sample is a product, or none is a pass
 * over memory. */
tutti_status tutti_processor_model_fit(const tutti_processor_model_sample *samples, int n, double cache_bytes,
                                       tutti_strbuf *out, tutti_failure *err);
/* |predicted / measured - 1| of each sample that the device has a peak for; how many. */
int tutti_processor_model_errors(const tutti_processor_model *d, const tutti_processor_model_sample *samples, int n,
                                 double *out);

#endif
