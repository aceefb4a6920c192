/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_flatten.c: flatten on a card: (B, C, H, W) as (B, C * H * W). A row-major input is not copied. Channels last are
 * copied into row-major order in one launch, and so are gradients back. (Dense layers read planes by themselves.) */
#include "cuda_rows.h"

typedef struct {
    tutti_cuda *cuda;
    const tutti_cuda_values *values;
} flatten;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    flatten *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    const tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    tutti_cuda_place_output(k, r, TUTTI_ORDER_NCHW, NULL);
    k->in_place = k->in[0].dtype == k->out.dtype && !tutti_cuda_is_nhwc(&k->in[0]);
    return tutti_cuda_values_of(s->cuda, &s->values, err);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const flatten *s = k->state;
    tutti_cuda_value_move(s->cuda, s->values, (tutti_cuda_place){&k->in[0], (void *)(uintptr_t)a->in[0]},
                          (tutti_cuda_place){&k->out, a->out});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const flatten *s = k->state;
    if (a->din[0])
        tutti_cuda_value_move(s->cuda, s->values, (tutti_cuda_place){&k->out, a->dout},
                              (tutti_cuda_place){&k->in[0], a->din[0]});
}

const tutti_kernel_row tutti_cuda_flatten = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
