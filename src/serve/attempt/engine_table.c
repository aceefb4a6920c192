/* SPDX-License-Identifier: Apache-2.0 */
/* engine_table.c: the table of engines, which say where jobs run. */
#include <string.h>

#include "engine.h"

static const tutti_job_engine *const ENGINES[] = {
    &tutti_job_engine_local,
};
enum { NENGINES = sizeof ENGINES / sizeof *ENGINES };

const tutti_job_engine *tutti_job_engine_find(const char *name)
{
    for (int i = 0; i < NENGINES; i++)
        if (!strcmp(ENGINES[i]->name, name)) return ENGINES[i];
    return NULL;
}

void tutti_job_engine_names(tutti_strbuf *out)
{
    for (int i = 0; i < NENGINES; i++) tutti_strbuf_printf(out, "%s%s", i ? ", " : "", ENGINES[i]->name);
}
