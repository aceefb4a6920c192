/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: kernels: the passes of an op (forward, gradients) on one rank.
 *
 * There are two tables. The *ops table* (op_table.c, one file an op: op_conv.c, ...) says what an op is: its
 * attributes, shape rule, parameters and cost. The same file has the op's reference kernel in plain C. The table of
 * *candidates* (candidate.h) has the kernel rows that can compute an op's passes at given shapes; the chooser takes one
 * for each pass. A new op is one file and one row. A faster kernel for an op is one file and one row.
 *
 * All checks are made when a kernel is created; running it allocates nothing and cannot fail.
 *
 * LAYOUT. A kernel is created from the descriptions of its inputs and fills in the description of its output.
 * Convolutions choose the output's memory order by a rule (order_rule.h); other kernels take the order of their first
 * input. The gradient of a value has the layout and the dtype of the value. layout NULL = row-major. Parameters and
 * their gradients are f32, because ranks exchange them. In training the kernel chooses their order: sums of gradients
 * and updates work element by element, so they need not know the order. Padding of a parameter's order holds zeros, and
 * its gradient there is zero.
 *
 * Threads: any may read the tables; one at a time uses a kernel, which may keep scratch. A row may use `nthreads`
 * threads of its own. */
#ifndef TUTTI_KERNEL_H
#define TUTTI_KERNEL_H

#include "../base/arena.h"
#include "../base/text/options.h"
#include "../tensor/tensor.h"
#include "tutti/failure.h"

enum { TUTTI_MAX_OP_INPUTS = 8, TUTTI_MAX_OP_PARAMS = 6, TUTTI_MAX_DOUT_PARTS = 4 };

struct tutti_device;
struct tutti_layout; /* an order of elements in memory; NULL = row-major */
/* The orders of activations: row-major; channels in blocks of 8, 16 or 32, filled up with zeros; channels last. */
typedef enum {
    TUTTI_ORDER_NONE, /* the order is unknown, or it is none of the orders below */
    TUTTI_ORDER_NCHW,
    TUTTI_ORDER_NCHW8C,
    TUTTI_ORDER_NCHW16C,
    TUTTI_ORDER_NCHW32C,
    TUTTI_ORDER_NHWC,
    TUTTI_NORDERS,
} tutti_order;
struct tutti_kernel_request;
struct tutti_tuned;

/* The passes of an op: forward, gradients of parameters, gradients of inputs. Gradients of parameters are computed
 * before those of inputs. */
typedef enum { TUTTI_PASS_FORWARD, TUTTI_PASS_PARAMS, TUTTI_PASS_DATA, TUTTI_NPASSES } tutti_kernel_pass;
const char *tutti_kernel_pass_name(tutti_kernel_pass p); /* returns "forward", "params" or "data" */

/* The reason why a candidate computes a pass. */
typedef enum {
    TUTTI_CHOSEN_ASKED, /* the request names the candidate */
    TUTTI_CHOSEN_ALONE, /* no other candidate with a known time fits; if seconds < 0, no other candidate fits at all */
    TUTTI_CHOSEN_RULE,  /* the candidate takes the fewest seconds by the calibrated rules */
    TUTTI_CHOSEN_MEASURED, /* the candidate takes the fewest of the measured seconds */
} tutti_chosen_why;

typedef struct {
    const char *name; /* the candidate's name; NULL if the pass is not run, or if no chooser was asked */
    tutti_chosen_why why;
    bool in_vain;   /* true if the request names another candidate for this op, which does not fit */
    double seconds; /* with TUTTI_CHOSEN_RULE and TUTTI_CHOSEN_MEASURED: the seconds that the candidate takes */
    const char *next;
    double next_seconds; /* the seconds of the candidate `next`, which is the second best. `next` is NULL if other
                          * passes decided the choice */
} tutti_kernel_chosen;

typedef enum {
    TUTTI_PARAM_WEIGHT,    /* the optimiser updates it, with weight decay */
    TUTTI_PARAM_BIAS,      /* the optimiser updates it without weight decay (also batch norm's scale and shift) */
    TUTTI_PARAM_STATISTIC, /* it is not learned: the update sets it to (1 - take) * old + take * (mean over slots of the
                            * "gradient") */
} tutti_param_kind;

