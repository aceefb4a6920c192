/* SPDX-License-Identifier: Apache-2.0 */
/* processor_model.h: a processor model describes a processor by figures. It tells how long the kernels of a step graph
 * take on a processor that need not be here.
 *
 * A device is a file of figures with their sources (base/text/sourced.h): src/predict/devices/NAME.txt come with the
 * program, `tutti tune device` writes that of this processor, docs/devices.md describes the keys. A kernel takes
 *
 *     launch + max(FLOPs / (peak * compute), bytes / (rate * memory)) + (1 - overlap) * min(the same two)
 *
 * Here launch, compute, memory and overlap (1 unless the file says otherwise) are the figures of the kernel's class in
 * its pass. They may be given for one candidate and one precision. peak is that of the precision (of f32 where the work
 * is no product). rate is that of the device's memory, or of its cache if the bytes fit into it (Williams et al., CACM
 * 2009: roofline). FLOPs are those that an op's row counts; bytes are the kernel's inputs and outputs, each once.
 * Threads: any, after open. */
#ifndef TUTTI_PROCESSOR_MODEL_H
#define TUTTI_PROCESSOR_MODEL_H

#include "../../base/text/sourced.h"
#include "../../training/graph/graph.h"
#include "profile.h"

/* Classes of kernels. A class that a file does not name uses the figures of the class that it belongs to. */
typedef enum {
    TUTTI_DEVICE_CONV,    /* convolutions that belong to none of the next three classes */
    TUTTI_DEVICE_CONV3X3, /* 3x3 with stride 1: a kernel may need fewer multiplications than are counted (Winograd) */
    TUTTI_DEVICE_CONV1X1, /* 1x1 convolution: a product of matrices */
    TUTTI_DEVICE_STEM,    /* convolution with fewer than 8 input channels in a group */
    TUTTI_DEVICE_DENSE,
    TUTTI_DEVICE_PASS,    /* ops that pass over their values once or twice, unless they belong to one of the next
                           * classes */
    TUTTI_DEVICE_NORM,    /* batch norm */
    TUTTI_DEVICE_DROPOUT, /* dropout, which draws a random number for each element */
    TUTTI_DEVICE_LRN,
    TUTTI_DEVICE_POOL,
    TUTTI_DEVICE_AVGPOOL, /* pools that take means */
    TUTTI_DEVICE_LOSS,
    TUTTI_DEVICE_NCLASSES
} tutti_processor_model_class;
const char *tutti_processor_model_class_name(tutti_processor_model_class c);

/* The terms of the formula above, which a file gives for each class. */
typedef enum {
    TUTTI_DEVICE_COMPUTE, /* fraction of the peak that a kernel reaches */
    TUTTI_DEVICE_MEMORY,  /* fraction of the memory's rate that a kernel reaches */
    TUTTI_DEVICE_CACHE,   /* fraction of the cache's rate that a kernel reaches; if not given, that of the memory */
    TUTTI_DEVICE_OVERLAP, /* the overlap of computing and memory: 1 if the shorter time is hidden, 0 if one follows the
                           * other */
    TUTTI_DEVICE_LAUNCH,  /* seconds of one call of a kernel; if not given, the device's launch_s */
    TUTTI_DEVICE_NTERMS
} tutti_processor_model_term;

/* A precision that jobs do not have: products of f32 jobs that round to TF32. */
enum { TUTTI_DEVICE_TF32 = TUTTI_NPRECISIONS };

typedef struct {
    tutti_processor_model_class class;
    tutti_processor_model_term term;
    const char *kernel;  /* a candidate's name (kernel.h); NULL means all */
    int precision, pass; /* the precision (or TUTTI_DEVICE_TF32) and the kernel's pass that the figure is for; -1 means
                          * all */
    double value;        /* the figure itself: a fraction is above 0, an overlap is from 0 to 1, a launch is in
                          * seconds */
} tutti_processor_model_figure;

typedef struct {
    tutti_sourced file; /* all lines of the file, so that they can be shown */
    const char *about;
    const char *like;               /* the device whose figures are used where this one has none; NULL if there is
                                     * none */
    const char *kernels;            /* name of the kernels' engine for which the times are; "reference" if the file has
                                     * none */
    bool shares_host;               /* true: several ranks may run on this processor, so it is used with topology
                                     * `host` */
    double peak[TUTTI_NPRECISIONS]; /* FLOP/s of products; 0 if not given */
    double peak_tf32;               /* peak of f32 products whose factors are rounded to TF32; 0 if not given */
    bool uses_tf32;                 /* products of f32 jobs use peak_tf32 (the name ended in ":tf32") */
    double datasheet[5];            /* peaks in f32, tf32, bf16, f16 and memory's rate as the maker states them: shown,
                                     * but not used */
    double rate;                    /* bytes per second that the processor's memory delivers */
    double memory_bytes;            /* bytes of the processor's memory; 0 if not given */
    double cache_bytes, cache_rate; /* bytes of the cache, and bytes per second that it delivers; 0 if no cache is
                                     * distinguished */
    double launch_s;                /* seconds of a launch, for kernels whose class has no such figure */
    double load_s_per_byte;         /* seconds per byte to bring f32 samples into the device's memory; 0 if not given */
    tutti_processor_model_figure *figures; /* figures of classes of kernels */
    int nfigures;                          /* number of figures from the device's own file, which come first */
} tutti_processor_model;

