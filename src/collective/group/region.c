/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: memory of every rank, mapped by all of its host: memfd between processes, plain memory between threads and for one alone;
 * or the caller's own, of which it has a descriptor.
 *
 * A memfd has no name in any file system: when the last process is gone, so is the memory. The pages are populated at create,
 * because a shared page that cannot be had later would be a SIGBUS in the middle of a step. Huge pages are asked for and taken
 * where the system allows them for shared memory. The descriptors travel over the mesh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/memory.h"
#include "../../base/pages.h"
#include "group_impl.h"
#include "memory_file.h"

/* Threads: one rank's memory and how many ranks still map it. All of them hang on the boards that the groups share: when a create
 * fails in one rank after others have heard all notices, nobody knows who still uses it, and it goes with the last group. */
typedef struct tutti_thread_memory {
    int users;
    void *bytes;
    struct tutti_thread_memory *next;
} thread_memory;

struct tutti_region {
    int nranks;
    bool enrolled;               /* own memory is the caller's */
    bool own_pages;              /* it is of tutti_pages_take */
    tutti_thread_boards *boards; /* threads; else NULL */
    tutti_group *group;          /* where the wire knows it */
    tutti_wire_memory *memory;   /* NULL: no wire */
    uint64_t *far;               /* where memory of far peers begins, as they see it */
    struct {
        void *base;
        size_t bytes, mapped;
        thread_memory *memory; /* threads */
    } part[];
};

/* What each rank tells the others of its own memory. */
typedef struct {
    uint64_t bytes, memory; /* threads: where it is, of create a thread_memory */
    uint64_t offset;        /* in what the descriptor is of */
    uint32_t status;
    char words[300];
} region_notice;

enum { HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t bytes)
{
    size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX - page) return SIZE_MAX / page * page;
    return bytes ? (bytes + page - 1) / page * page : page;
}

static void describe_shortage(region_notice *own, const tutti_group *g, const char *name, size_t need)
{
    own->status = TUTTI_ERR_FAILED;
    snprintf(own->words, sizeof own->words, "%s: region '%s' needs %.1f MB and the system has %.1f MB left (%s)",
             g->peers[g->rank].describe, name, 1e-6 * (double)need, 1e-6 * (double)tutti_memory_left(),
             strerror(errno));
}

/* --- memory of threads --- */

static void keep(thread_memory *memory, tutti_thread_boards *boards)
{
    pthread_mutex_lock(&boards->lock);
    memory->next = boards->memories;
    boards->memories = memory;
    pthread_mutex_unlock(&boards->lock);
}

static void let_go(thread_memory *memory, tutti_thread_boards *boards)
{
    pthread_mutex_lock(&boards->lock);
    const bool last = --memory->users == 0;
    thread_memory **at = &boards->memories;
    while (last && *at != memory) at = &(*at)->next;
    if (last) *at = memory->next;
    pthread_mutex_unlock(&boards->lock);
    if (!last) return;
    free(memory->bytes);
    free(memory);
}

void tutti_region_free_left(tutti_thread_boards *boards)
{
    for (thread_memory *m = boards->memories, *next; m; m = next) {
        next = m->next;
        free(m->bytes);
        free(m);
    }
}

/* --- own part --- */

/* No peer maps our part: all are beyond a wire, or there are none. */
static bool is_alone(const tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++)
        if (r != g->rank && tutti_group_is_near(g, r)) return false;
    return true;
}

static int create_own(tutti_region *region, const tutti_group *g, const char *name, region_notice *own)
{
    size_t mapped = round_up(own->bytes);
    int fd = -1;
    errno = ENOMEM;
    if (mapped > (uint64_t)tutti_memory_left()) {
        describe_shortage(own, g, name, mapped);
        return -1;
    }
    region->part[g->rank].bytes = own->bytes;
    if (region->boards) {
        thread_memory *memory = tutti_alloc(sizeof *memory);
        memory->bytes = aligned_alloc(4096, mapped);
        if (memory->bytes) {
            memset(memory->bytes, 0, mapped);
            memory->users = g->nranks;
            keep(memory, g->thread_boards);
            own->memory = (uint64_t)(uintptr_t)memory;
            return -1;
        }
        free(memory);
    } else if (is_alone(g)) { /* huge pages may be had that shared memory is refused */
        region->part[g->rank].base = tutti_pages_take(mapped);
        region->part[g->rank].mapped = region->part[g->rank].base ? mapped : 0;
        region->own_pages = true;
        if (region->part[g->rank].base) return -1;
    } else {
        fd = tutti_memory_file_make(name, mapped, &region->part[g->rank].base);
        if (fd >= 0) {
            region->part[g->rank].mapped = mapped;
            return fd;
        }
        region->part[g->rank].base = NULL;
    }
    describe_shortage(own, g, name, mapped);
    return -1;
}

static tutti_status exchange_notices(tutti_group *g, const char *what, const region_notice *own, region_notice *all,
                                     tutti_failure *err)
{
    tutti_status s = tutti_group_all_gather(g, what, own, all, sizeof *own, err);
    for (int r = 0; !s && r < g->nranks; r++)
        if (all[r].status) s = tutti_fail(err, (tutti_status)all[r].status, "%s", all[r].words);
    return s;
}

/* --- peers' parts --- */