typedef struct {
    const char *name; /* "weight", "bias", "running_mean": PyTorch's names and shapes */
    tutti_shape shape;
    tutti_param_kind kind;
    double take; /* for a statistic: weight of the new value in the mean (1 - take) * old + take * new */
    /* The initial value: uniform in [-bound, bound), or normal around 0 with this deviation, or a constant if both are
     * 0. */
    double init_bound, init_deviation, init_constant;
    /* The kernel sets both. layout: the order of the elements in memory, which the kernel owns; elements: their number,
     * padding included. An op's row leaves both zero, and tutti_kernel_create sets elements. */
    const struct tutti_layout *layout;
    int64_t elements;
} tutti_param_desc;

typedef struct tutti_op_row {
    const char *name;         /* such as "conv" */
    tutti_field_table fields; /* attributes, as written in model files */
    size_t attrs_bytes;
    int ninputs;    /* the least number of inputs */
    int max_inputs; /* the largest number of inputs; 0 means ninputs */
    bool random;    /* true if the op draws random numbers in training (dropout) */
    /* Offset in the attributes of the bool that says that a ReLU is merged into the op (no model file sets it); 0 if no
     * ReLU can be merged. */
    size_t relu_at;
    bool takes_addend; /* true if, with a merged ReLU, a second input can be added before the ReLU */
    /* True for an op with two properties. If no element of its inputs is negative, no element of its output is. If an
     * element of its output is zero, so are all input elements that receive this element's gradient. So masking the
     * gradient by the op's output has the same effect as masking it by a ReLU in front of the op. */
    bool keeps_zeros;
    /* true if the gradient of each output element goes to one input element, and all other input elements get zero (max
     * pools) */
    bool picks;
    bool is_loss; /* true if the op reads labels and writes no output: its shape has no dims, its value no bytes */
    /* Fills in the attributes of the op for one of `parts` parts of the outputs (out[1] / parts of them, and the same
     * part of each parameter's first dim). Returns false if the outputs do not divide into `parts`. NULL if the op's
     * outputs cannot be computed in parts. */
    bool (*divide)(const void *attrs, int parts, void *out);
    /* Sets the output's shape, batch first. A failure's words name the shapes that do not fit; the caller adds the
     * layer's name. Callers use tutti_op_infer, which also checks that nothing overflows. */
    tutti_status (*infer)(const void *attrs, const tutti_shape *in, int nin, tutti_shape *out, tutti_failure *err);
    /* Fills in the parameters and returns their number. NULL if the op has none. */
    int (*params)(const void *attrs, const tutti_shape *in, tutti_param_desc *out);
    /* Returns the floating-point operations of a forward pass over the whole batch. */
    double (*flops)(const void *attrs, const tutti_shape *in, const tutti_shape *out);
    const struct tutti_kernel_row *reference;
} tutti_op_row;

const tutti_op_row *tutti_op_find(const char *name); /* Returns the op of this name, or NULL. */
int tutti_op_count(void);
const tutti_op_row *tutti_op_at(int i);
/* Calls op->infer, and checks that every dim of the output and of the parameters is in 1 .. 2^31 - 1 and that every
 * tensor has at most 2^46 elements. */
tutti_status tutti_op_infer(const tutti_op_row *op, const void *attrs, const tutti_shape *in, int nin, tutti_shape *out,
                            tutti_failure *err);

typedef struct {
    tutti_shape shape;
    /* NULL means row-major. The kernel that made the layout owns it; it is valid until that kernel is destroyed */
    const struct tutti_layout *layout;
    size_t bytes;      /* bytes in memory, including the layout's padding */
    tutti_dtype dtype; /* type of the elements: f32, bf16 or f16 */
} tutti_value;
/* Returns a row-major f32 value of this shape. */
tutti_value tutti_value_plain(const tutti_shape *shape);

