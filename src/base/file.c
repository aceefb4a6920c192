/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: reads, writes, syncs and removes whole files and folders. Writing goes to "<path>.tmp.<pid>", which is
 * fsynced and renamed: a reader sees the old file or the new one, never a part. If the path is a link, that applies to
 * the file behind it. A pipe or device cannot be replaced and is written directly. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "text/strbuf.h"

/* bytes that are written and synced at a time; a slow disk needs half a second for them */
enum { PIECE_BYTES = 16 << 20 };

static tutti_status io_failure(tutti_failure *err, const char *doing, const char *path)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot %s: %s", path, doing, strerror(errno));
}

/* ---- reading ---- */

/* Returns in words what a descriptor leads to, if that cannot be read as a file, such as a device; NULL if it can. */
static const char *kind_of(int fd, mode_t mode)
{
    enum { PIPEFS = 0x50495045 }; /* Linux's number of the file system that holds pipes without a name */
    struct statfs where;
    if (S_ISREG(mode)) return NULL;
    if (S_ISDIR(mode)) return "a folder";
    if (!S_ISFIFO(mode)) return "a device";
    return fstatfs(fd, &where) == 0 && where.f_type == PIPEFS ? NULL : "a named pipe";
}

tutti_status tutti_file_open(const char *path, tutti_status refused, int *fd, tutti_failure *err)
{
    struct stat info;
    /* O_NOCTTY, O_NONBLOCK: opening must not take over a terminal, nor block */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) return tutti_fail(err, refused, "cannot open: %s", strerror(errno));
    const char *kind = NULL;
    tutti_status st = TUTTI_OK;
    if (fstat(*fd, &info) != 0 || fcntl(*fd, F_SETFL, 0) != 0)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "cannot open: %s", strerror(errno));
    else if ((kind = kind_of(*fd, info.st_mode)))
        st = tutti_fail(err, refused, "is %s; a regular file is wanted", kind);
    if (st) close(*fd);
    return st;
}

typedef struct {
    char *bytes;
    /* size: bytes read so far; capacity: bytes of the buffer, which has one more byte for the '\0' */
    size_t size, capacity;
} content;

static tutti_status make_room(content *c, size_t capacity, const char *path, tutti_failure *err)
{
    char *larger = capacity < SIZE_MAX ? realloc(c->bytes, capacity + 1) : NULL;
    if (!larger) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: no memory for %zu bytes of it", path, capacity);
    c->bytes = larger, c->capacity = capacity;
    return TUTTI_OK;
}

/* Reads until the end of the file, or until max_bytes + 1 bytes. So a file that grows meanwhile is noticed too. */
static tutti_status read_all(int fd, const tutti_file_wish *w, content *c, tutti_failure *err)
{
    struct stat info;
    const bool told = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    const size_t first = told && (uintmax_t)info.st_size <= w->max_bytes ? (size_t)info.st_size + 1 : 1 << 16;
    tutti_status st = make_room(c, first, w->path, err);
    while (!st) {
        const size_t room = c->capacity - c->size;
        const ssize_t n = read(fd, c->bytes + c->size, room < PIECE_BYTES ? room : PIECE_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_failure(err, "read", w->path);
        if (n == 0) break;
        c->size += (size_t)n;
        if (c->size > w->max_bytes)
            return tutti_fail(err, w->refused, "%s: larger than %zu bytes", w->path, w->max_bytes);
        if (c->size == c->capacity) st = make_room(c, 2 * c->capacity, w->path, err);
        (void)tutti_headway_tell(w->headway, (int64_t)c->size, told ? (int64_t)info.st_size : 0);
    }
    return st;
}

tutti_status tutti_file_read_told(const tutti_file_wish *w, char **bytes, size_t *nbytes, tutti_failure *err)
{
    int fd;
    content c = {0};
    tutti_status st = tutti_file_open(w->path, w->refused, &fd, err);
    if (st) {
        tutti_fail_at(err, "%s", w->path);
        return st;
    }
    st = read_all(fd, w, &c, err);
    close(fd);
    if (st) {
        free(c.bytes);
        return st;
    }
    c.bytes[c.size] = '\0';
    *bytes = c.bytes;
    *nbytes = c.size;
    return TUTTI_OK;
}

tutti_status tutti_file_read(const char *path, size_t max_bytes, tutti_status refused, char **bytes, size_t *nbytes,
                             tutti_failure *err)
{
    const tutti_file_wish wish = {path, max_bytes, refused, NULL};
    return tutti_file_read_told(&wish, bytes, nbytes, err);
}

/* ---- writing ---- */

static int write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes) {
        ssize_t n = write(fd, bytes, nbytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        bytes += n;
        nbytes -= (size_t)n;
    }
    return 0;
}

tutti_status tutti_file_write_all(int fd, const char *path, const void *bytes, size_t nbytes, tutti_failure *err)
{
    return write_all(fd, bytes, nbytes) == 0 ? TUTTI_OK : io_failure(err, "write", path);
}

