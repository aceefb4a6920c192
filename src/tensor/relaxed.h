/* SPDX-License-Identifier: Apache-2.0 */
/* relaxed.h: elements that several ranks may read and write at the same time, because a method says so (Hogwild). In C
 * that is a data race unless the accesses are atomic; on every processor that we build for, an aligned float is read
 * and written whole. So loops are written once with these: relaxed atomics where ThreadSanitizer looks on, which then
 * reports every race that is not meant, and plain accesses otherwise, of which the compiler makes vectors.
 *
 * Threads: any. */
#ifndef TUTTI_RELAXED_H
#define TUTTI_RELAXED_H

#if defined(__SANITIZE_THREAD__)
static inline float tutti_relaxed_read(const float *at)
{
    float value;
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void tutti_relaxed_write(float *at, float value)
{
    __atomic_store(at, &value, __ATOMIC_RELAXED);
}
#else
static inline float tutti_relaxed_read(const float *at)
{
    return *at;
}

static inline void tutti_relaxed_write(float *at, float value)
{
    *at = value;
}
#endif

#endif
