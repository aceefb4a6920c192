/* SPDX-License-Identifier: Apache-2.0 */
/* kineto.h: a trace of PyTorch's profiler (Kineto's JSON, as torch.profiler's export_chrome_trace writes it) as a layer trace.
 *
 * Wanted: activities CPU, record_shapes=True (bytes of parameters), with_stack=True (spans of modules), and a forward and a backward pass.
 *
 *   layer     an instance of a torch.nn module that runs operators itself, not in a module inside it: the profiler's name for it, `Conv2d_0`.
 *             Order: of its first operator. Operators outside all modules whose gradients are computed are the layer `outside`
 *   Forward   the module's span without the spans of modules in it
 *   Backward  spans of the autograd engine (`autograd::engine::evaluate_function: ...`) that bear the sequence number of one of its operators
 *   Size      parameters of its operators by their shapes and types (rows of kineto.c); 0 where it has none
 * Means over the spans `ProfilerStep#N`; where there is none all is one step. Comm is 0. Optimiser and containers' own time are left out.
 * Threads: owner. */
#ifndef TUTTI_KINETO_H
#define TUTTI_KINETO_H

#include "layer_trace.h"

/* TUTTI_ERR_DATA: no JSON, no such trace, a trace of a GPU (whose kernels are not followed), or the options above were missing. */
tutti_status tutti_kineto_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                tutti_failure *err);
tutti_status tutti_kineto_read(const char *path, tutti_layer_trace *out, tutti_failure *err);

#endif