bool tutti_file_send_all(int socket, const void *bytes, size_t nbytes)
{
    for (size_t sent = 0; sent < nbytes;) {
        const ssize_t n = send(socket, (const char *)bytes + sent, nbytes - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        sent += (size_t)n;
    }
    return true;
}

tutti_status tutti_file_open_to_write(const char *path, int flags, int *fd, tutti_failure *err)
{
    struct stat info;
    *fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
    if (*fd < 0 && errno == ENXIO && stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: is a named pipe that nobody reads", path);
    if (*fd < 0) return io_failure(err, "open", path);
    const int now = fcntl(*fd, F_GETFL);
    if (now >= 0 && fcntl(*fd, F_SETFL, now & ~O_NONBLOCK) == 0) return TUTTI_OK;
    tutti_status st = io_failure(err, "open", path);
    close(*fd);
    return st;
}

/* True if path leads to something that must not be replaced by a file: a pipe, or a device such as /dev/stdout. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* True if path is the name of a descriptor, such as /dev/stdout: a link to whatever the descriptor has open. */
static bool names_descriptor(const char *path)
{
    return !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

/* Opens what a descriptor's name leads to. Our own standard output is written through its existing descriptor, because
 * a new one would begin at the front of the file again. */
static tutti_status open_in_place(const char *path, int *fd, tutti_failure *err)
{
    struct stat named, ours;
    if (stat(path, &named) != 0 || fstat(STDOUT_FILENO, &ours) != 0 || named.st_dev != ours.st_dev ||
        named.st_ino != ours.st_ino)
        return tutti_file_open_to_write(path, O_TRUNC, fd, err);
    *fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    return *fd < 0 ? io_failure(err, "open", path) : TUTTI_OK;
}

bool tutti_file_sync(int fd)
{
    if (fsync(fd) == 0) return true;
    return errno == EINVAL || errno == EROFS || errno == EOPNOTSUPP || errno == ENOSYS || errno == ENOTTY;
}

static tutti_status write_in_place(const char *path, const void *bytes, size_t nbytes, tutti_failure *err)
{
    int fd;
    tutti_status st = open_in_place(path, &fd, err);
    if (st) return st;
    st = tutti_file_write_all(fd, path, bytes, nbytes, err);
    if (!st && !tutti_file_sync(fd)) st = io_failure(err, "sync", path);
    if (close(fd) != 0 && !st) st = io_failure(err, "close", path);
    return st;
}

/* Makes a new file in the folder of path, which a rename can put in the place of path. temporary: receives the new
 * file's name, room for PATH_MAX bytes. */
static tutti_status open_beside(const char *path, char *temporary, int *fd, tutti_failure *err)
{
    const int n = snprintf(temporary, PATH_MAX, "%s.tmp.%ld", path, (long)getpid());
    if (n < 0 || n >= PATH_MAX) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: the path is too long", path);
    *fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *fd < 0 ? io_failure(err, "create", temporary) : TUTTI_OK;
}

/* Writes and syncs all bytes. Returns NULL, or the name of the step that failed. If progress is reported (headway), it
 * writes and syncs in pieces, because a single fsync of a large file would report nothing for minutes. */
static const char *put_on_disk(int fd, const char *bytes, size_t nbytes, const tutti_headway *headway)
{
    const size_t piece = headway && headway->tell ? PIECE_BYTES : nbytes;
    for (size_t at = 0; at < nbytes; at += piece) {
        const size_t n = nbytes - at < piece ? nbytes - at : piece;
        if (write_all(fd, bytes + at, n) != 0) return "write";
        if (at + n < nbytes && !tutti_file_sync(fd)) return "sync";
        (void)tutti_headway_tell(headway, (int64_t)(at + n), (int64_t)nbytes);
    }
    return tutti_file_sync(fd) ? NULL : "sync";
}

static tutti_status write_beside(const char *path, const void *bytes, size_t nbytes, const tutti_headway *headway,
                                 tutti_failure *err)
{
    char temporary[PATH_MAX];
    int fd;
    tutti_status st = open_beside(path, temporary, &fd, err);
    if (st) return st;
    const char *doing = put_on_disk(fd, bytes, nbytes, headway);
    if (close(fd) != 0 && !doing) doing = "close";
    if (!doing && rename(temporary, path) != 0) doing = "rename";
    if (doing) {
        st = io_failure(err, doing, temporary);
        unlink(temporary);
        return st;
    }
    char *folder = tutti_file_folder(path);
    st = tutti_file_sync_dir(folder, err);
    free(folder);
    return st;
}

/* Finds where a write to path must go. *behind: the file that a link leads to, else NULL; the caller frees it.
 * *in_place: true if path must be written directly, because nothing can be renamed to it. */
static tutti_status find_target(const char *path, char **behind, bool *in_place, tutti_failure *err)
{
    struct stat info;
    const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    *behind = NULL;
    *in_place = is_special(path) || (is_link && names_descriptor(path));
    if (*in_place || !is_link) return TUTTI_OK;
    *behind = realpath(path, NULL);
    return *behind ? TUTTI_OK : io_failure(err, "follow the link", path);
}

tutti_status tutti_file_write_told(const char *path, const void *bytes, size_t nbytes, const tutti_headway *headway,
                                   tutti_failure *err)
{
    char *behind;
    bool in_place;
    tutti_status st = find_target(path, &behind, &in_place, err);
    if (st) return st;
    st = in_place ? write_in_place(path, bytes, nbytes, err)
                  : write_beside(behind ? behind : path, bytes, nbytes, headway, err);
    free(behind);
    return st;
}

tutti_status tutti_file_try_to_write(const char *path, tutti_failure *err)
{
    char *behind, temporary[PATH_MAX];
    bool in_place;
    int fd;
    if (!path[0]) return tutti_fail(err, TUTTI_ERR_FAILED, "a name is missing");
    if (tutti_file_is_folder(path)) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: is a folder; a file is wanted", path);
    tutti_status st = find_target(path, &behind, &in_place, err);
    char *folder = tutti_file_folder(behind ? behind : path);
    if (!st && in_place && access(path, W_OK) != 0) st = io_failure(err, "write", path);
    if (!st && !in_place && !tutti_file_is_folder(folder))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: there is no such folder to write it to", path);
    if (!st && !in_place) st = open_beside(behind ? behind : path, temporary, &fd, err);
    if (!st && !in_place) {
        close(fd);
        unlink(temporary);
    }
    free(folder);
    free(behind);
    return st;
}

tutti_status tutti_file_write_atomic(const char *path, const void *bytes, size_t nbytes, tutti_failure *err)
{
    return tutti_file_write_told(path, bytes, nbytes, NULL, err);
}

bool tutti_file_is_there(int fd, const char *path)
{
    struct stat held, named;
    if (fstat(fd, &held) != 0) return false;
    if (!S_ISREG(held.st_mode)) return true;
    return stat(path, &named) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

bool tutti_file_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* ---- folders ---- */

static tutti_status check_is_dir(const char *path, tutti_failure *err)
{
    struct stat info;
    if (stat(path, &info) != 0) return io_failure(err, "look at", path);
    return S_ISDIR(info.st_mode) ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "%s: exists and is not a folder", path);
}

tutti_status tutti_file_make_dir(const char *path, tutti_failure *err)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (!length || length >= sizeof part)
        return tutti_fail(err, TUTTI_ERR_FAILED, "'%s': a folder's path of 1 to %zu bytes is needed", path,
                          sizeof part - 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return io_failure(err, "make the folder", part);
    }
    return check_is_dir(path, err);
}

tutti_status tutti_file_make_dir_in_place(const char *path, tutti_failure *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return io_failure(err, "make the folder", path);
    return check_is_dir(path, err);
}

tutti_status tutti_file_sync_dir(const char *path, tutti_failure *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) return TUTTI_OK; /* the folder may be written but not read, so it cannot be synced */
    if (fd < 0) return io_failure(err, "open the folder", path);
    tutti_status st = tutti_file_sync(fd) ? TUTTI_OK : io_failure(err, "sync the folder", path);
    close(fd);
    return st;
}

static tutti_status remove_entry(int folder, const char *name, const char *path, tutti_failure *err);

static tutti_status remove_contents(int fd, const char *path, tutti_failure *err)
{
    DIR *dir = fdopendir(fd); /* from here on closedir closes fd, too */
    if (!dir) {
        close(fd);
        return io_failure(err, "read the folder", path);
    }
    tutti_status st = TUTTI_OK;
    for (struct dirent *entry; st == TUTTI_OK && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            st = remove_entry(dirfd(dir), entry->d_name, path, err);
    closedir(dir);
    return st;
}

static tutti_status remove_entry(int folder, const char *name, const char *path, tutti_failure *err)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return TUTTI_OK;
    if (errno != EISDIR && errno != EPERM) return io_failure(err, "remove", path);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return io_failure(err, "remove", path);
    tutti_status st = remove_contents(fd, path, err);
    if (st == TUTTI_OK && unlinkat(folder, name, AT_REMOVEDIR) != 0) st = io_failure(err, "remove", path);
    return st;
}

tutti_status tutti_file_remove_tree(const char *path, tutti_failure *err)
{
    return remove_entry(AT_FDCWD, path, path, err);
}

char *tutti_file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

char *tutti_file_in(const char *folder, const char *name)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", folder, name);
    return tutti_strbuf_detach(&path);
}

char *tutti_file_resolve(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole || !path[0] || !strcmp(path, "/") || !strcmp(path, ".")) return whole;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--; /* slashes at the end do not count: "new/" means "new" */
    char *bare = strndup(path, length), *folder = bare ? tutti_file_folder(bare) : NULL;
    char *above = folder ? tutti_file_resolve(folder) : NULL;
    const char *slash = bare ? strrchr(bare, '/') : NULL;
    if (above && asprintf(&whole, "%s/%s", strcmp(above, "/") ? above : "", slash ? slash + 1 : bare) < 0) whole = NULL;
    free(above);
    free(folder);
    free(bare);
    return whole;
}
