/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: kernels: the passes of an op (forward, gradients) on one rank.
 *
 * Two tables. The *ops table* (op_table.c, one file an op: op_conv.c, ...) says what an op is: its attributes, shape
 * rule, parameters and cost; its reference kernel, plain C, lives in the same file. The *candidates* (candidate.h) are
 * what can compute an op's passes at given shapes, and the chooser takes one for each pass. A new op = one file + one
 * row; a faster kernel for it = one file + one row, where it pays.
 *
 * Everything checkable is checked at create; running a kernel allocates nothing and cannot fail.
 *
 * LAYOUT. A kernel is created from the descriptions of its inputs and answers with that of its output: convolutions
 * choose its memory order by a rule (order_rule.h), other kernels take over that of their first input; the gradient of
 * a value has the layout and the dtype of the value. layout NULL = row-major. Parameters and their gradients are f32
 * (they live in exchanged regions) in an order that the kernel chooses when it trains: the sum and the update are
 * elementwise and do not care. Padding of a parameter's order holds zeros, and its gradient there is zero.
 *
 * Threads: tables are shared; a kernel is owner (it may keep scratch). An engine may use `nthreads` threads of its
 * own. */
#ifndef TUTTI_KERNEL_H
#define TUTTI_KERNEL_H

#include "../base/arena.h"
#include "../base/text/options.h"
#include "../tensor/tensor.h"
#include "tutti/failure.h"

enum { TUTTI_MAX_OP_INPUTS = 8, TUTTI_MAX_OP_PARAMS = 6, TUTTI_MAX_DOUT_PARTS = 4 };

struct tutti_device;
struct tutti_layout; /* an order of elements in memory; NULL = row-major */
/* The orders of activations: row-major, channels in blocks of so many (filled up with zeros), channels last. */
typedef enum {
    TUTTI_ORDER_NONE, /* not said, or none of these */
    TUTTI_ORDER_NCHW,
    TUTTI_ORDER_NCHW8C,
    TUTTI_ORDER_NCHW16C,
    TUTTI_ORDER_NCHW32C,
    TUTTI_ORDER_NHWC,
    TUTTI_NORDERS,
} tutti_order;
struct tutti_kernel_request;
struct tutti_tuned;

/* Gradients of parameters come before those of inputs. */
typedef enum { TUTTI_PASS_FORWARD, TUTTI_PASS_PARAMS, TUTTI_PASS_DATA, TUTTI_NPASSES } tutti_kernel_pass;
const char *tutti_kernel_pass_name(tutti_kernel_pass p); /* "forward", "params", "data" */

/* Why a candidate computes a pass. */
typedef enum {
    TUTTI_CHOSEN_ASKED,    /* the request names it */
    TUTTI_CHOSEN_ALONE,    /* no other of known time fits, or (seconds < 0) none at all */
    TUTTI_CHOSEN_RULE,     /* fewest seconds by the calibrated rules */
    TUTTI_CHOSEN_MEASURED, /* fewest seconds of those that were measured */
} tutti_chosen_why;

typedef struct {
    const char *name; /* the candidate's; NULL: the pass is not run, or no chooser was asked */
    tutti_chosen_why why;
    bool in_vain;   /* the request names another for this op, which does not fit */
    double seconds; /* RULE, MEASURED: what it takes, */
    const char *next;
    double next_seconds; /* and the next best, NULL: it is made with the passes beside it, for their sake */
} tutti_kernel_chosen;

typedef enum {
    TUTTI_PARAM_WEIGHT,    /* updated by the optimiser, with weight decay */
    TUTTI_PARAM_BIAS,      /* updated, without weight decay (also batch norm's scale and shift) */
    TUTTI_PARAM_STATISTIC, /* not learned: becomes (1 - take) * old + take * mean over slots of the "gradient" */
} tutti_param_kind;

