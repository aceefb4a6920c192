/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.c: memory files (memfd): made, mapped, and passed to other ranks of the host by descriptor. A memory file
 * has no name: when the last process ends, the memory is freed. Descriptors travel over the mesh. */
#include "memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
    /* kernels before 5.14 do not know MADV_POPULATE_WRITE */
    if (fallocate(fd, 0, (off_t)offset, (off_t)bytes) == 0) return true;
    /* neither call exists: pages are allocated when they are touched */
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM;
}

int tutti_memory_file_make(const char *name, size_t bytes, void **base)
{
    int fd = tutti_memory_file_open(name);
    *base = NULL;
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)bytes) == 0) *base = tutti_memory_file_map(fd, bytes);
    if (*base && tutti_memory_file_populate(fd, *base, 0, bytes)) return fd;
    int problem = errno;
    if (*base) munmap(*base, bytes);
    close(fd);
    errno = problem;
    return -1;
}

void tutti_memory_file_send_among(tutti_group *g, const int32_t *set_of, uint64_t id, int fd)
{
    const tutti_mesh_message m = {.kind = TUTTI_MESH_REGION, .epoch = g->epoch, .rank = g->rank, .id = id};
    for (int r = 0; r < g->nranks; r++)
        if (g->peers[r].mesh >= 0 && (!set_of || set_of[r] == set_of[g->rank]))
            tutti_mesh_send(g->peers[r].mesh, &m, fd);
}

void tutti_memory_file_send(tutti_group *g, uint64_t id, int fd)
{
    tutti_memory_file_send_among(g, NULL, id, fd);
}

static int take_pending(tutti_peer *p, uint64_t id)
{
    for (int i = 0; i < p->npending; i++) {
        if (p->pending[i].id != id) continue;
        int fd = p->pending[i].fd;
        p->pending[i] = p->pending[--p->npending];
        return fd;
    }
    return -1;
}

tutti_status tutti_memory_file_receive(tutti_group *g, int from, const char *name, uint64_t id, int *fd,
                                       tutti_failure *err)
{
    tutti_patience patience;
    char words[TUTTI_WORDS];
    tutti_patience_begin(g, &patience);
    snprintf(words, sizeof words, "%s: region '%s': no descriptor from %s", g->peers[g->rank].describe, name,
             g->peers[from].describe);
    while ((*fd = take_pending(&g->peers[from], id)) < 0) {
        double left = tutti_patience_left(g, &patience, words);
        if (left <= 0 || g->peers[from].state != TUTTI_PEER_HERE) tutti_group_set_failed(g, -1, TUTTI_ERR_PEER, words);
        if (g->failed) return tutti_group_report(g, err);
        tutti_group_sleep(g, NULL, 0, left < 1 ? left : 1, NULL, NULL);
    }
    return TUTTI_OK;
}
