/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.h: memory of a device between guards of NaN (gpu_memory.c). Threads: one. */
#ifndef TUTTI_BENCH_GPU_MEMORY_H
#define TUTTI_BENCH_GPU_MEMORY_H

#include "gpu_side.h"

/* Of NaN all over; 0 bytes: an address is had too. false: no memory. */
bool gpu_take(gpu_side *s, gpu_room *r, size_t nbytes);
void gpu_give_back(gpu_side *s, gpu_room *r); /* none is fine */
void *gpu_at(const gpu_room *r);              /* NULL = none */
/* Put on the device's queue: all of the host's bytes, which stay until the device has finished; NaN. */
void gpu_put(gpu_side *s, const gpu_room *r, const void *from);
void gpu_poison(gpu_side *s, const gpu_room *r);
/* A copy, after all that is on the queue; free() gives it back. */
void *gpu_get(const gpu_side *s, const gpu_room *r);
bool gpu_guard_holds(const gpu_side *s, const gpu_room *r);

#endif