/* Opens a device that comes with the program, or a file (a name with '/' or '.'). ":tf32" behind the name lets products
 * of f32 jobs round to TF32. TUTTI_ERR_USAGE: there is none, or it has no such peak; TUTTI_ERR_DATA names the line. The
 * caller releases it. */
tutti_status tutti_processor_model_open(const char *name_or_path, tutti_processor_model *out, tutti_failure *err);
/* Parses a text instead of a file, for tests and fuzzing. */
tutti_status tutti_processor_model_parse(const char *name, const char *text, tutti_processor_model *out,
                                         tutti_failure *err);
void tutti_processor_model_release(tutti_processor_model *d);
/* Returns the names of shipped devices; NULL past the end. */
const char *tutti_processor_model_shipped_at(int i);

/* The work of one pass of a layer's kernel. */
typedef struct {
    tutti_processor_model_class class;
    bool is_product; /* true if the pass is a product, which runs at the peak of the job's precision */
    double flops, bytes;
    const char *by; /* name of the candidate that computes the pass (kernel.h); NULL if none is named */
} tutti_processor_model_work;
/* Finds the work of a pass of a layer's kernel. Returns false if that pass is not run. */
bool tutti_processor_model_work_of(const tutti_graph *graph, int layer, tutti_kernel_pass pass,
                                   tutti_processor_model_work *out);
/* Returns the most specific figure for a class. A figure of the class itself counts before one of the class that it
 * belongs to; then a match of the kernel counts before one of the precision, and that before one of the pass. */
double tutti_processor_model_figure_of(const tutti_processor_model *d, tutti_processor_model_term term,
                                       tutti_precision precision, tutti_kernel_pass pass,
                                       const tutti_processor_model_work *work);
double tutti_processor_model_seconds(const tutti_processor_model *d, tutti_precision precision, tutti_kernel_pass pass,
                                     const tutti_processor_model_work *work);

/* Fills in the times of all nodes. TUTTI_ERR_USAGE if the device has no figure for the precision. */
tutti_status tutti_profile_of_processor_model(const tutti_processor_model *d, const tutti_graph *graph,
                                              tutti_profile *out, tutti_failure *err);

/* The figures of a device, computed from times of kernels that were measured on it.
 *
 * Peaks are those of the fastest products. Rates are those of the fastest passes, apart for data that fits into caches
 * and for larger data. Each class and pass is fitted alone, and so is each precision but f32. If several candidates
 * compute a class, each candidate is fitted alone. Launch, overlap and the three efficiencies are those with the least
 * sum of |log(predicted / measured)| over the samples. Launches and overlaps are tried on a grid. Efficiencies that
 * single samples imply are tried one after the other until none is better. If samples do not determine a figure of a
 * class, the figure of the device holds. The launch of the device is the one with the least sum over all classes. Cost:
 * 1e6 operations for each sample, some seconds for 3,000 samples. Threads: any (pure functions). */
typedef struct {
    const char *layer; /* the layer's name, which the profile owns */
    tutti_processor_model_work work;
    tutti_kernel_pass pass;
    tutti_precision precision;
    double seconds; /* measured seconds, above 0 */
} tutti_processor_model_sample;

/* Collects samples of all passes of a graph that were run and took time. out has room for TUTTI_NPASSES samples of each
 * layer. Returns their number. */
int tutti_processor_model_samples(const tutti_graph *graph, const tutti_profile *profile,
                                  tutti_processor_model_sample *out);
/* Adds the lines of a device's file that give figures; lines such as about and like are left to the caller.
 * TUTTI_ERR_FAILED if no sample is a product, or none is a pass over memory. */
tutti_status tutti_processor_model_fit(const tutti_processor_model_sample *samples, int n, double cache_bytes,
                                       tutti_strbuf *out, tutti_failure *err);
/* Writes |predicted / measured - 1| for each sample in whose precision the device has a peak. Returns how many it
 * wrote. */
int tutti_processor_model_errors(const tutti_processor_model *d, const tutti_processor_model_sample *samples, int n,
                                 double *out);

#endif
