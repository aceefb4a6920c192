/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_absent.c: stands for the oneDNN engine in a build without oneDNN: it is known by name and says that it is not
 * there, so that a job that asks for it is refused with words. CMake takes this file or the other onednn_*.c. */
#include "kernel_impl.h"

static const tutti_kernel_row *find(const char *op)
{
    (void)op;
    return NULL;
}

static const tutti_kernel_row *find_half(const char *op, tutti_precision precision, bool imitated)
{
    (void)op, (void)precision, (void)imitated;
    return NULL;
}

static const char *multiplies(tutti_precision precision)
{
    (void)precision;
    return NULL;
}

static tutti_order prefers(tutti_precision precision)
{
    (void)precision;
    return TUTTI_ORDER_NCHW;
}

static void describe(char out[96])
{
    out[0] = '\0';
}

const tutti_kernel_engine tutti_kernel_engine_onednn = {"onednn", find, find_half, multiplies, prefers, describe};
