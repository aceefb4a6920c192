/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: creates regions: memory that other ranks may read and write. A region has memory of every rank, mapped by
 * all ranks of its host. The memory is a memfd between processes, plain memory between threads and for a single rank,
 * or the caller's own, of which the caller has a descriptor.
 *
 * A memfd has no name in any file system: when the last process ends, the memory is freed. The lowest rank of a host
 * makes one memfd for all its ranks. A memfd for each rank would mean 90,000 descriptors sent and mapped between 300
 * ranks, for every region. Each rank populates the pages of its own part at create, so that they are near it, and
 * because a shared page that cannot be allocated later would be a SIGBUS in the middle of a step. Huge pages are used
 * if the system allows them for shared memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/host/memory.h"
#include "../../base/host/pages.h"
#include "group_impl.h"
#include "memory_pass.h"
#include "share.h"

/* Threads: the memory of one rank, and the number of ranks that still map it. All such memories are in the list of the
 * boards that the groups share. When create fails in one rank after others have read all notices, no rank knows which
 * ranks still use the memory, so it is freed with the last group. */
typedef struct tutti_thread_memory {
    int users;
    void *bytes;
    struct tutti_thread_memory *next;
} thread_memory;

struct tutti_region {
    int nranks;
    bool enrolled;               /* true if the caller owns the memory */
    bool own_pages;              /* true if tutti_pages_take allocated the memory */
    tutti_region_source source;  /* where the memory comes from; name NULL: it is the host's memory */
    int rank;                    /* if the memory comes from a source: the rank whose part this process made */
    tutti_thread_boards *boards; /* boards of ranks that are threads; else NULL */
    tutti_group *group;          /* group whose wire has enrolled the region */
    tutti_wire_memory *memory;   /* the wire's record of the region; NULL: no wire has enrolled it */
    uint64_t *far;               /* for each far peer: beginning of its memory, as that peer sees it */
    void *whole;                 /* mapping of the file that this host's ranks share; NULL: each rank has its own, or is
                                  * a thread */
    size_t whole_bytes;
    struct {
        void *base;
        size_t bytes, mapped;
        thread_memory *memory; /* memory of a rank that is a thread */
    } part[];
};

/* The notice by which a rank tells the others where its part of the region lies. */
typedef struct {
    uint64_t bytes, memory; /* bytes of the memory; between threads also an address: of the memory and, once create has
                             * succeeded, of the thread_memory */
    uint64_t offset;        /* offset in the descriptor's file */
    uint32_t status;
    char handle[TUTTI_REGION_HANDLE]; /* handle of a source's memory */
} region_notice;

enum { HUGE_PAGE = 2 << 20, SMALL = 1 << 20 };

static size_t round_up(size_t bytes)
{
    size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX - page) return SIZE_MAX / page * page;
    return bytes ? (bytes + page - 1) / page * page : page;
}

static tutti_status fail_short(const tutti_group *g, const char *name, size_t need, tutti_failure *why)
{
    const int problem = errno; /* errno of the failed call, although there is room for the memory */
    const double left = (double)tutti_memory_left();
    return tutti_fail(why, TUTTI_ERR_FAILED, "%s: region '%s' needs %.1f MB and the system has %.1f MB left%s%s",
                      g->peers[g->rank].describe, name, 1e-6 * (double)need, 1e-6 * left,
                      (double)need > left ? "" : ": ", (double)need > left ? "" : strerror(problem));
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

/* --- making this rank's part --- */

/* Returns true if no peer maps this rank's part: all peers are behind a wire, or there are none. */
static bool is_alone(const tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++)
        if (r != g->rank && tutti_group_is_near(g, r)) return false;
    return true;
}

static tutti_status create_thread_memory(tutti_region *region, const tutti_group *g, region_notice *own, size_t mapped)
{
    thread_memory *memory = tutti_alloc(sizeof *memory);
    memory->bytes = aligned_alloc(4096, mapped);
    if (!memory->bytes) {
        free(memory);
        return TUTTI_ERR_FAILED;
    }
    memset(memory->bytes, 0, mapped);
    memory->users = g->nranks;
    keep(memory, region->boards);
    own->memory = (uint64_t)(uintptr_t)memory;
    return TUTTI_OK;
}

