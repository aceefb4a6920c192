/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_matrix.c: multiplies matrices of f32 by oneDNN's dnnl_sgemm, with signals blocked meanwhile. */
#include <assert.h>
#include <oneapi/dnnl/dnnl.h>

#include "../../base/signals.h"
#include "../crew.h"
#include "library_product.h"

bool tutti_library_multiplies(void)
{
    return true;
}

void tutti_library_multiply(const tutti_library_product *p)
{
    sigset_t before;
    tutti_crew_ask(p->nthreads);
    /* a signal handler must not run during the product, which keeps its stack pointer in the heap (onednn_pass.c) */
    tutti_signals_hold(&before);
    const dnnl_status_t status =
        dnnl_sgemm(p->a_turned ? 'T' : 'N', p->b_turned ? 'T' : 'N', p->m, p->n, p->k, 1, p->a,
                   p->a_turned ? p->m : p->k, p->b, p->b_turned ? p->k : p->n, p->adds ? 1 : 0, p->c, p->n);
    tutti_signals_release(&before);
    assert(status == dnnl_success); /* the call fails only if its arguments are wrong */
    (void)status;
}