/* Own pages have been there since create; enrolled ones are where the caller has mapped them. */
static tutti_status map_peer(tutti_region *region, tutti_group *g, const char *name, int r, const region_notice *notice,
                             tutti_failure *err)
{
    int fd;
    tutti_status s = tutti_memory_file_receive(g, r, name, g->regions, &fd, err);
    if (s) return s;
    const size_t mapped = region->enrolled ? (size_t)notice->bytes : round_up(notice->bytes);
    void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)notice->offset);
    int problem = errno;
    close(fd);
    if (base == MAP_FAILED)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: region '%s': cannot map %zu bytes of %s: %s",
                          g->peers[g->rank].describe, name, mapped, g->peers[r].describe, strerror(problem));
    madvise(base, mapped, MADV_HUGEPAGE);
    region->part[r].base = base;
    region->part[r].mapped = mapped;
    return TUTTI_OK;
}

static tutti_status map_peers(tutti_region *region, tutti_group *g, const char *name, int own_fd,
                              const region_notice *notices, tutti_failure *err)
{
    tutti_memory_file_send(g, g->regions, own_fd);
    tutti_status s = TUTTI_OK;
    for (int r = 0; r < g->nranks && !s; r++) {
        region->part[r].bytes = notices[r].bytes;
        if (r != g->rank && tutti_group_is_near(g, r)) s = map_peer(region, g, name, r, &notices[r], err);
    }
    return s;
}

static void adopt_threads(tutti_region *region, const region_notice *notices)
{
    for (int r = 0; r < region->nranks; r++) {
        void *memory = (void *)(uintptr_t)notices[r].memory;
        region->part[r].memory = region->enrolled ? NULL : memory;
        region->part[r].base = region->enrolled ? memory : region->part[r].memory->bytes;
        region->part[r].bytes = notices[r].bytes;
    }
}

/* --- the calls --- */

static tutti_region *begin(tutti_group *g, bool enrolled)
{
    tutti_region *region = tutti_alloc(sizeof *region + sizeof region->part[0] * (size_t)g->nranks);
    region->nranks = g->nranks;
    region->boards = g->thread_boards;
    region->enrolled = enrolled;
    g->regions++;
    return region;
}

/* Own memory is there, or own says why it is not; fd: what peers map, -1 = none. */
static tutti_status join(tutti_region *region, tutti_group *g, const char *name, region_notice *own, int fd,
                         tutti_failure *err)
{
    region_notice *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_status s = exchange_notices(g, name, own, all, err);
    if (region->boards) {
        if (!s) adopt_threads(region, all);
    } else if (!s) {
        tutti_failure why = {0};
        own->status = map_peers(region, g, name, fd, all, &why);
        snprintf(own->words, sizeof own->words, "%.290s", why.text);
        s = exchange_notices(g, name, own, all, err); /* nobody begins before everybody has mapped */
        if (!s && g->wire) {
            const size_t mapped = region->enrolled ? own->bytes : region->part[g->rank].mapped;
            region->group = g;
            region->far = tutti_alloc(sizeof *region->far * (size_t)g->nranks);
            s = tutti_group_enrol(g, name, region->part[g->rank].base, mapped, &region->memory, region->far, err);
        }
    }
    free(all);
    return s;
}

tutti_status tutti_region_create(tutti_group *g, const char *name, size_t own_bytes, tutti_region **out,
                                 tutti_failure *err)
{
    tutti_region *region = begin(g, false);
    region_notice own = {.bytes = own_bytes};
    const int fd = create_own(region, g, name, &own);
    const tutti_status s = join(region, g, name, &own, fd, err);
    if (fd >= 0) close(fd);
    if (s)
        tutti_region_destroy(region);
    else
        *out = region;
    return s;
}

tutti_status tutti_region_enrol(tutti_group *g, const char *name, const tutti_enrolled *memory, tutti_region **out,
                                tutti_failure *err)
{
    tutti_region *region = begin(g, true);
    region_notice own = {.bytes = memory->nbytes, .memory = (uint64_t)(uintptr_t)memory->at};
    own.offset = (uint64_t)memory->offset;
    region->part[g->rank].base = memory->at;
    region->part[g->rank].bytes = memory->nbytes;
    /* A page that the file system cannot give would be a SIGBUS later. Kernels before 5.14 cannot tell. */
    if (madvise(memory->at, memory->nbytes, MADV_POPULATE_WRITE) && errno != EINVAL)
        describe_shortage(&own, g, name, memory->nbytes);
    const tutti_status s = join(region, g, name, &own, memory->fd, err);
    if (s)
        tutti_region_destroy(region);
    else
        *out = region;
    return s;
}

void *tutti_region_base(const tutti_region *region, int rank)
{
    return region->part[rank].base;
}

size_t tutti_region_bytes(const tutti_region *region, int rank)
{
    return region->part[rank].bytes;
}

uint64_t tutti_region_far(const tutti_region *region, int rank)
{
    return region->far ? region->far[rank] : 0;
}

void tutti_region_destroy(tutti_region *region)
{
    if (!region) return;
    if (region->memory) tutti_group_forget(region->group, region->memory);
    for (int r = 0; r < region->nranks; r++) {
        thread_memory *memory = region->part[r].memory;
        if (memory) let_go(memory, region->boards);
        const size_t mapped = region->part[r].mapped; /* 0 between threads */
        if (mapped && region->own_pages)
            tutti_pages_give_back(region->part[r].base, mapped); /* nobody else's are mapped */
        if (mapped && !region->own_pages) munmap(region->part[r].base, mapped);
    }
    free(region->far);
    free(region);
}
