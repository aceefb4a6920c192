/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.c: memory files (memfd): made, mapped and filled with pages. A memory file has no name: when the last
 * process that has its descriptor ends, the memory is freed. */
#include "memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int tutti_memory_file_open(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

void *tutti_memory_file_map(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return NULL;
    madvise(base, bytes, MADV_HUGEPAGE); /* the system may forbid huge pages: then pages are small */
    return base;
}

bool tutti_memory_file_populate(int fd, void *base, size_t offset, size_t bytes)
{
    if (madvise((char *)base + offset, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS && errno != EPERM) return false;
    /* for kernels before 5.14, which do not know MADV_POPULATE_WRITE */
    if (fallocate(fd, 0, (off_t)offset, (off_t)bytes) == 0) return true;
    /* this system has neither way: pages are then allocated when they are touched */
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM;
}

void *tutti_memory_file_grow(int fd, size_t bytes)
{
    void *base = ftruncate(fd, (off_t)bytes) == 0 ? tutti_memory_file_map(fd, bytes) : NULL;
    if (!base || tutti_memory_file_populate(fd, base, 0, bytes)) return base;
    const int problem = errno;
    munmap(base, bytes);
    errno = problem;
    return NULL;
}

int tutti_memory_file_make(const char *name, size_t bytes, void **base)
{
    const int fd = tutti_memory_file_open(name);
    *base = NULL;
    if (fd < 0) return -1;
    *base = tutti_memory_file_grow(fd, bytes);
    if (*base) return fd;
    const int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}