/* Values that a kernel reads again in its backward pass. The plan keeps their memory until then. */
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
    size_t saved_bytes;   /* bytes that forward writes and backward reads */
    size_t scratch_bytes; /* bytes of scratch: undefined before and after each call; 64-byte aligned */
    unsigned backward_reads;
    unsigned unread_inputs; /* bit i: backward does not read input i, even if it reads others (an addend) */
    /* true if out may be the memory of in[0]: both have the same bytes, backward does not read in[0], and in[0] is no
     * other input as well. In backward the gradient of in[0] may be the memory of dout */
    bool in_place;
    /* Bit i: the gradient of input i *is* dout (add). backward_data writes nothing for it, and readers of the input's
     * gradient read dout's memory. If the bits of all inputs are set, backward_data is not run at all. */
    unsigned passes_gradient;
    /* True if backward_params also writes din, if din is not NULL, so that values which both passes need are read once.
     * Then backward_data is not run. A caller that runs the two passes separately sets this to false. */
    bool joint_backward;
    /* True if backward_data uses what backward_params leaves behind (a masked gradient, sums that both need). Then
     * backward_params is run even if nobody uses the gradients of parameters. */
    bool feeds_data;
    bool writes_dout; /* true if the first backward pass changes dout (masks it in place) for the second one */
    /* If writes_dout: the first backward pass can take the gradient of out in up to this number of parts
     * (args.dout_parts). The pass sums them in order and leaves the masked sum in dout. 0 means that it reads the whole
     * gradient in dout. */
    int max_dout_parts;
    tutti_kernel_chosen chosen[TUTTI_NPASSES]; /* per pass: the chosen candidate, and why it was chosen */
    void *state;                               /* data of the kernel that only its row knows */
} tutti_kernel;

typedef struct {
    const void *in[TUTTI_MAX_OP_INPUTS]; /* the inputs, with the dtypes of kernel->in */
    void *out;
    const float *param[TUTTI_MAX_OP_PARAMS];
    void *dout; /* backward: the gradient of out; not changed unless writes_dout */
    /* the parts whose sum is the gradient of out; any of them may be dout's memory */
    const void *dout_parts[TUTTI_MAX_DOUT_PARTS];
    int ndout_parts;                /* number of parts; 0 means that dout holds the gradient. The second
                                                   * pass ignores this */
    void *din[TUTTI_MAX_OP_INPUTS]; /* backward_data: written (not added to); may be dout's memory if in_place. NULL if
                                     * nobody uses that gradient */
    /* gradients of parameters, which are written, not added to: of learned parameters by backward_params, of statistics
     * by forward in training. If those of all learned parameters are NULL, backward_params only does what feeds
     * backward_data */
    float *dparam[TUTTI_MAX_OP_PARAMS];
    void *saved, *scratch;
    bool training; /* the same value as in the request that the kernel was made for */
    /* keys of random numbers; first_sample: index of this call's first sample in the batch of all ranks */
    uint64_t seed, step, first_sample;
    uint32_t layer;
    /* On a device that records work and replays it: address at which the device finds seed, step and first_sample, in
     * this order, when the kernel runs. */
    const uint64_t *drawn;
    /* labels of the samples, for loss ops only */
    const int32_t *labels;
    float loss_scale; /* the gradient of the summed loss is multiplied by this (1 / global batch) */
    float *loss;      /* output: the sum of the samples' losses, in the order of samples */
    int32_t *correct; /* output: the number of samples whose largest logit is the label's */
} tutti_kernel_args;

typedef struct tutti_kernel_row {
    bool fuses; /* true if the row computes ReLUs and addends that are merged into the op; else fused_adapter.c does */
    /* true if the row reads activations of 16 bits directly; else half_adapter.c converts them to f32 */
    bool takes_halves;
    /* Makes a kernel. When it is called, k->op, attrs, in, ninputs and params are filled in, and out is row-major f32.
     * The function fills in out, the needs of the passes, and the state. */
    tutti_status (*create)(tutti_kernel *k, const struct tutti_kernel_request *r, tutti_failure *err);
    /* releases k->state, also of a kernel that is incomplete; NULL if there is nothing to release */
    void (*destroy)(tutti_kernel *k);
    void (*forward)(tutti_kernel *k, const tutti_kernel_args *a);
    void (*backward_params)(tutti_kernel *k, const tutti_kernel_args *a); /* NULL if the op has no parameters */
    void (*backward_data)(tutti_kernel *k, const tutti_kernel_args *a);
} tutti_kernel_row;

/* How activations are stored between kernels and multiplied. */
typedef enum { TUTTI_PRECISION_F32, TUTTI_PRECISION_BF16, TUTTI_PRECISION_F16, TUTTI_NPRECISIONS } tutti_precision;
const char *tutti_precision_name(tutti_precision p);  /* returns its name, such as "f32" */
tutti_dtype tutti_precision_dtype(tutti_precision p); /* returns the dtype of activations */

