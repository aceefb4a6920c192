/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.h: memory of a device between guards of NaN (gpu_memory.c). Threads: one. */
#ifndef TUTTI_BENCH_GPU_MEMORY_H
#define TUTTI_BENCH_GPU_MEMORY_H

#include "gpu_side.h"

/* What NaN is copied from, large enough for this many bytes or copied several times: before all others. false: no memory. */
bool gpu_take_nan(gpu_side *s, size_t nbytes);
/* Of NaN all over; 0 bytes: an address is had too. */
bool gpu_take(gpu_side *s, gpu_room *r, size_t nbytes);
/* A copy of `like`, which is as large. */
void gpu_copy(gpu_side *s, const gpu_room *r, const gpu_room *like);
void gpu_give_back(gpu_side *s, gpu_room *r); /* none is fine */
void *gpu_at(const gpu_room *r);              /* NULL = none */
/* The host's bytes, which the device has when it returns; NaN, put on the device's queue. */
void gpu_put(gpu_side *s, const gpu_room *r, const void *from);
void gpu_poison(gpu_side *s, const gpu_room *r);
/* A copy, after all that is on the queue; free() gives it back. */
void *gpu_get(const gpu_side *s, const gpu_room *r);
bool gpu_guard_holds(const gpu_side *s, const gpu_room *r);

#endif
