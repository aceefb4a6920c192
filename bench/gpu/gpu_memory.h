/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.h: memory of a device between guards of NaN (gpu_memory.c). Threads: one. */
#ifndef TUTTI_BENCH_GPU_MEMORY_H
#define TUTTI_BENCH_GPU_MEMORY_H

#include "gpu_side.h"

/* Makes s->nan, from which all poison is copied; it is called before all others. nbytes: the largest vector, though a
 * large one is poisoned by several copies. false: the device has no memory. */
bool gpu_take_nan(gpu_side *s, size_t nbytes);
/* Makes r a vector of nbytes that holds NaN all over. A vector of 0 bytes has an address, too. false: the device has no
 * memory. */
bool gpu_take(gpu_side *s, gpu_room *r, size_t nbytes);
/* Copies `like` to r, which is as large. */
void gpu_copy(gpu_side *s, const gpu_room *r, const gpu_room *like);
void gpu_give_back(gpu_side *s, gpu_room *r); /* r may be no vector */
void *gpu_at(const gpu_room *r);              /* the first byte of the vector; NULL: r is none */
/* Copies the host's bytes to r; the device has them when the call returns. */
void gpu_put(gpu_side *s, const gpu_room *r, const void *from);
/* Puts on the device's queue that r becomes NaN all over. */
void gpu_poison(gpu_side *s, const gpu_room *r);
/* Waits for the device's queue and returns a copy of r; the caller frees it. */
void *gpu_get(const gpu_side *s, const gpu_room *r);
/* Whether both guards of r hold NaN; true where r is no vector. */
bool gpu_guard_holds(const gpu_side *s, const gpu_room *r);

#endif
