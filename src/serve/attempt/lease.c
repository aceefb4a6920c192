/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c: takes, looks at and ends the leases of attempts, by locks that the system gives back when a keeper dies. */
#include "lease.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/host/unique.h"
#include "../../base/text/json.h"

enum { MOST_BYTES = 4096 };

static tutti_status write_file(const char *folder, const char *name, const tutti_strbuf *text, tutti_failure *err)
{
    char *path = tutti_file_in(folder, name);
    tutti_status st = tutti_file_write_atomic(path, text->text, text->length, err);
    free(path);
    return st;
}

/* Reads a number of a small JSON file. False: there is no such file, or no such number. */
static bool read_number(const char *folder, const char *name, const char *key, double *out)
{
    char *path = tutti_file_in(folder, name), *bytes;
    size_t n;
    const tutti_status st = tutti_file_read(path, MOST_BYTES, TUTTI_ERR_FAILED, &bytes, &n, NULL);
    free(path);
    if (st) return false;
    cJSON *root = tutti_json_parse(bytes, n);
    const double number = tutti_json_number_of(root, key, NAN);
    cJSON_Delete(root);
    free(bytes);
    if (isnan(number)) return false;
    *out = number;
    return true;
}

/* ---- taking ---- */

/* Makes `made`, which is not empty, the folder. False: there is one already. */
static tutti_status put(const char *made, const char *folder, bool *placed, tutti_failure *err)
{
    *placed = rename(made, folder) == 0; /* a folder that is not empty is never replaced */
    if (!*placed && errno != EEXIST && errno != ENOTEMPTY)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", folder, strerror(errno));
    char *parent = tutti_file_folder(folder);
    tutti_status st = *placed ? tutti_file_sync_dir(parent, err) : TUTTI_OK;
    free(parent);
    return st;
}

static tutti_status make_beside(const char *folder, char **made, tutti_failure *err)
{
    tutti_strbuf name = {0};
    tutti_strbuf_printf(&name, "%s.%016llx", folder, (unsigned long long)tutti_unique_number());
    *made = tutti_strbuf_detach(&name);
    if (mkdir(*made, 0700) == 0) return TUTTI_OK;
    tutti_status st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", *made, strerror(errno));
    free(*made);
    return st;
}

/* Makes the files of a lease in the folder `made` and locks it. */
static tutti_status fill(const char *made, int *lease, tutti_failure *err)
{
    char *path = tutti_file_in(made, "lease"), *log = tutti_file_in(made, "log");
    tutti_strbuf text = {0};
    tutti_json j = {.out = &text};
    tutti_json_open(&j, NULL, '{');
    tutti_json_int(&j, "pid", getpid());
    tutti_json_real(&j, "started", tutti_clock_wall_s());
    tutti_json_close(&j, '}');
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const int logged = open(log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    tutti_status st = TUTTI_OK;
    if (fd < 0 || logged < 0 || flock(fd, LOCK_EX | LOCK_NB))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    if (!st) st = tutti_file_write_all(fd, path, text.text, text.length, err);
    if (!st && !tutti_file_sync(fd)) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    if (logged >= 0) close(logged);
    if (st && fd >= 0) close(fd);
    *lease = st ? -1 : fd;
    tutti_strbuf_release(&text);
    free(log);
    free(path);
    return st;
}

tutti_status tutti_lease_take(const char *folder, int *lease, bool *taken, tutti_failure *err)
{
    char *made;
    *taken = false;
    tutti_status st = make_beside(folder, &made, err);
    if (st) return st;
    st = fill(made, lease, err);
    if (!st) st = put(made, folder, taken, err);
    if (!*taken) {
        if (*lease >= 0) close(*lease);
        tutti_file_remove_tree(made, NULL);
    }
    free(made);
    return st;
}

tutti_status tutti_lease_revoke(const char *folder, bool *revoked, tutti_failure *err)
{
    char *made;
    *revoked = false;
    tutti_status st = make_beside(folder, &made, err);
    if (st) return st;
    st = tutti_lease_note_end(made, -1, err);
    if (!st) st = put(made, folder, revoked, err);
    if (!*revoked) tutti_file_remove_tree(made, NULL);
    free(made);
    return st;
}

/* ---- looking ---- */

/* True if another process holds the lock of an open lease. */
static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB)) return true;
    flock(fd, LOCK_UN);
    return false;
}

static tutti_status open_lease(const char *folder, int *fd, tutti_failure *err)
{
    char *path = tutti_file_in(folder, "lease");
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    tutti_status st =
        *fd >= 0 || errno == ENOENT ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    free(path);
    return st;
}

tutti_status tutti_lease_look(const char *folder, tutti_lease_view *out, tutti_failure *err)
{
    double pid = 0, code = 0, asked = 0;
    int fd;
    *out = (tutti_lease_view){.state = TUTTI_LEASE_NEVER};
    /* looked for first: a folder that appears behind the look for its lease would be taken for a lost one */
    if (!tutti_file_is_folder(folder)) return TUTTI_OK;
    tutti_status st = open_lease(folder, &fd, err);
    if (st) return st;
    /* the keeper writes its end before it gives the lease back: so the lock is looked at first */
    const bool is_held = fd >= 0 && is_locked(fd);
    if (fd >= 0) close(fd);
    if (read_number(folder, "asked", "asked", &asked)) out->nasked = (int)asked;
    if (is_held) {
        out->state = TUTTI_LEASE_HELD;
        if (read_number(folder, "lease", "pid", &pid)) out->pid = (pid_t)pid;
        read_number(folder, "lease", "started", &out->at);
    } else if (read_number(folder, "exit", "code", &code)) {
        out->state = TUTTI_LEASE_ENDED;
        out->code = (int)code;
        read_number(folder, "exit", "ended", &out->at);
    } else {
        out->state = TUTTI_LEASE_LOST;
    }
    return TUTTI_OK;
}

tutti_status tutti_lease_signal(const char *folder, int signal_number, bool *sent, tutti_failure *err)
{
    tutti_lease_view view;
    *sent = false;
    tutti_status st = tutti_lease_look(folder, &view, err);
    if (st || view.state != TUTTI_LEASE_HELD || view.pid <= 0) return st;
    const int process = (int)syscall(SYS_pidfd_open, view.pid, 0);
    if (process < 0 && errno == ESRCH) return TUTTI_OK;
    if (process < 0)
        return tutti_fail(err, TUTTI_ERR_FAILED, "cannot reach process %d: %s", (int)view.pid, strerror(errno));
    /* the number may have gone to another process before it was opened, but not if the keeper lives still */
    st = tutti_lease_look(folder, &view, err);
    if (!st && view.state == TUTTI_LEASE_HELD)
        *sent = syscall(SYS_pidfd_send_signal, process, signal_number, NULL, 0) == 0;
    close(process);
    return st;
}

/* ---- notes of the keeper ---- */

tutti_status tutti_lease_note_asked(const char *folder, int nasked, tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text, "{\"asked\":%d}\n", nasked);
    tutti_status st = write_file(folder, "asked", &text, err);
    tutti_strbuf_release(&text);
    return st;
}

tutti_status tutti_lease_note_end(const char *folder, int code, tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_json j = {.out = &text};
    tutti_json_open(&j, NULL, '{');
    tutti_json_int(&j, "code", code);
    tutti_json_real(&j, "ended", tutti_clock_wall_s());
    tutti_json_close(&j, '}');
    tutti_status st = write_file(folder, "exit", &text, err);
    tutti_strbuf_release(&text);
    return st;
}
