/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_absent.c: replaces oneDNN in a build without it. The library's rows exist by name but fit nothing, and a job
 * that names them is refused with a message. CMake compiles either this file or all other files onednn_*.c. */
#include <assert.h>

#include "../choose/dense_ways.h"
#include "library_product.h"

static tutti_status refuse(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r;
    return tutti_fail(err, TUTTI_ERR_USAGE, "op %s by oneDNN is not in this build", k->op->name);
}

const tutti_kernel_row tutti_onednn_conv = {.create = refuse};
const tutti_kernel_row tutti_onednn_dense = {.create = refuse};
const tutti_kernel_row tutti_onednn_bf16_conv = {.takes_halves = true, .create = refuse};
const tutti_kernel_row tutti_onednn_bf16_dense = {.takes_halves = true, .create = refuse};

const tutti_kernel_row tutti_conv_lanes = {.takes_halves = true, .create = refuse};
const tutti_kernel_row tutti_conv_tiles = {.takes_halves = true, .create = refuse};

#define FITS_NOTHING(name)                                                                                             \
    bool name##_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)                     \
    {                                                                                                                  \
        (void)k, (void)r, (void)pass;                                                                                  \
        return false;                                                                                                  \
    }                                                                                                                  \
    double name##_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)                \
    {                                                                                                                  \
        (void)k, (void)r, (void)pass;                                                                                  \
        return -1;                                                                                                     \
    }
FITS_NOTHING(tutti_onednn)
FITS_NOTHING(tutti_conv_lanes)
FITS_NOTHING(tutti_conv_tiles)

const char *tutti_onednn_multiplies(tutti_precision precision)
{
    (void)precision;
    return NULL;
}

tutti_order tutti_onednn_prefers(tutti_precision precision)
{
    (void)precision;
    return TUTTI_ORDER_NCHW;
}

void tutti_onednn_describe(char out[96])
{
    out[0] = '\0';
}

bool tutti_library_multiplies(void)
{
    return false;
}

void tutti_library_multiply(const tutti_library_product *p)
{
    (void)p;
    assert(!"nobody calls it without tutti_library_multiplies");
}
