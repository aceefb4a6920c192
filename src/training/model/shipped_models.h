/* SPDX-License-Identifier: Apache-2.0 */
/* shipped_models.h: networks that come with the program: the files of src/training/model/zoo, embedded by the build
 * (cmake/embed_texts.cmake) as text in the format of docs/models.md, so that they are handled like anybody's and can be
 * copied and changed. Threads: constant. */
#ifndef TUTTI_SHIPPED_MODELS_H
#define TUTTI_SHIPPED_MODELS_H

#include "../../base/text/sourced.h"

extern const tutti_embedded_text tutti_shipped_models[]; /* by name; ends with a row of NULLs */

#endif
