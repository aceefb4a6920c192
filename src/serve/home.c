/* SPDX-License-Identifier: Apache-2.0 */
/* home.c: makes and locks the folder of a job server, and reads and writes the small files in it. */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../base/file.h"
#include "../base/text/strbuf.h"
#include "../http/guard.h"

enum { LEAST_TOKEN = 32 };

char *tutti_serve_home_file(const tutti_serve_home *home, const char *name)
{
    return tutti_file_in(home->path, name);
}

/* ---- file systems ---- */

bool tutti_serve_home_is_remote(long magic, const char *kind)
{
    static const unsigned long remote[] = {0x6969,     0x517b,     0xfe534d42, 0xff534d42, 0x0bd00bd0,
                                           0x00c36400, 0x5346414f, 0x47504653, 0x19830326, 0x7461636f};
    static const char *const local[] = {"fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.exfat", "fuse.lxcfs"};
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if (((unsigned long)magic & 0xffffffff) == remote[i]) return true;
    if (((unsigned long)magic & 0xffffffff) != 0x65735546) return false; /* not FUSE */
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (!strcmp(kind, local[i])) return false;
    return true;
}

/* Finds the type of the mount that the device of a file belongs to; "" if the system does not say. */
static void find_kind(dev_t device, char kind[64])
{
    char *line = NULL;
    size_t room = 0;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    *kind = '\0';
    while (mounts && getline(&line, &room, mounts) > 0) { /* "36 35 98:0 / /mnt rw - ext4 /dev/sda rw" */
        unsigned major, minor;
        const char *type = strstr(line, " - ");
        if (type && sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 && major == (unsigned)(device >> 8 & 0xfff) &&
            minor == (unsigned)((device & 0xff) | (device >> 12 & 0xfff00)))
            snprintf(kind, 64, "%.*s", (int)strcspn(type + 3, " "), type + 3);
    }
    free(line);
    if (mounts) fclose(mounts);
}

static tutti_status check_place(const char *path, tutti_failure *err)
{
    struct statfs fs;
    struct stat of;
    char kind[64];
    if (statfs(path, &fs) || stat(path, &of)) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    find_kind(of.st_dev, kind);
    if (!tutti_serve_home_is_remote((long)fs.f_type, kind)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s lies on a network file system (%s), where the store would break: name a folder on a local "
                      "disk by --home",
                      path, *kind ? kind : "by its type");
}

/* ---- the lock ---- */

static tutti_status take_lock(tutti_serve_home *home, tutti_failure *err)
{
    char *path = tutti_serve_home_file(home, "lock"), pid[24] = "";
    tutti_status st = TUTTI_OK;
    home->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (home->lock < 0) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    } else if (flock(home->lock, LOCK_EX | LOCK_NB)) {
        (void)!pread(home->lock, pid, sizeof pid - 1, 0);
        st = tutti_fail(err, TUTTI_ERR_USAGE, "process %.*s serves %s already", (int)strcspn(pid, "\n"), pid,
                        home->path);
        close(home->lock);
    } else {
        const int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
        if (ftruncate(home->lock, 0) || pwrite(home->lock, pid, (size_t)n, 0) != n) {
            st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot be written: %s", path, strerror(errno));
            close(home->lock);
        }
    }
    free(path);
    return st;
}

tutti_status tutti_serve_home_open(const char *path, tutti_serve_home *out, tutti_failure *err)
{
    *out = (tutti_serve_home){.lock = -1};
    tutti_status st = tutti_file_make_dir(path, err);
    if (st) return st;
    if (chmod(path, 0700)) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    tutti_serve_home home = {.path = realpath(path, NULL), .lock = -1};
    if (!home.path) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    char *jobs = tutti_serve_home_file(&home, "jobs");
    st = check_place(home.path, err);
    if (!st) st = take_lock(&home, err);
    if (!st) st = tutti_file_make_dir_in_place(jobs, err);
    free(jobs);
    if (st)
        free(home.path);
    else
        *out = home;
    return st;
}

void tutti_serve_home_close(tutti_serve_home *home)
{
    if (!home->path) return;
    char *address = tutti_serve_home_file(home, "address");
    unlink(address);
    free(address);
    close(home->lock);
    free(home->path);
    *home = (tutti_serve_home){.lock = -1};
}

/* ---- small files ---- */

tutti_status tutti_serve_read_token(const char *path, char *token, int room, tutti_failure *err)
{
    char *bytes;
    size_t n;
    tutti_status st = tutti_file_read(path, 4096, TUTTI_ERR_USAGE, &bytes, &n, err);
    if (st) return tutti_fail_at(err, "%s", path);
    n = strcspn(bytes, "\r\n");
    if (n < LEAST_TOKEN || n >= (size_t)room)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: a token is one line of %d to %d characters", path, LEAST_TOKEN,
                        room - 1);
    else
        snprintf(token, (size_t)room, "%.*s", (int)n, bytes);
    free(bytes);
    return st;
}

/* Writes a small file of mode 0600 under a temporary name and renames it. */
static tutti_status write_private(const char *path, const char *text, tutti_failure *err)
{
    tutti_strbuf name = {0};
    tutti_strbuf_printf(&name, "%s.new", path);
    int fd;
    unlink(name.text); /* of a server that was killed */
    tutti_status st = tutti_file_open_to_write(name.text, O_CREAT | O_EXCL | O_NOFOLLOW, &fd, err);
    if (!st) {
        if (fchmod(fd, 0600)) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", name.text, strerror(errno));
        if (!st) st = tutti_file_write_all(fd, name.text, text, strlen(text), err);
        if (!st && !tutti_file_sync(fd)) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", name.text, strerror(errno));
        close(fd);
        if (!st && rename(name.text, path)) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", path, strerror(errno));
    }
    tutti_strbuf_release(&name);
    return st;
}

tutti_status tutti_serve_home_token(const tutti_serve_home *home, const char *name, char *token, int room,
                                    tutti_failure *err)
{
    char *path = tutti_serve_home_file(home, name), drawn[TUTTI_GUARD_SESSION + 1];
    tutti_status st = TUTTI_OK;
    if (access(path, F_OK)) {
        if (tutti_guard_draw(drawn)) {
            strncat(drawn, "\n", 2);
            st = write_private(path, drawn, err);
        } else {
            st = tutti_fail(err, TUTTI_ERR_FAILED, "the system gives no random numbers for a token");
        }
    }
    if (!st) st = tutti_serve_read_token(path, token, room, err);
    free(path);
    return st;
}

tutti_status tutti_serve_home_tell(const tutti_serve_home *home, const char *address, tutti_failure *err)
{
    char *path = tutti_serve_home_file(home, "address");
    tutti_strbuf line = {0};
    tutti_strbuf_printf(&line, "%s\n", address);
    tutti_status st = write_private(path, line.text, err);
    tutti_strbuf_release(&line);
    free(path);
    return st;
}