typedef struct {
    const char *name; /* "weight", "bias", "running_mean": PyTorch's names and shapes */
    tutti_shape shape;
    tutti_param_kind kind;
    double take; /* statistic only */
    /* Initial value: uniform in [-bound, bound), or normal around 0 with this deviation; constant where both are 0. */
    double init_bound, init_deviation, init_constant;
    /* The kernel's: order in the regions, owned by the kernel, and elements there, padding included. An op's row leaves
     * both zero; tutti_kernel_create sets elements. */
    const struct tutti_layout *layout;
    int64_t elements;
} tutti_param_desc;

typedef struct tutti_op_row {
    const char *name;         /* "conv" */
    tutti_field_table fields; /* attributes, as written in model files */
    size_t attrs_bytes;
    int ninputs;    /* how many layers it reads, at least */
    int max_inputs; /* at most; 0 = ninputs */
    bool random;    /* draws random numbers in training (dropout) */
    /* Where its attributes say that a ReLU is merged into it (a bool, which no model file sets); 0 = that cannot be. */
    size_t relu_at;
    bool takes_addend; /* with a ReLU merged into it, a second input may be added before that */
    /* Of inputs without negative elements it makes none, and where its output is zero so is whatever its gradient there
     * would go to: what a ReLU masks before it, it masks too. */
    bool keeps_zeros;
    bool
        picks; /* hands each element of its output's gradient on to one element of its input, and nothing to others (max
                * pools) */
    bool is_loss; /* reads labels, writes no output: its shape has no dims, its value no bytes */
    /* Attributes of an op of one part of the outputs, where these can be computed apart (out[1] / parts of them, and
     * the same part of each parameter's first dim); false: they do not divide into so many. NULL: they cannot be. */
    bool (*divide)(const void *attrs, int parts, void *out);
    /* Output shape, batch first; the text of a failure says what is wrong with both shapes; the caller names the layer.
     * Call tutti_op_infer instead: it also checks that nothing overflows. */
    tutti_status (*infer)(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err);
    int (*params)(const void *attrs, const tutti_shape *in, tutti_param_desc *out); /* NULL = none; returns how many */
    double (*flops)(const void *attrs, const tutti_shape *in, const tutti_shape *out); /* forward, whole batch */
    const struct tutti_kernel_row *reference;
} tutti_op_row;

const tutti_op_row *tutti_op_find(const char *name); /* or NULL */
int tutti_op_count(void);
const tutti_op_row *tutti_op_at(int i);
/* op->infer, and every dim of the output and of the parameters is in 1 .. 2^31 - 1, every tensor at most 2^46
 * elements. */
tutti_status tutti_op_infer(const tutti_op_row *op, const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                            tutti_failure *err);

typedef struct {
    tutti_shape shape;
    const struct tutti_layout *layout; /* NULL = row-major; owned by the kernel that made it, alive until its destroy */
    size_t bytes;                      /* of the memory, with padding of the layout */
    tutti_dtype dtype;                 /* f32, bf16 or f16 */
} tutti_value;
/* Row-major f32 of this shape. */
tutti_value tutti_value_plain(const tutti_shape *shape);

/* What a kernel reads again in its backward pass: the plan keeps those alive. */
enum { TUTTI_READS_INPUT = 1, TUTTI_READS_OUTPUT = 2, TUTTI_READS_SAVED = 4 };

