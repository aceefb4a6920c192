/* SPDX-License-Identifier: Apache-2.0 */
/* joined_adapter.c: computes the passes of one layer by different rows. The adapter holds a kernel of each row, and
 * each kernel runs the passes that were chosen for it.
 *
 * The kernel of the forward pass decides in which orders parameters and output lie. The other kernels must use the same
 * orders. Creation fails if one of them cannot, or if some leave dout masked and others do not. Then the chooser takes
 * one row for all passes. Only rows that keep nothing in `saved` between their passes can be joined. */
#include <stdlib.h>

#include "memory_order.h"

typedef struct {
    tutti_kernel parts[TUTTI_NPASSES];
    int nparts;
    int part_of[TUTTI_NPASSES]; /* for each pass: the index of the part that computes it */
} joined;

static bool is_same_row(const tutti_kernel_rows *by, int a, int b)
{
    return by->of[a] == by->of[b] && by->in_f32[a] == by->in_f32[b];
}

/* Makes a part, that is an inner kernel, for each row that has none yet. */
static tutti_status create_parts(joined *j, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int pass = 0; pass < TUTTI_NPASSES && st == TUTTI_OK; pass++) {
        int before = 0;
        while (!is_same_row(r->by, before, pass)) before++;
        if (before < pass) {
            j->part_of[pass] = j->part_of[before];
            continue;
        }
        tutti_kernel_rows rows;
        tutti_kernel_request request = *r;
        for (int i = 0; i < TUTTI_NPASSES; i++) rows.of[i] = r->by->of[pass], rows.in_f32[i] = r->by->in_f32[pass];
        request.by = &rows;
        if (pass) {
            const tutti_kernel *first = &j->parts[0];
            if (first->nparams) request.params_as = first->params;
            if (first->out.shape.ndims == 4) request.order = tutti_order_of(&first->out);
        }
        j->part_of[pass] = j->nparts;
        st = tutti_kernel_create(&request, &j->parts[j->nparts], err);
        if (st == TUTTI_OK) j->nparts++;
    }
    return st;
}

static bool lies_alike(const tutti_kernel *a, const tutti_kernel *b)
{
    bool alike = a->out.dtype == b->out.dtype && a->out.bytes == b->out.bytes && tutti_order_same(&a->out, &b->out);
    for (int p = 0; p < a->nparams && alike; p++)
        alike = a->params[p].elements == b->params[p].elements &&
                tutti_param_order_hash(&a->params[p]) == tutti_param_order_hash(&b->params[p]);
    return alike;
}

static tutti_status check_parts(const joined *j, const tutti_kernel *k, tutti_failure *err)
{
    const tutti_kernel *first = &j->parts[0];
    for (int i = 0; i < j->nparts; i++) {
        const tutti_kernel *part = &j->parts[i];
        const char *wrong = part->saved_bytes || part->backward_reads & TUTTI_READS_SAVED
                                ? "keep something for each other"
                            : part->passes_gradient ? "pass a gradient on"
                            : part->writes_dout != first->writes_dout || part->feeds_data != first->feeds_data
                                ? "leave different gradients to each other"
                            : !lies_alike(first, part) ? "want different orders"
                                                       : NULL;
        if (wrong)
            return tutti_fail(err, TUTTI_ERR_USAGE, "passes of op %s that are to be joined %s", k->op->name, wrong);
    }
    return TUTTI_OK;
}

/* Collects which values the parts read in their backward passes. */
static void join_reads(tutti_kernel *k, const joined *j)
{
    k->unread_inputs = (1u << k->ninputs) - 1;
    for (int pass = TUTTI_PASS_PARAMS; pass < TUTTI_NPASSES; pass++) {
        if (pass == TUTTI_PASS_PARAMS && !k->nparams) continue;
        const tutti_kernel *part = &j->parts[j->part_of[pass]];
        k->backward_reads |= part->backward_reads;
        if (part->backward_reads & TUTTI_READS_INPUT) k->unread_inputs &= part->unread_inputs;
    }
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    joined *j = tutti_alloc(sizeof *j);
    k->state = j;
    tutti_status st = create_parts(j, r, err);
    if (st == TUTTI_OK) st = check_parts(j, k, err);
    if (st != TUTTI_OK) return st;
    const tutti_kernel *forward = &j->parts[0],
                       *first_back = &j->parts[j->part_of[k->nparams ? TUTTI_PASS_PARAMS : TUTTI_PASS_DATA]];
    k->out = forward->out;
    for (int p = 0; p < k->nparams; p++) k->params[p] = forward->params[p];
    join_reads(k, j);
    k->writes_dout = first_back->writes_dout;
    k->feeds_data = first_back->feeds_data;
    k->max_dout_parts = first_back->max_dout_parts;
    for (int i = 0; i < j->nparts; i++) {
        /* another part computes the input gradient, so this part must not write it as well */
        j->parts[i].joint_backward = false;
        if (j->parts[i].scratch_bytes > k->scratch_bytes) k->scratch_bytes = j->parts[i].scratch_bytes;
    }
    return TUTTI_OK;
}

static void destroy(tutti_kernel *k)
{
    joined *j = k->state;
    for (int i = 0; j && i < j->nparts; i++) tutti_kernel_destroy(&j->parts[i]);
    free(j);
}

static tutti_kernel *part_for(tutti_kernel *k, tutti_kernel_pass pass)
{
    joined *j = k->state;
    return &j->parts[j->part_of[pass]];
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_FORWARD);
    part->row->forward(part, a);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_PARAMS);
    if (part->row->backward_params) part->row->backward_params(part, a);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_kernel *part = part_for(k, TUTTI_PASS_DATA);
    part->row->backward_data(part, a);
}

const tutti_kernel_row tutti_kernel_joined_adapter = {
    .create = create,
    .destroy = destroy,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
