/* SPDX-License-Identifier: Apache-2.0 */
/* predict_layers_file.h: `tutti predict LAYERS.txt`. Threads: owner. */
#ifndef TUTTI_PREDICT_LAYERS_FILE_H
#define TUTTI_PREDICT_LAYERS_FILE_H

#include "../cli.h"

/* Whether the first argument is a layer file, by what it is or by flags that only layer files have. */
bool tutti_predict_wants_layers_file(const tutti_flags *f);
/* The whole command, for a file of the six columns. */
tutti_status tutti_predict_layers_file(const tutti_flags *f, tutti_failure *err);

#endif
