/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: runs a helper program as a child process with a deadline. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../file.h"
#include "../process.h"
#include "../text/strbuf.h"
#include "program.h"

static bool can_run(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISREG(about.st_mode) && !access(path, X_OK);
}

/* Looks for the program at each place of $PATH. True: *out has the path. */
static bool find_on_path(const char *name, tutti_strbuf *out)
{
    const char *path = getenv("PATH");
    bool found = false;
    if (strchr(name, '/') || !path) {
        tutti_strbuf_puts(out, name);
        return can_run(name);
    }
    while (*path && !found) {
        const size_t n = strcspn(path, ":");
        out->length = 0;
        tutti_strbuf_add(out, path, n);
        tutti_strbuf_printf(out, "%s%s", n ? "/" : "", name);
        found = can_run(out->text);
        path += n + (path[n] == ':');
    }
    return found;
}

bool tutti_program_exists(const char *name)
{
    tutti_strbuf path = {0};
    const bool found = find_on_path(name, &path);
    tutti_strbuf_release(&path);
    return found;
}

char *tutti_program_find(const char *name)
{
    tutti_strbuf path = {0}, whole = {0};
    char *folder = find_on_path(name, &path) ? tutti_file_folder(path.text) : NULL;
    char *start = folder ? realpath(folder, NULL) : NULL;
    const char *slash = start ? strrchr(path.text, '/') : NULL;
    if (start) tutti_strbuf_printf(&whole, "%s/%s", strcmp(start, "/") ? start : "", slash ? slash + 1 : path.text);
    tutti_strbuf_release(&path);
    free(folder);
    free(start);
    return start ? tutti_strbuf_detach(&whole) : NULL;
}

bool tutti_program_beside(const char *name, char out[PATH_MAX])
{
    /* folders beside this program: of a build, of an installation, and seen from a helper of the installation */
    static const char *const places[] = {"", "../libexec/tutti/", "../../bin/"};
    char own[PATH_MAX];
    const ssize_t n = readlink(TUTTI_PROCESS_SELF, own, sizeof own - 1);
    if (n > 0) own[n] = 0;
    char *last = n > 0 ? strrchr(own, '/') : NULL;
    for (size_t i = 0; last && i < sizeof places / sizeof *places; i++) {
        const int fits = (int)(own + sizeof own - last - 1);
        if (snprintf(last + 1, (size_t)fits, "%s%s", places[i], name) >= fits || !can_run(own)) continue;
        memcpy(out, own, sizeof own);
        return true;
    }
    return false;
}

tutti_status tutti_program_run(const char *const *argv, const char *folder, double limit_s, tutti_failure *err)
{
    const tutti_process_options options = {.argv = argv,
                                           .folder = folder,
                                           .in = TUTTI_STREAM_NOTHING,
                                           .out = TUTTI_STREAM_NOTHING,
                                           .err = TUTTI_STREAM_NOTHING};
    tutti_process child;
    char words[TUTTI_PROCESS_WORDS];
    tutti_status st = tutti_process_start(&options, &child, err);
    if (st) return st;
    if (!tutti_process_wait(&child, limit_s)) {
        tutti_process_kill(&child);
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s was stopped after %g s", argv[0], limit_s);
    }
    if (!child.code) return TUTTI_OK;
    tutti_process_words(&child, words);
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s %s", argv[0], words);
}

tutti_status tutti_program_folder(char **path, tutti_failure *err)
{
    const char *base = getenv("TMPDIR");
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "%s/tutti-XXXXXX", base && *base ? base : "/tmp");
    char *name = tutti_strbuf_detach(&sb);
    if (!mkdtemp(name)) {
        tutti_status st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", name, strerror(errno));
        free(name);
        return st;
    }
    *path = name;
    return TUTTI_OK;
}
