/* SPDX-License-Identifier: Apache-2.0 */
/* relaxed.h: access to elements that several ranks may read and write at the same time, because a method allows it
 * (Hogwild). In C that is a data race unless the accesses are atomic. On every processor that we build for, an aligned
 * float is read and written whole. Loops over such elements use these functions. In a build for ThreadSanitizer the
 * functions are relaxed atomic accesses, so that it reports only races that are not meant. Otherwise they are plain
 * accesses, which the compiler turns into vectors.
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
