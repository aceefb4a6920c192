/* SPDX-License-Identifier: Apache-2.0 */
/* processor_figures.h: keys of a processor model's file that describe a class of kernels:
 * CLASS[/KERNEL][/PRECISION].TERM[.PASS], as in "conv.compute", "conv3x3/winograd.compute.forward",
 * "dense/onednn/bf16.launch.data". Threads: any (pure functions). */
#ifndef TUTTI_PROCESSOR_FIGURES_H
#define TUTTI_PROCESSOR_FIGURES_H

#include "processor_model.h"

enum { TUTTI_DEVICE_KEY = 80 };
/* Reads all fields of out but its value. Returns false if the key is unknown. out->kernel becomes a string of the
 * program, which is never freed. */
bool tutti_processor_model_key_read(const char *key, tutti_processor_model_figure *out);
/* Writes the key of a figure. */
void tutti_processor_model_key_write(const tutti_processor_model_figure *f, char out[TUTTI_DEVICE_KEY]);

#endif
