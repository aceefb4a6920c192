/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_global_pool.c: means of planes on a card (global_pool.cu). The output is (batch, channels), row-major. */
#include "cuda_rows.h"

/* These repeat the declarations of global_pool.cu. */
enum { EIGHT = 8, WIDE = 32, HIGH = 8, WARP = 32, MOST_ROWS = 65535 };

typedef struct {
    void *in, *out;
    int32_t in_type, out_type;
    int64_t batch, channels, plane;
    int32_t side_by_side;
} planes_args;

typedef struct {
    tutti_cuda *cuda;
    tutti_cuda_function forward, backward;
    planes_args args;
    tutti_cuda_grid grid, back_grid;
} planes;

static void share_out(planes *s, bool by_vectors)
{
    const planes_args *p = &s->args;
    const int64_t n = p->batch * p->channels * p->plane;
    s->back_grid = tutti_cuda_cover(by_vectors ? n / EIGHT : n, TUTTI_CUDA_THREADS, 1);
    if (by_vectors)
        s->grid = (tutti_cuda_grid){.blocks = {(uint32_t)((p->channels / EIGHT + WIDE - 1) / WIDE),
                                               (uint32_t)(p->batch < MOST_ROWS ? p->batch : MOST_ROWS)},
                                    .threads = {WIDE, HIGH}};
    else
        s->grid = tutti_cuda_cover(p->batch * p->channels * WARP, TUTTI_CUDA_THREADS, 1);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    planes *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->cuda = tutti_cuda_of(r->device);
    tutti_blocks b;
    const tutti_status st = tutti_cuda_check(k, r, err);
    if (st) return st;
    tutti_blocks_of(&k->in[0], &b);
    tutti_cuda_place_output(k, r, TUTTI_ORDER_NCHW, NULL);
    s->args = (planes_args){.in_type = (int32_t)k->in[0].dtype,
                            .out_type = (int32_t)k->out.dtype,
                            .batch = b.batch,
                            .channels = b.channels,
                            .plane = b.plane,
                            .side_by_side = b.block == b.channels};
    const bool by_vectors = s->args.side_by_side && b.channels % EIGHT == 0 && k->in[0].dtype == k->out.dtype;
    share_out(s, by_vectors);
    const char *by = by_vectors ? tutti_dtype_name(k->out.dtype) : "any";
    const tutti_cuda_wanted wanted[] = {{"mean_of_planes", &s->forward}, {"spread", &s->backward}};
    return tutti_cuda_find_by(s->cuda, "global_pool", by, wanted, 2, err);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    planes *s = k->state;
    planes_args p = s->args;
    p.in = (void *)(uintptr_t)a->in[0], p.out = a->out;
    tutti_cuda_run(s->cuda, s->forward, s->grid, (void *[]){&p});
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    planes *s = k->state;
    planes_args p = s->args;
    p.in = a->din[0], p.out = a->dout;
    if (p.in) tutti_cuda_run(s->cuda, s->backward, s->back_grid, (void *[]){&p});
}

const tutti_kernel_row tutti_cuda_global_pool = {
    .fuses = true,
    .takes_halves = true,
    .create = create,
    .destroy = tutti_cuda_free_state,
    .forward = forward,
    .backward_data = backward_data,
};
