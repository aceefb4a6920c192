/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: posix_spawn of a helper program with a deadline. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../arena.h"
#include "../clock.h"
#include "../text/strbuf.h"
#include "program.h"

extern char **environ;

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

static tutti_status spawn(const char *const *argv, const char *folder, pid_t *child, tutti_failure *err)
{
    posix_spawn_file_actions_t actions;
    char **copy; /* posix_spawn wants char *const *, and changes nothing */
    int n = 0;
    while (argv[n]) n++;
    copy = tutti_alloc((size_t)(n + 1) * sizeof *copy);
    memcpy(copy, argv, (size_t)(n + 1) * sizeof *copy);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
    int code = posix_spawnp(child, argv[0], &actions, NULL, copy, environ);
    posix_spawn_file_actions_destroy(&actions);
    free(copy);
    if (code) return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be run: %s", argv[0], strerror(code));
    return TUTTI_OK;
}

tutti_status tutti_program_run(const char *const *argv, const char *folder, double limit_s, tutti_failure *err)
{
    pid_t child;
    int code = 0;
    tutti_status st = spawn(argv, folder, &child, err);
    if (st != TUTTI_OK) return st;
    const double end = tutti_clock_s() + limit_s;
    double nap = 0.0005;
    pid_t done;
    while (!(done = waitpid(child, &code, WNOHANG)) && tutti_clock_s() < end) {
        tutti_clock_sleep_s(nap);
        if (nap < 0.02) nap *= 1.5;
    }
    if (!done) {
        kill(child, SIGKILL);
        waitpid(child, &code, 0);
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s was stopped after %g s", argv[0], limit_s);
    }
    if (done < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "%s cannot be waited for: %s", argv[0], strerror(errno));
    if (WIFSIGNALED(code))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s was killed by signal %d", argv[0], WTERMSIG(code));
    if (WEXITSTATUS(code))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s ended with code %d", argv[0], WEXITSTATUS(code));
    return TUTTI_OK;
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
