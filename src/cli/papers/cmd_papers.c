/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_papers.c: `tutti papers [NAME...]`: prints published figures beside ours, which are computed now. The pages lie
 * in papers/ beside the source tree's build folder, or in share/tutti/papers beside the installed program. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../papers/papers.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"dir", "DIR", "folder of the pages (default: papers/ of the source tree, or share/tutti/papers)", 0},
    {"json", NULL, "one JSON object a figure and line", 0},
};
enum { PATH_BYTES = 4096 };

/* Finds the first folder of papers that exists; false: none does. It tries the folder of the source tree in whose
 * build/ or build/test/ the program lies, and then the folder of the installation. */
static bool folder_find(char out[PATH_BYTES])
{
    static const char *const beside[] = {"../papers", "../../papers", "../share/tutti/papers"};
    char program[PATH_BYTES / 2];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return false;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (int i = 0; i < 3; i++) {
        snprintf(out, PATH_BYTES, "%s/%s", program, beside[i]);
        if (!access(out, R_OK | X_OK)) return true;
    }
    return false;
}

static int is_page(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 5 && !strcmp(entry->d_name + n - 5, ".yaml");
}

static tutti_status page_print(const char *folder, const char *name, bool json, tutti_failure *err)
{
    char path[PATH_BYTES + 300];
    size_t n = strlen(name);
    bool has_suffix = n > 5 && !strcmp(name + n - 5, ".yaml");
    snprintf(path, sizeof path, "%s/%.255s%s", folder, name, has_suffix ? "" : ".yaml");
    tutti_paper paper = {0};
    tutti_status st = tutti_paper_load(path, &paper, err);
    if (st) return st;
    tutti_strbuf out = {0};
    tutti_paper_print(&paper, json, &out);
    fputs(out.text, stdout);
    tutti_strbuf_release(&out);
    tutti_paper_release(&paper);
    return TUTTI_OK;
}

static tutti_status pages_print(const char *folder, bool json, tutti_failure *err)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_page, alphasort);
    if (n < 0) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: no such folder of pages", folder);
    tutti_status st = n ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "%s: no page (*.yaml) in it", folder);
    for (int i = 0; i < n; i++) {
        if (i && !json) puts("");
        if (!st) st = page_print(folder, entries[i]->d_name, json, err);
        free(entries[i]);
    }
    free(entries);
    return st;
}

static tutti_status papers(const tutti_flags *f, tutti_failure *err)
{
    char found[PATH_BYTES];
    const char *folder = tutti_cli_value(f, "dir", folder_find(found) ? found : NULL);
    if (!folder) return tutti_fail(err, TUTTI_ERR_USAGE, "no folder of pages beside the program; name it with --dir");
    if (!f->nrest) return pages_print(folder, tutti_cli_has(f, "json"), err);
    tutti_status st = TUTTI_OK;
    for (int i = 0; !st && i < f->nrest; i++) st = page_print(folder, f->rest[i], tutti_cli_has(f, "json"), err);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "papers",
        .usage = "tutti papers [NAME...] [options]",
        .about = "Published figures, how we reproduce them, and how far ours are: published | ours | ratio | verdict\n"
                 "(pass within 10 %, near within 25 %; a figure that nobody has read again is \"as recalled\" within "
                 "10 %, and never passes).",
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = papers,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_papers = {"papers", "published figures, and ours, computed now", run_command};
