/* SPDX-License-Identifier: Apache-2.0 */
/* shipped_models.c: finds shipped models in the table of embedded files. */
#include "shipped_models.h"

#include "model.h"

const char *tutti_model_shipped_at(int i)
{
    for (int m = 0; tutti_shipped_models[m].name; m++)
        if (m == i) return tutti_shipped_models[m].name;
    return NULL;
}

const char *tutti_model_shipped_text(const char *name)
{
    return tutti_embedded_find(tutti_shipped_models, name);
}
