/* SPDX-License-Identifier: Apache-2.0 */
/* topology_tuned.c: reads the figures of this host that `tutti coll tune` wrote. All figures are in one file. Its last
 * line that is not a comment is the text form of a topology. A missing file is no failure: then figures are assumed. A
 * file that was fitted with another number of cores is not used, because it describes another machine, or another part
 * of the machine. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/file.h"
#include "../base/host/user_folder.h"
#include "../base/text/strbuf.h"
#include "topology_impl.h"

enum { MAX_BYTES = 65536 };

char *tutti_topology_tuned_path(void)
{
    tutti_strbuf path = {0};
    const char *file = getenv("TUTTI_TOPOLOGY");
    char *cache = tutti_user_folder(NULL, "XDG_CACHE_HOME", ".cache");
    if (file && *file)
        tutti_strbuf_puts(&path, file);
    else
        tutti_strbuf_printf(&path, "%s/host.topology", cache ? cache : "./.cache/tutti");
    free(cache);
    return tutti_strbuf_detach(&path);
}

/* Returns the last line that is not empty and does not begin with '#', or NULL. The line is ended with '\0' inside
 * `text`. */
static char *last_line(char *text)
{
    char *found = NULL, *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (*line && *line != '#') found = line;
    return found;
}

static void note(char notes[TUTTI_TOPOLOGY_NOTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(char notes[TUTTI_TOPOLOGY_NOTES], const char *format, ...)
{
    if (!notes) return;
    const size_t at = strlen(notes);
    va_list args;
    va_start(args, format);
    vsnprintf(notes + at, TUTTI_TOPOLOGY_NOTES - at, format, args);
    va_end(args);
}

/* Reads the topology from the file. *found becomes false if there is no file. */
static tutti_status read_fitted(const char *path, const tutti_host_shape *machine, tutti_topology *out, bool *found,
                                tutti_failure *err)
{
    char *text = NULL;
    size_t nbytes = 0;
    *found = !access(path, F_OK);
    if (!*found) return TUTTI_OK;
    tutti_status st = tutti_file_read(path, MAX_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    char *line = st ? NULL : last_line(text);
    if (!st) st = tutti_topology_parse_on(line ? line : "", machine, out, err);
    if (st) tutti_fail_at(err, "%s (written by 'tutti coll tune'; remove it or tune again)", path);
    free(text);
    return st;
}

static void take_fitted(const tutti_topology *fitted, const char *path, tutti_topology *out, char *notes)
{
    const double there = fitted->figure[TUTTI_FIGURE_CORES], here = out->figure[TUTTI_FIGURE_CORES];
    if (fitted->kind != TUTTI_TOPOLOGY_HOST || there != here) {
        note(notes,
             "the figures in %.300s were fitted for %g cores, not for %g, and are not used: 'tutti coll tune' fits "
             "them anew\n",
             path, there, here);
        return;
    }
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        if (fitted->from[f] == TUTTI_FROM_GIVEN && out->from[f] == TUTTI_FROM_ASSUMED) {
            out->figure[f] = fitted->figure[f];
            out->from[f] = TUTTI_FROM_FITTED;
        }
}

tutti_status tutti_topology_of_machine(const tutti_host_shape *machine, int ncores, tutti_topology *out,
                                       char notes[TUTTI_TOPOLOGY_NOTES], tutti_failure *err)
{
    const int own = machine->own_cores, host = machine->ncores;
    tutti_host_shape share = *machine;
    tutti_topology fitted;
    bool found;
    if (notes) notes[0] = '\0';
    if (ncores > 0) share.ncores = ncores;
    tutti_status st = tutti_topology_parse_on("host", &share, out, err);
    if (st) return st;
    if (ncores <= 0 && own < host)
        note(notes,
             "this process may use %d of the host's %d cores (taskset, a launcher's binding): --cores %d is for those "
             "alone\n",
             own, host, own);
    char *path = tutti_topology_tuned_path();
    st = read_fitted(path, machine, &fitted, &found, err);
    if (!st && found) take_fitted(&fitted, path, out, notes);
    free(path);
    return st;
}

tutti_status tutti_topology_of_cores(int ncores, tutti_topology *out, char notes[TUTTI_TOPOLOGY_NOTES],
                                     tutti_failure *err)
{
    tutti_host_shape machine;
    tutti_topology_detect(&machine);
    return tutti_topology_of_machine(&machine, ncores, out, notes, err);
}

tutti_status tutti_topology_of_this_host(tutti_topology *out, tutti_failure *err)
{
    return tutti_topology_of_cores(0, out, NULL, err);
}