/* Makes this rank's memory. Among processes only the maker makes a file now: *fd. A small part is not compared with
 * what the system has left: to ask for that opens twenty files, and a group makes some twenty small regions. */
static tutti_status create_own(tutti_region *region, const tutti_group *g, const char *name, region_notice *own,
                               int *fd, tutti_failure *why)
{
    const size_t mapped = round_up(own->bytes);
    bool made = false;
    errno = ENOMEM;
    region->part[g->rank].bytes = own->bytes;
    if (mapped > SMALL && mapped > (uint64_t)tutti_memory_left()) return fail_short(g, name, mapped, why);
    if (region->boards) {
        made = create_thread_memory(region, g, own, mapped) == TUTTI_OK;
    } else if (is_alone(g)) { /* private memory may get huge pages that shared memory does not */
        region->part[g->rank].base = tutti_pages_take(mapped);
        region->part[g->rank].mapped = region->part[g->rank].base ? mapped : 0;
        region->own_pages = made = region->part[g->rank].base;
    } else {
        if (tutti_group_makes(g)) *fd = tutti_memory_file_open(name);
        made = !tutti_group_makes(g) || *fd >= 0;
    }
    return made ? TUTTI_OK : fail_short(g, name, mapped, why);
}

static tutti_status exchange_notices(tutti_group *g, const char *what, const region_notice *own, region_notice *all,
                                     const tutti_failure *why, tutti_failure *err)
{
    int r = 0;
    const tutti_status st = tutti_group_all_gather(g, what, own, all, sizeof *own, err);
    while (!st && r < g->nranks && !all[r].status) r++;
    return st || r == g->nranks ? st : tutti_group_tell_failure(g, what, r, why, err);
}

/* --- the file of a host's ranks --- */

/* Sets the beginning of each near rank's part in the file: parts that are at least as long as a huge page begin at the
 * start of one. */
static size_t lay_out(tutti_region *region, const tutti_group *g, const region_notice *all, size_t *at)
{
    size_t end = 0;
    for (int r = 0; r < g->nranks; r++) {
        const size_t bytes = round_up(all[r].bytes), page = bytes >= HUGE_PAGE ? HUGE_PAGE : 1;
        region->part[r].bytes = all[r].bytes;
        if (!tutti_group_is_near(g, r)) continue;
        at[r] = (end + page - 1) / page * page;
        end = at[r] + bytes;
    }
    return end;
}

static tutti_status map_whole(tutti_region *region, tutti_group *g, const char *name, int fd, const size_t *at,
                              tutti_failure *err)
{
    const size_t own = round_up(region->part[g->rank].bytes);
    region->whole = tutti_memory_file_map(fd, region->whole_bytes);
    if (!region->whole)
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: region '%s': cannot map %zu bytes: %s",
                          g->peers[g->rank].describe, name, region->whole_bytes, strerror(errno));
    if (!tutti_memory_file_populate(fd, region->whole, at[g->rank], own)) return fail_short(g, name, own, err);
    for (int r = 0; r < g->nranks; r++)
        if (tutti_group_is_near(g, r)) region->part[r].base = (char *)region->whole + at[r];
    return TUTTI_OK;
}

/* The other ranks get the file even if it is too short: each of them then fails when it populates its pages. */
static tutti_status share_whole(tutti_region *region, tutti_group *g, const char *name, int fd,
                                const region_notice *all, tutti_failure *err)
{
    size_t *at = tutti_alloc(sizeof *at * (size_t)g->nranks);
    const int maker = tutti_group_maker(g);
    tutti_status st = TUTTI_OK;
    region->whole_bytes = lay_out(region, g, all, at);
    if (region->own_pages) {
        free(at);
        return TUTTI_OK;
    }
    if (maker != g->rank) {
        st = tutti_memory_file_receive(g, maker, name, g->regions, &fd, err);
    } else {
        if (ftruncate(fd, (off_t)region->whole_bytes)) st = fail_short(g, name, region->whole_bytes, err);
        tutti_memory_file_send(g, g->regions, fd);
    }
    if (!st) st = map_whole(region, g, name, fd, at, err);
    if (maker != g->rank && fd >= 0) close(fd);
    free(at);
    return st;
}

