/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: shares bytes that one rank of each host makes with all ranks of that host (share.h). The maker seals the
 * memfd before it sends it: the bytes are complete when they are read, and never change. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/host/memory.h"
#include "memory_pass.h"

struct tutti_shared_bytes {
    void *at;
    size_t nbytes;
};

/* The notice that a rank sends to the others of its host. Only the rank that made the shared bytes fills in nbytes. */
typedef struct {
    uint64_t nbytes;
    uint32_t status;
    char words[300];
} share_notice;

int tutti_group_maker_among(const tutti_group *g, const int32_t *set_of)
{
    int maker = 0;
    while (!tutti_group_is_near(g, maker) || (set_of && set_of[maker] != set_of[g->rank])) maker++;
    return maker;
}

int tutti_group_maker(const tutti_group *g)
{
    return tutti_group_maker_among(g, NULL);
}

bool tutti_group_makes(const tutti_group *g)
{
    return tutti_group_maker(g) == g->rank;
}

int tutti_group_ranks_here(const tutti_group *g)
{
    int n = 0;
    for (int r = 0; r < g->nranks; r++) n += tutti_group_is_near(g, r);
    return n;
}

/* Returns the sealed file; -1: `own` says why, or there are no bytes. */
static int make(const tutti_group *g, const char *name, void (*fill)(void *arg, void *bytes), void *arg,
                share_notice *own)
{
    void *base = NULL;
    if (!own->nbytes) return -1;
    errno = ENOMEM;
    const int fd = own->nbytes > (uint64_t)tutti_memory_left() ? -1 : tutti_memory_file_make(name, own->nbytes, &base);
    if (fd < 0) {
        own->status = TUTTI_ERR_FAILED;
        snprintf(own->words, sizeof own->words, "%s: %s needs %.1f MB and the system has %.1f MB left (%s)",
                 g->peers[g->rank].describe, name, 1e-6 * (double)own->nbytes, 1e-6 * (double)tutti_memory_left(),
                 strerror(errno));
        return -1;
    }
    fill(arg, base);
    munmap(base, own->nbytes);
    (void)fcntl(fd, F_ADD_SEALS,
                /* an unsealed file has the right bytes, too, so a failure is ignored */
                F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    return fd;
}

static tutti_status map(tutti_shared_bytes *b, const tutti_group *g, const char *name, int fd, tutti_failure *err)
{
    b->at = mmap(NULL, b->nbytes, PROT_READ, MAP_SHARED, fd, 0);
    if (b->at != MAP_FAILED) return TUTTI_OK;
    b->at = NULL;
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s: cannot map %zu bytes: %s", g->peers[g->rank].describe, name,
                      b->nbytes, strerror(errno));
}

static tutti_status take(tutti_shared_bytes *b, tutti_group *g, const int32_t *set_of, const char *name, int fd,
                         tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (fd >= 0)
        tutti_memory_file_send_among(g, set_of, g->regions, fd);
    else
        st = tutti_memory_file_receive(g, tutti_group_maker_among(g, set_of), name, g->regions, &fd, err);
    if (!st) st = map(b, g, name, fd, err);
    if (fd >= 0) close(fd);
    return st;
}

tutti_status tutti_shared_bytes_create(tutti_group *g, const int32_t *set_of, const tutti_shared_wish *wish,
                                       tutti_shared_bytes **out, tutti_failure *err)
{
    const char *name = wish->name;
    const int maker = tutti_group_maker_among(g, set_of);
    if (g->thread_boards) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: threads share all memory already", name);
    share_notice own = {.nbytes = maker == g->rank ? wish->nbytes : 0},
                 *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_shared_bytes *b = tutti_alloc(sizeof *b);
    g->regions++; /* the number of regions is the id of the next descriptor */
    int fd = make(g, name, wish->fill, wish->arg, &own);
    tutti_status st = tutti_group_all_gather(g, name, &own, all, sizeof own, err);
    for (int r = 0; r < g->nranks && !st; r++)
        if (all[r].status) st = tutti_fail(err, (tutti_status)all[r].status, "%s", all[r].words);
    if (!st) b->nbytes = all[maker].nbytes;
    free(all);
    if (!st && b->nbytes)
        st = take(b, g, set_of, name, fd, err);
    else if (fd >= 0)
        close(fd);
    if (st)
        tutti_shared_bytes_destroy(b);
    else
        *out = b;
    return st;
}

const void *tutti_shared_bytes_at(const tutti_shared_bytes *b)
{
    return b->at;
}

size_t tutti_shared_bytes_count(const tutti_shared_bytes *b)
{
    return b->nbytes;
}

void tutti_shared_bytes_destroy(tutti_shared_bytes *b)
{
    if (!b) return;
    if (b->at) munmap(b->at, b->nbytes);
    free(b);
}
