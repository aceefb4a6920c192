/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: runs a helper program as a child process with a deadline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../process.h"
#include "../text/strbuf.h"
#include "program.h"

static bool can_run(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISREG(about.st_mode) && !access(path, X_OK);
}

bool tutti_program_exists(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/') || !path) return can_run(name);
    while (*path) {
        size_t n = strcspn(path, ":");
        tutti_strbuf sb = {0};
        tutti_strbuf_add(&sb, path, n);
        tutti_strbuf_printf(&sb, "%s%s", n ? "/" : "", name);
        const bool found = can_run(sb.text);
        tutti_strbuf_release(&sb);
        if (found) return true;
        path += n + (path[n] == ':');
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