/* --- memory that callers enrol --- */

/* Maps a peer's memory. This rank's own memory is where the caller has mapped it. */
static tutti_status map_peer(tutti_region *region, tutti_group *g, const char *name, int r, const region_notice *notice,
                             tutti_failure *err)
{
    int fd;
    tutti_status st = tutti_memory_file_receive(g, r, name, g->regions, &fd, err);
    if (st) return st;
    const size_t mapped = (size_t)notice->bytes;
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
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < g->nranks && !st; r++) {
        region->part[r].bytes = notices[r].bytes;
        if (r != g->rank && tutti_group_is_near(g, r)) st = map_peer(region, g, name, r, &notices[r], err);
    }
    return st;
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

/* --- memory of a source, such as a device --- */

static tutti_status open_peers(tutti_region *region, const tutti_group *g, const region_notice *all, tutti_failure *err)
{
    const tutti_region_source *source = &region->source;
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < g->nranks && !st; r++) {
        region->part[r].bytes = all[r].bytes;
        if (r != g->rank && all[r].bytes)
            st = source->open(source->device, all[r].handle, all[r].bytes, &region->part[r].base, err);
    }
    return st;
}

static void release_source(tutti_region *region)
{
    const tutti_region_source *source = &region->source;
    for (int r = 0; r < region->nranks; r++)
        if (r != region->rank && region->part[r].base) source->close(source->device, region->part[r].base);
    void *own = region->part[region->rank].base;
    if (own) source->release(source->device, own, region->part[region->rank].bytes);
}

static tutti_status check_source(const tutti_group *g, const tutti_region_source *source, tutti_failure *err)
{
    for (int r = 0; r < g->nranks; r++)
        if (!tutti_group_is_near(g, r))
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "device %s: ranks lie on several hosts, and its memory is not reached over a wire: use "
                              "'device: cpu', or ranks of one host",
                              source->name);
    if (g->thread_boards && g->nranks > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "device %s: ranks that share it are processes, not threads",
                          source->name);
    return TUTTI_OK;
}

/* --- creating regions --- */

static tutti_region *begin(tutti_group *g, bool enrolled)
{
    tutti_region *region = tutti_alloc(sizeof *region + sizeof region->part[0] * (size_t)g->nranks);
    region->nranks = g->nranks;
    region->boards = g->thread_boards;
    region->enrolled = enrolled;
    g->regions++;
    return region;
}

/* Returns the bytes of this rank's part that a wire enrols. */
static size_t own_mapped(const tutti_region *region, int rank)
{
    return region->enrolled ? region->part[rank].bytes : round_up(region->part[rank].bytes);
}

/* A rank's contribution to a region: its memory, or the reason why it has none. */
typedef struct {
    region_notice notice;
    int fd; /* descriptor that peers map, -1 = none */
    tutti_failure why;
} contribution;

static tutti_status join(tutti_region *region, tutti_group *g, const char *name, const contribution *own,
                         tutti_failure *err)
{
    const int fd = own->fd;
    region_notice *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_status st = exchange_notices(g, name, &own->notice, all, &own->why, err);
    if (region->boards) {
        if (!st) adopt_threads(region, all);
    } else if (!st && g->nranks > 1) {
        tutti_failure unmapped = {0};
        st = region->enrolled ? map_peers(region, g, name, fd, all, &unmapped)
                              : share_whole(region, g, name, fd, all, &unmapped);
        st = tutti_group_all_well(g, name, st, &unmapped); /* no rank uses the region before all ranks have mapped it */
        if (st) tutti_fail(err, st, "%s", unmapped.text);
    }
    if (!st && g->wire && !region->boards) {
        region->group = g;
        region->far = tutti_alloc(sizeof *region->far * (size_t)g->nranks);
        const tutti_own_memory mine = {region->part[g->rank].base, own_mapped(region, g->rank)};
        st = tutti_group_enrol(g, name, mine, &region->memory, region->far, err);
    }
    free(all);
    return st;
}

