/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_switch.c: the kernel that holds a dense and a skipping convolution and runs one of them, pass by pass. */
#include "sparse_switch.h"

#include <stdlib.h>
#include <string.h>

#include "../choose/candidate.h"
#include "../choose/memory_order.h"

typedef struct {
    tutti_kernel dense, sparse;
    unsigned passes;
    bool masks_gradient;
    /* for each pass: speed of the dense kernel, divided by the speed of the kernel row with which the rule was
     * calibrated */
    double faster[TUTTI_NPASSES];
} switched;

static tutti_kernel *part_for(tutti_kernel *k, tutti_kernel_pass pass)
{
    switched *s = k->state;
    return s->passes >> pass & 1 ? &s->sparse : &s->dense;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_FORWARD);
    part->row->forward(part, a);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_PARAMS);
    part->row->backward_params(part, a);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_DATA);
    part->row->backward_data(part, a);
}

static void destroy(tutti_kernel *k)
{
    switched *s = k->state;
    tutti_kernel_destroy(&s->dense);
    tutti_kernel_destroy(&s->sparse);
    free(s);
}

/* The row of a switch. The row needs no `create`, because tutti_sparse_switch_around makes the kernel. */
static const tutti_kernel_row row = {
    .fuses = true,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};

static bool can_switch(const tutti_kernel_request *r, const tutti_kernel *k)
{
    const bool keeps =
        k->saved_bytes || k->backward_reads & TUTTI_READS_SAVED || k->passes_gradient || k->max_dout_parts;
    return r->training && k->op == &tutti_op_conv && (r->rectified & 1 || r->pooled) &&
           r->precision == TUTTI_PRECISION_F32 && k->in[0].dtype == TUTTI_F32 && !keeps && k->row != &tutti_sparse_conv;
}

/* Returns the speed of a dense kernel by the rules of the candidates. The rows with which the sparse rule was
 * calibrated have speed 1. */
static double how_fast(const tutti_kernel_request *r, const tutti_kernel *k, tutti_kernel_pass pass)
{
    static const char *const beside[] = {"onednn", "lanes"};
    const tutti_kernel_chosen *chosen = &k->chosen[pass];
    const tutti_kernel_candidate *library = tutti_candidate_find("onednn", k->op->name, r->precision);
    bool known = !chosen->name || chosen->why == TUTTI_CHOSEN_MEASURED || chosen->seconds <= 0;
    for (size_t i = 0; i < sizeof beside / sizeof *beside && !known; i++) known = !strcmp(chosen->name, beside[i]);
    return known ? 1 : library->seconds(k, r, pass) / chosen->seconds;
}

void tutti_sparse_switch_around(const tutti_kernel_request *r, tutti_kernel *k)
{
    tutti_kernel_request request = *r;
    tutti_kernel sparse;
    if (!can_switch(r, k)) return;
    request.params_as = k->params;
    request.order = tutti_order_of(&k->out);
    if (tutti_kernel_create_by(&tutti_sparse_conv, &request, &sparse, NULL) != TUTTI_OK) return;
    if (!tutti_order_same(&sparse.out, &k->out) || sparse.writes_dout != k->writes_dout) {
        tutti_kernel_destroy(&sparse);
        return;
    }
    switched *s = tutti_alloc(sizeof *s);
    *s = (switched){
        .dense = *k, .sparse = sparse, .masks_gradient = r->pooled || ((const tutti_conv_attrs *)k->attrs)->relu};
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) s->faster[pass] = how_fast(r, k, (tutti_kernel_pass)pass);
    s->dense.joint_backward = false;
    k->row = &row;
    k->state = s;
    k->joint_backward = false;
    k->backward_reads |= sparse.backward_reads;
    k->unread_inputs = 0;
    if (sparse.scratch_bytes > k->scratch_bytes) k->scratch_bytes = sparse.scratch_bytes;
}

bool tutti_sparse_is_switch(const tutti_kernel *k)
{
    return k->row == &row;
}

void tutti_sparse_set_passes(tutti_kernel *k, unsigned passes)
{
    switched *s = k->state;
    if (!tutti_sparse_is_switch(k)) return;
    s->passes = passes;
    tutti_sparse_conv_skip_outputs(&s->sparse, passes & TUTTI_SPARSE_BY_GRADIENT);
}

double tutti_sparse_dense_speed(const tutti_kernel *k, tutti_kernel_pass pass)
{
    const switched *s = k->state;
    return s->faster[pass];
}

bool tutti_sparse_masks_gradient(const tutti_kernel *k)
{
    const switched *s = k->state;
    return s->masks_gradient;
}

unsigned tutti_sparse_passes(const tutti_kernel *k)
{
    const switched *s = k->state;
    return tutti_sparse_is_switch(k) ? s->passes : 0;
}