typedef struct tutti_kernel {
    const struct tutti_kernel_row *row;
    const tutti_op_row *op;
    const void *attrs;
    tutti_value in[TUTTI_MAX_OP_INPUTS];
    int ninputs;
    tutti_value out;
    int nparams;
    tutti_param_desc params[TUTTI_MAX_OP_PARAMS];
    size_t saved_bytes;   /* written forward, read backward */
    size_t scratch_bytes; /* contents may be anything before and after each call; 64-byte aligned */
    unsigned backward_reads;
    unsigned unread_inputs; /* bit i: backward does not read input i, even if it reads the others (an addend) */
    bool in_place; /* out may be the memory of in[0] (same bytes, backward does not read the input, and it is no other
                    * input as well); in backward the gradient of in[0] may be the memory of dout */
    /* Bit i: the gradient of input i *is* dout (add): backward_data writes nothing for it, and readers of the input's
     * gradient read dout's memory. All bits of the inputs set: backward_data is not run at all. */
    unsigned passes_gradient;
    /* backward_params writes din too, where it is not NULL: what both read is read once. backward_data is not run then.
     * Who runs a kernel otherwise clears this. */
    bool joint_backward;
    /* backward_data goes on from what backward_params leaves (a gradient that it has masked, sums that both want): that
     * one is run for it even where nobody wants gradients of parameters. */
    bool feeds_data;
    bool writes_dout; /* the first backward pass changes dout (masks it in place) for the second one */
    /* Where writes_dout: the first backward pass takes the gradient of out in up to so many parts, args.dout_parts,
     * sums them itself in this order, and leaves what it makes of the sum in dout. 0 = it finds it whole in dout. */
    int max_dout_parts;
    tutti_kernel_chosen chosen[TUTTI_NPASSES]; /* by tutti_kernel_create */
    void *state;                               /* the row's own */
} tutti_kernel;

typedef struct {
    const void *in[TUTTI_MAX_OP_INPUTS]; /* of the dtypes of kernel->in */
    void *out;
    const float *param[TUTTI_MAX_OP_PARAMS];
    void *dout;                                   /* backward: gradient of out; const unless writes_dout */
    const void *dout_parts[TUTTI_MAX_DOUT_PARTS]; /* any of them may be dout's memory */
    int ndout_parts;                              /* 0 = dout holds the gradient; the second pass does not look */
    void *din[TUTTI_MAX_OP_INPUTS]; /* backward_data: written (not added to); may be dout's memory if in_place. NULL =
                                     * nobody wants it */
    float *dparam
        /* backward_params: written (not added to), but statistics: by forward in training. Those of all that are
         * learned are NULL where nobody wants them: it does what feeds backward_data */
        [TUTTI_MAX_OP_PARAMS];
    void *saved, *scratch;
    bool training; /* as at create */
    /* keys of random numbers: (seed, step, global index of the first sample of this call, layer) */
    uint64_t seed, step, first_sample;
    uint32_t layer;
    /* Where a device that replays recorded work finds seed, step and first_sample, in this order, when the kernel
     * runs. */
    const uint64_t *drawn;
    /* loss ops */
    const int32_t *labels;
    float loss_scale; /* gradient of the summed loss is multiplied by this (1 / global batch) */
    float *loss;      /* out: sum of the samples' losses (in sample order) */
    int32_t *correct; /* out: samples whose largest logit is the label's */
} tutti_kernel_args;

typedef struct tutti_kernel_row {
    bool fuses;        /* computes what is merged into the op; where not, fused_adapter.c does */
    bool takes_halves; /* activations of 16 bits as they are; where not, half_adapter.c widens them */
    /* k->op, attrs, in, ninputs, params are filled in, out as row-major f32; fills out, needs and state. */
    tutti_status (*create)(tutti_kernel *k, const struct tutti_kernel_request *r, tutti_failure *err);
    void (*destroy)(tutti_kernel *k); /* also on a part-built kernel; may be NULL */
    void (*forward)(tutti_kernel *k, const tutti_kernel_args *a);
    void (*backward_params)(tutti_kernel *k, const tutti_kernel_args *a); /* NULL = no parameters */
    void (*backward_data)(tutti_kernel *k, const tutti_kernel_args *a);
} tutti_kernel_row;

/* How activations are stored between kernels and multiplied. */
typedef enum { TUTTI_PRECISION_F32, TUTTI_PRECISION_BF16, TUTTI_PRECISION_F16, TUTTI_NPRECISIONS } tutti_precision;
const char *tutti_precision_name(tutti_precision p);  /* "f32" */
tutti_dtype tutti_precision_dtype(tutti_precision p); /* of activations */

