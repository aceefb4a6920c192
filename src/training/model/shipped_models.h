/* SPDX-License-Identifier: Apache-2.0 */
/* shipped_models.h: networks that come with the program. The build embeds the files of src/training/model/zoo as text
 * (cmake/embed_texts.cmake) in the format of docs/models.md, so that they are read like any user's file and can be
 * copied and changed. Threads: constant. */
#ifndef TUTTI_SHIPPED_MODELS_H
#define TUTTI_SHIPPED_MODELS_H

#include "../../base/text/sourced.h"

extern const tutti_embedded_text tutti_shipped_models[]; /* sorted by name; ends with a row of NULLs */

#endif
