/* SPDX-License-Identifier: Apache-2.0 */
/* enrolled.c: checks memory that a caller enrols: it must be a shared mapping of the given descriptor, as
 * /proc/self/maps shows. Memory that is mapped privately, or from another file or place, would differ from the memory
 * that a peer sees when it maps the descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "group.h"

/* A line of /proc/self/maps. */
typedef struct {
    uint64_t begin, end, offset, inode;
    unsigned major, minor;
    char rights[5];
} mapping;

static bool read_line(FILE *f, mapping *m)
{
    char line[512];
    if (!fgets(line, sizeof line, f)) return false;
    const bool whole = strchr(line, '\n') != NULL;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &m->begin, &m->end, m->rights,
               &m->offset, &m->major, &m->minor, &m->inode) != 7)
        *m = (mapping){0};
    for (int c = whole ? '\n' : getc(f); c != '\n' && c != EOF;) c = getc(f); /* skips the rest of a long name */
    return true;
}

static tutti_status refuse(const tutti_enrolled *e, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "enrol: %zu bytes at %p, byte %lld of descriptor %d: %s", e->nbytes, e->at,
                      (long long)e->offset, e->fd, what);
}

/* Checks the mapping that covers `at`. */
static tutti_status check_mapping(const tutti_enrolled *e, const struct stat *file, const mapping *m, uint64_t at,
                                  tutti_failure *err)
{
    const uint64_t begin = (uint64_t)(uintptr_t)e->at;
    if (m->rights[0] != 'r' || m->rights[1] != 'w') return refuse(e, "it is not mapped for reading and writing", err);
    if (m->rights[3] != 's')
        return refuse(e, "it is a private mapping: peers would see other memory (MAP_SHARED)", err);
    if (m->inode != file->st_ino || m->major != major(file->st_dev) || m->minor != minor(file->st_dev))
        return refuse(e, "it is a mapping of another file", err);
    if (m->offset + (at - m->begin) != (uint64_t)e->offset + (at - begin))
        return refuse(e, "it is a mapping of another place in the file", err);
    return TUTTI_OK;
}

static tutti_status check_maps(const tutti_enrolled *e, const struct stat *file, tutti_failure *err)
{
    const uint64_t end = (uint64_t)(uintptr_t)e->at + e->nbytes;
    uint64_t at = (uint64_t)(uintptr_t)e->at;
    mapping m;
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return refuse(e, "/proc/self/maps, which says what is mapped, cannot be read", err);
    tutti_status st = TUTTI_OK;
    while (!st && at < end && read_line(f, &m)) {
        if (m.end <= at) continue;
        st = m.begin > at ? refuse(e, "not all of it is mapped", err) : check_mapping(e, file, &m, at, err);
        at = m.end;
    }
    if (!st && at < end) st = refuse(e, "not all of it is mapped", err);
    fclose(f);
    return st;
}

tutti_status tutti_enrolled_check(const tutti_enrolled *e, tutti_failure *err)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = (uint64_t)(uintptr_t)e->at;
    struct stat file;
    if (!e->nbytes || !at || e->nbytes > UINT64_MAX - at || e->offset < 0)
        return refuse(e, "there is no such memory", err);
    if (at % page || (uint64_t)e->offset % page)
        return refuse(e, "address and offset must be multiples of a page, because peers map whole pages", err);
    if (fstat(e->fd, &file)) return refuse(e, strerror(errno), err);
    if (!S_ISREG(file.st_mode)) return refuse(e, "that is not a file or shared memory object", err);
    if ((fcntl(e->fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        return refuse(e, "peers map it for reading and writing, and it is not open for both", err);
    if (e->nbytes > (uint64_t)INT64_MAX - (uint64_t)e->offset || e->offset + (int64_t)e->nbytes > file.st_size)
        return refuse(e, "the file is shorter (ftruncate comes before)", err);
    return check_maps(e, &file, err);
}