/* Rows that compute the passes; adapters stand before them where they need it. */
typedef struct {
    const tutti_kernel_row *of[TUTTI_NPASSES];
    bool in_f32[TUTTI_NPASSES]; /* in f32 behind half_adapter.c */
} tutti_kernel_rows;

typedef struct tutti_kernel_request {
    const char *engine; /* the candidates that are wanted: "auto", or a name (candidate.h): those wherever they fit */
    const tutti_op_row *op;
    const void *attrs;     /* alive as long as the kernel */
    const tutti_value *in; /* nin of them */
    int nin;
    tutti_precision precision; /* the output's dtype; a kernel takes inputs of any dtype */
    bool training;
    int nthreads;
    const struct tutti_device *device; /* the kernel's (device/device_row.h); NULL = the cpu. Outlives the kernel */
    /* Bit i: a ReLU made input i, perhaps with pools, LRN, dropout or concatenation behind it: it has no negative
     * elements, and nobody wants its gradient where it is zero, because the ReLU masks that. A kernel may leave zeros
     * there instead. */
    unsigned rectified;
    /* Nobody but max pools reads its output: of each of their windows at most one element has a gradient that is not
     * zero, after a merged ReLU none where they give zero. */
    bool pooled;
    /* In which a convolution leaves its output (order_rule.h); NONE = by its own shape. Others follow their first
     * input. */
    tutti_order order;
    bool canonical;                  /* candidates whose sums are of one class (candidate.h), and no measured times */
    const struct tutti_tuned *tuned; /* measured times (candidate.h); NULL = the calibrated rules alone */
    const tutti_kernel_rows *by;     /* NULL = the chooser decides */
    /* Orders that its parameters have already (a kernel that evaluates weights in training): nparams of them, borrowed.
     * NULL = row-major if !training, else the kernel chooses. */
    const tutti_param_desc *params_as;
} tutti_kernel_request;

/* Names of candidates, each once, from 0 on; NULL = no more. */
const char *tutti_candidate_name_at(int i);
/* out->shape etc. come from the op's infer. */
tutti_status tutti_kernel_create(const tutti_kernel_request *request, tutti_kernel *k, tutti_failure *err);
void tutti_kernel_destroy(tutti_kernel *k);
/* Copies a value of any dtype into row-major f32 and back (what tests and mixed engines need). */
void tutti_value_to_plain(const tutti_value *v, const void *from, float *plain);
void tutti_value_from_plain(const tutti_value *v, const float *plain, void *to);
/* How many of a value's elements are zero, padding not counted; a NaN is not. Cost: reads it once. */
int64_t tutti_value_zeros(const tutti_value *v, const void *memory);
/* The same as of values for a parameter: what initial values and checkpoints need. Padding becomes zero. */
void tutti_param_to_plain(const tutti_param_desc *p, const float *from, float *plain);
void tutti_param_from_plain(const tutti_param_desc *p, const float *plain, float *to);
/* Of the order in which its elements lie, 0 = row-major: ranks that add up gradients must have the same. */
uint64_t tutti_param_order_hash(const tutti_param_desc *p);
/* out = parts[0] + ... + parts[n - 1], in this order: values of one description, such as the gradients that several
 * readers leave. Sums are f32, rounded once. n <= TUTTI_MAX_SUM_PARTS; parts may be the same, out may be one of
 * them. */
enum { TUTTI_MAX_SUM_PARTS = 64 };
void tutti_value_sum(const tutti_value *v, const void *const *parts, int n, void *out, int nthreads);
/* How these candidates compute in a precision: "f32", "bf16 (stored; f32 arithmetic)". */
void tutti_kernel_precision_describe(const char *engine, tutti_precision p, char out[96]);
/* What products are made by: "oneDNN 3.2.0 (avx512_core_bf16)" | "reference" | "without oneDNN" | "" (asked for, not in
 * this build). */
void tutti_kernel_engine_describe(const char *engine, char out[96]);

#endif
