/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_generic.c: the row that runs everywhere: GNU vectors of four floats, which a compiler turns into SSE, NEON or
 * plain code. It is also what the other rows are compared with. It has no streaming stores: `stream` is only a hint. */
#include <string.h>

#include "elementwise_impl.h"

typedef float vector __attribute__((vector_size(16)));
enum { WIDTH = 4 };

static inline vector load(const float *from)
{
    vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline vector add(vector older, vector newer)
{
    return older + newer;
}

static inline void store(float *to, vector v)
{
    memcpy(to, &v, sizeof v);
}

static inline void stream(float *to, vector v)
{
    store(to, v);
}

static inline void stream_fence(void)
{
}

static inline void leave_vectors(void)
{
}

#include "elementwise_loops.h"

static bool usable(void)
{
    return true;
}

const tutti_elementwise_row tutti_elementwise_generic = {
    "generic", usable, run_reduce, run_add_rows, &tutti_convert_generic, &tutti_reduce_generic};
