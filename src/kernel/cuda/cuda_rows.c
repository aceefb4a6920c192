/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rows.c: functions that all kernel rows of a card share: checks, placement of outputs, finding functions. */
#include "cuda_rows.h"

#include <stdio.h>
#include <stdlib.h>

static const double BYTES_A_SECOND = 2e12; /* bytes a second, roughly that of cards with stacked memory */

bool tutti_cuda_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    if (!r->device || r->device->kind != TUTTI_DEVICE_CUDA) return false;
    bool fits = true;
    (void)pass;
    for (int i = 0; i < k->ninputs; i++) fits = fits && tutti_cuda_reads(&k->in[i]);
    return fits;
}

double tutti_cuda_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)r, (void)pass;
    return tutti_candidate_bytes(k) / BYTES_A_SECOND;
}

tutti_status tutti_cuda_check(const tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    if (tutti_cuda_fits(k, r, TUTTI_PASS_FORWARD)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "op %s on a card: an input is neither row-major nor channels last, or not of f32, bf16 or f16",
                      k->op->name);
}

tutti_status tutti_cuda_like_input(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    k->out.dtype = tutti_precision_dtype(r->precision);
    k->out.layout = k->in[0].layout;
    k->out.bytes = (size_t)tutti_value_elements(&k->in[0]) * tutti_dtype_bytes(k->out.dtype);
    return TUTTI_OK;
}

void tutti_cuda_place_output(tutti_kernel *k, const tutti_kernel_request *r, tutti_order order, tutti_layout *layout)
{
    k->out.dtype = tutti_precision_dtype(r->precision);
    tutti_order_apply(order, &k->out, layout);
}

tutti_status tutti_cuda_find_by(tutti_cuda *c, const char *module, const char *by, const tutti_cuda_wanted *wanted,
                                int n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < n && !st; i++) {
        char entry[64];
        snprintf(entry, sizeof entry, "%s_%s", wanted[i].entry, by);
        st = tutti_cuda_find(c, tutti_kernel_texts, module, entry, wanted[i].out, err);
    }
    return st;
}

void tutti_cuda_free_state(tutti_kernel *k)
{
    free(k->state);
}