/* The rows that compute the passes. tutti_kernel_create wraps them in adapters where needed. */
typedef struct {
    const tutti_kernel_row *of[TUTTI_NPASSES];
    bool in_f32[TUTTI_NPASSES]; /* for each pass: true if it is computed in f32 behind half_adapter.c */
} tutti_kernel_rows;

typedef struct tutti_kernel_request {
    const char *engine; /* the wanted candidates: "auto", or a name (candidate.h), which is used for each layer that it
                         * fits */
    const tutti_op_row *op;
    const void *attrs;     /* the op's attributes; must live as long as the kernel */
    const tutti_value *in; /* descriptions of the nin inputs */
    int nin;
    tutti_precision precision; /* the output's dtype; inputs may have any dtype */
    bool training;
    int nthreads;
    const struct tutti_device *device; /* the device of the kernel (device/device_row.h), which outlives it; NULL means
                                        * the CPU */
    /* Bit i: a ReLU made input i, perhaps with pools, LRN, dropout or concatenation behind it. So the input has no
     * negative elements, and its gradient is not used at zeros, because the ReLU masks it. A kernel may leave zeros
     * there instead. */
    unsigned rectified;
    /* True if only max pools read the output. So at most one element of each of their windows has a gradient that is
     * not zero. After a merged ReLU no element has one if the window's maximum is zero. */
    bool pooled;
    /* The order in which a convolution leaves its output (order_rule.h); NONE lets its own shape decide. Other ops
     * follow their first input. */
    tutti_order order;
    /* true: compare only candidates with one order of additions, and ignore measured times (candidate.h) */
    bool canonical;
    const struct tutti_tuned *tuned; /* measured times (candidate.h); NULL means the calibrated rules alone */
    const tutti_kernel_rows *by;     /* the rows to use; NULL lets the chooser decide */
    /* The orders that the parameters have already, for a kernel that evaluates weights during training: nparams
     * descriptions, borrowed. NULL means row-major in evaluation; in training the kernel then chooses the orders. */
    const tutti_param_desc *params_as;
} tutti_kernel_request;

/* Returns the names of candidates, each once, for i = 0, 1, ...; then NULL. */
const char *tutti_candidate_name_at(int i);
/* Makes a kernel. Shapes of outputs come from the op's infer. */
tutti_status tutti_kernel_create(const tutti_kernel_request *request, tutti_kernel *k, tutti_failure *err);
void tutti_kernel_destroy(tutti_kernel *k);
/* Copy a value of any dtype into row-major f32, and back. */
void tutti_value_to_plain(const tutti_value *v, const void *from, float *plain);
void tutti_value_from_plain(const tutti_value *v, const float *plain, void *to);
/* Counts the elements of a value that are zero. Padding and NaNs do not count. Cost: one pass over the value. */
int64_t tutti_value_zeros(const tutti_value *v, const void *memory);
/* Copy the elements of a parameter into row-major f32, and back, for initial values and checkpoints. Padding becomes
 * zero. */
void tutti_param_to_plain(const tutti_param_desc *p, const float *from, float *plain);
void tutti_param_from_plain(const tutti_param_desc *p, const float *plain, float *to);
/* Hashes the order in which a parameter's elements lie; 0 means row-major. Ranks that add up gradients must have the
 * same hash. */
uint64_t tutti_param_order_hash(const tutti_param_desc *p);
/* Computes out = parts[0] + ... + parts[n - 1], in this order. All parts have one description. The gradients that
 * several readers of one value leave are added in this way. Sums are f32, rounded once. n <= TUTTI_MAX_SUM_PARTS; parts
 * may be the same, and out may be one of them. */
enum { TUTTI_MAX_SUM_PARTS = 64 };
void tutti_value_sum(const tutti_value *v, const void *const *parts, int n, void *out, int nthreads);
/* Writes how the candidates with the name `engine` compute in a precision: "f32", "bf16 (stored; f32 arithmetic)". */
void tutti_kernel_precision_describe(const char *engine, tutti_precision p, char out[96]);
/* Writes the name of the code that computes products: "oneDNN 3.2.0 (avx512_core_bf16)", "reference", "without oneDNN",
 * or "" if the named library is not in this build. */
void tutti_kernel_engine_describe(const char *engine, char out[96]);

#endif