tutti_status tutti_region_create(tutti_group *g, const char *name, size_t own_bytes, tutti_region **out,
                                 tutti_failure *err)
{
    tutti_region *region = begin(g, false);
    contribution own = {.notice = {.bytes = own_bytes}, .fd = -1};
    own.notice.status = create_own(region, g, name, &own.notice, &own.fd, &own.why);
    const tutti_status st = join(region, g, name, &own, err);
    if (own.fd >= 0) close(own.fd);
    if (st)
        tutti_region_destroy(region);
    else
        *out = region;
    return st;
}

tutti_status tutti_region_create_of(tutti_group *g, const tutti_region_source *source, const char *name,
                                    size_t own_bytes, tutti_region **out, tutti_failure *err)
{
    tutti_status st = check_source(g, source, err);
    if (st) return st;
    tutti_region *region = begin(g, false);
    region_notice own = {.bytes = own_bytes}, *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_failure why = {0}, closed = {0};
    region->source = *source;
    region->rank = g->rank;
    region->part[g->rank].bytes = own_bytes;
    void **base = &region->part[g->rank].base;
    if (own_bytes) own.status = source->make(source->device, own_bytes, base, &why);
    if (own_bytes && !own.status && g->nranks > 1) own.status = source->show(source->device, *base, own.handle, &why);
    st = exchange_notices(g, name, &own, all, &why, err);
    if (!st && g->nranks > 1) {
        st = open_peers(region, g, all, &closed);
        st = tutti_group_all_well(g, name, st, &closed); /* no rank uses the region before all ranks have opened it */
        if (st) tutti_fail(err, st, "%s", closed.text);
    }
    free(all);
    if (st)
        tutti_region_destroy(region);
    else
        *out = region;
    return st;
}

tutti_status tutti_region_enrol(tutti_group *g, const char *name, const tutti_enrolled *memory, tutti_region **out,
                                tutti_failure *err)
{
    tutti_region *region = begin(g, true);
    contribution own = {.notice = {.bytes = memory->nbytes,
                                   .memory = (uint64_t)(uintptr_t)memory->at,
                                   .offset = (uint64_t)memory->offset},
                        .fd = memory->fd};
    region->part[g->rank].base = memory->at;
    region->part[g->rank].bytes = memory->nbytes;
    /* A page that the file system cannot allocate would be a SIGBUS later. Kernels before 5.14 cannot check this. */
    if (madvise(memory->at, memory->nbytes, MADV_POPULATE_WRITE) && errno != EINVAL && errno != ENOSYS &&
        errno != EPERM)
        own.notice.status = fail_short(g, name, memory->nbytes, &own.why);
    const tutti_status st = join(region, g, name, &own, err);
    if (st)
        tutti_region_destroy(region);
    else
        *out = region;
    return st;
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
    if (region->source.name) release_source(region);
    if (region->memory) tutti_group_forget(region->group, region->memory);
    for (int r = 0; r < region->nranks; r++) {
        thread_memory *memory = region->part[r].memory;
        if (memory) let_go(memory, region->boards);
        const size_t mapped = region->part[r].mapped; /* bytes that are mapped; 0 between threads */
        if (mapped && region->own_pages)
            tutti_pages_give_back(region->part[r].base, mapped); /* parts of other ranks are not mapped */
        if (mapped && !region->own_pages) munmap(region->part[r].base, mapped);
    }
    if (region->whole) munmap(region->whole, region->whole_bytes);
    free(region->far);
    free(region);
}
