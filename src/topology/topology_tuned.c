/* SPDX-License-Identifier: Apache-2.0 */
/* topology_tuned.c: the figures of this host that `tutti coll tune` wrote: one file, the text form on the last line that is
 * no comment. A missing file is no failure (figures are then assumed); a file fitted with another number of cores is not
 * used, because its figures are of another machine or of another share of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/file.h"
#include "../base/strbuf.h"
#include "topology_impl.h"

enum { MAX_BYTES = 65536 };

char *tutti_topology_tuned_path(void)
{
    tutti_strbuf path = {0};
    const char *file = getenv("TUTTI_TOPOLOGY"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (file && *file)
        tutti_strbuf_puts(&path, file);
    else if (cache && *cache)
        tutti_strbuf_printf(&path, "%s/tutti/host.topology", cache);
    else
        tutti_strbuf_printf(&path, "%s/.cache/tutti/host.topology", home && *home ? home : ".");
    return tutti_strbuf_detach(&path);
}

/* The last line that has text and does not begin with '#', or NULL; cut out of `text` in place. */
static char *last_line(char *text)
{
    char *found = NULL, *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (*line && *line != '#') found = line;
    return found;
}

tutti_status tutti_topology_of_this_host(tutti_topology *out, tutti_failure *err)
{
    tutti_status status = tutti_topology_parse("host", out, err);
    if (status) return status;
    char *path = tutti_topology_tuned_path(), *text = NULL;
    size_t nbytes = 0;
    if (access(path, F_OK)) {
        free(path);
        return TUTTI_OK;
    }
    tutti_topology fitted;
    status = tutti_file_read(path, MAX_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    char *line = status ? NULL : last_line(text);
    if (!status) status = tutti_topology_parse(line ? line : "", &fitted, err);
    if (status) tutti_fail_at(err, "%s (written by 'tutti coll tune'; remove it or tune again)", path);
    free(text);
    free(path);
    if (status) return status;
    if (fitted.kind != TUTTI_TOPOLOGY_HOST || fitted.figure[TUTTI_FIGURE_CORES] != out->figure[TUTTI_FIGURE_CORES])
        return TUTTI_OK;
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        if (fitted.from[f] == TUTTI_FROM_GIVEN && out->from[f] == TUTTI_FROM_ASSUMED) {
            out->figure[f] = fitted.figure[f];
            out->from[f] = TUTTI_FROM_FITTED;
        }
    return TUTTI_OK;
}
