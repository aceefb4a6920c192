/* SPDX-License-Identifier: Apache-2.0 */
/* fake_memory.c: device memory: real addresses that the host must not follow.
 *
 * An arena of addresses is reserved. An allocation is a memfd that is mapped twice: in the arena without access, and in
 * an alias of the arena, through which the fake itself works. A third map holds a byte for each byte: not allocated,
 * unwritten or written. Addresses are not used again, so what is used after it was freed is found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake.h"

uint64_t fake_arena, fake_arena_size, fake_alias, fake_shadow;

enum { PAGE = 4096, GUARD = 16 * PAGE, MAX_POISON = 64 << 20 };
static const uint64_t arena_bytes = UINT64_C(1) << 38; /* 256 GiB of addresses */
static uint64_t next_free;
static fake_block *blocks;
static bool host_may_look;

typedef struct host_range {
    uint64_t at;
    size_t nbytes;
    bool ours;
    struct host_range *next;
} host_range;
static host_range *host_ranges;

static uint64_t reserve(int access)
{
    void *at = mmap(NULL, arena_bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)at;
}

int fake_memory_begin(void)
{
    if (fake_arena) return FAKE_OK;
    struct rlimit files; /* an allocation is a descriptor */
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    const uint64_t arena = reserve(PROT_NONE);
    fake_alias = reserve(PROT_NONE);
    fake_shadow = reserve(PROT_READ | PROT_WRITE);
    if (!arena || !fake_alias || !fake_shadow) return FAKE_OUT_OF_MEMORY;
    fake_arena = arena;
    fake_arena_size = arena_bytes;
    next_free = arena + GUARD;
    return FAKE_OK;
}

static void *map_at(uint64_t at, size_t nbytes, int access, int fd)
{
    const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);
    return mmap((void *)(uintptr_t)at, nbytes, access, flags, fd, 0);
}

static void unmap(const fake_block *b)
{
    map_at(b->at, b->mapped, PROT_NONE, -1);
    map_at((uint64_t)(uintptr_t)fake_bytes(b->at), b->mapped, PROT_NONE, -1);
}

static int place(int fd, size_t nbytes, int card, fake_block **out)
{
    const size_t mapped = (nbytes + PAGE - 1) / PAGE * PAGE;
    if (next_free + mapped + GUARD > fake_arena + fake_arena_size) return FAKE_OUT_OF_MEMORY;
    fake_block *b = calloc(1, sizeof(*b));
    if (!b) return FAKE_OUT_OF_MEMORY;
    *b = (fake_block){.at = next_free, .nbytes = nbytes, .mapped = mapped, .fd = fd, .card = card};
    const int access = host_may_look ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (map_at(b->at, mapped, access, fd) == MAP_FAILED ||
        map_at((uint64_t)(uintptr_t)fake_bytes(b->at), mapped, PROT_READ | PROT_WRITE, fd) == MAP_FAILED) {
        unmap(b);
        free(b);
        return FAKE_OUT_OF_MEMORY;
    }
    next_free += mapped + GUARD;
    b->next = blocks;
    blocks = b;
    *out = b;
    return FAKE_OK;
}

int fake_allocate(size_t nbytes, int card, bool inner, uint64_t *out)
{
    const int fd = memfd_create("fake cuda", MFD_CLOEXEC);
    fake_block *b;
    if (fd < 0 || ftruncate(fd, (off_t)((nbytes + PAGE - 1) / PAGE * PAGE)) || place(fd, nbytes, card, &b)) {
        if (fd >= 0) close(fd);
        return FAKE_OUT_OF_MEMORY;
    }
    b->inner = inner;
    memset(fake_marks(b->at), inner ? FAKE_WRITTEN : FAKE_UNWRITTEN, nbytes);
    if (!inner) memset(fake_bytes(b->at), 0xff, nbytes < MAX_POISON ? nbytes : MAX_POISON);
    *out = b->at;
    return FAKE_OK;
}

int fake_open(int fd, size_t nbytes, int card, uint64_t *out)
{
    fake_block *b;
    const int code = place(fd, nbytes, card, &b);
    if (code) return code;
    b->opened = true;
    memset(fake_marks(b->at), FAKE_WRITTEN, nbytes);
    *out = b->at;
    return FAKE_OK;
}

fake_block *fake_block_of(uint64_t address)
{
    for (fake_block *b = blocks; b; b = b->next)
        if (address >= b->at && address < b->at + b->nbytes) return b;
    return NULL;
}

fake_block *fake_blocks(void)
{
    return blocks;
}

size_t fake_used(int card)
{
    size_t used = 0;
    for (fake_block *b = blocks; b; b = b->next)
        if (!b->freed && !b->opened && b->card == card) used += b->mapped;
    return used;
}

int fake_free(uint64_t at, bool inner, const char *call)
{
    fake_block *b = fake_block_of(at);
    if (!b || b->at != at || b->inner != inner) {
        fake_report("%s of 0x%llx, which is no allocation", call, (unsigned long long)at);
        return FAKE_INVALID_VALUE;
    }
    if (b->freed) {
        fake_report("%s: double free of 0x%llx, %zu bytes", call, (unsigned long long)at, b->nbytes);
        return FAKE_INVALID_VALUE;
    }
    b->freed = true;
    memset(fake_marks(b->at), FAKE_NONE, b->nbytes);
    unmap(b);
    close(b->fd);
    return FAKE_OK;
}

void fake_open_memory(bool open)
{
    if (open == host_may_look) return;
    host_may_look = open;
    for (fake_block *b = blocks; b; b = b->next)
        if (!b->freed) mprotect((void *)(uintptr_t)b->at, b->mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

int fake_host_add(void *at, size_t nbytes, bool ours)
{
    for (host_range *r = host_ranges; r; r = r->next)
        if ((uint64_t)(uintptr_t)at < r->at + r->nbytes && r->at < (uint64_t)(uintptr_t)at + nbytes)
            return FAKE_ALREADY_REGISTERED;
    host_range *r = malloc(sizeof(*r));
    if (!r) return FAKE_OUT_OF_MEMORY;
    *r = (host_range){(uint64_t)(uintptr_t)at, nbytes, ours, host_ranges};
    host_ranges = r;
    return FAKE_OK;
}

int fake_host_remove(void *at, bool ours)
{
    for (host_range **r = &host_ranges; *r; r = &(*r)->next) {
        if ((*r)->at != (uint64_t)(uintptr_t)at || (*r)->ours != ours) continue;
        host_range *gone = *r;
        *r = gone->next;
        free(gone);
        return FAKE_OK;
    }
    fake_report("%p is given back, which is no %s host memory", at, ours ? "pinned" : "registered");
    return ours ? FAKE_INVALID_VALUE : FAKE_NOT_REGISTERED;
}

bool fake_host_has(uint64_t at, size_t nbytes)
{
    for (const host_range *r = host_ranges; r; r = r->next)
        if (at >= r->at && at + nbytes <= r->at + r->nbytes) return true;
    return false;
}

int fake_host_left(bool ours)
{
    int n = 0;
    for (const host_range *r = host_ranges; r; r = r->next) n += r->ours == ours;
    return n;
}

void fake_describe(uint64_t at, size_t nbytes, char *out, size_t size)
{
    fake_block *b = fake_block_of(at), *before = NULL;
    if (b) {
        snprintf(out, size, "0x%llx, %zu bytes at offset %llu of %s of %zu bytes at 0x%llx", (unsigned long long)at,
                 nbytes, (unsigned long long)(at - b->at), b->freed ? "the freed allocation" : "the allocation",
                 b->nbytes, (unsigned long long)b->at);
        return;
    }
    for (fake_block *c = blocks; c; c = c->next)
        if (c->at < at && (!before || c->at > before->at)) before = c;
    if (before && fake_is_device(at))
        snprintf(out, size, "0x%llx, %zu bytes, %llu behind the end of %s of %zu bytes at 0x%llx",
                 (unsigned long long)at, nbytes, (unsigned long long)(at - before->at - before->nbytes),
                 before->freed ? "the freed allocation" : "the allocation", before->nbytes,
                 (unsigned long long)before->at);
    else
        snprintf(out, size, "0x%llx, %zu bytes, which the device does not have", (unsigned long long)at, nbytes);
}

uint8_t *fake_range(uint64_t at, size_t nbytes, bool writes, bool any, const char *who)
{
    if (!nbytes) return (uint8_t *)(uintptr_t)at;
    char where[256];
    if (!fake_is_device(at)) {
        if (any || fake_host_has(at, nbytes)) return (uint8_t *)(uintptr_t)at;
        fake_report("%s: 0x%llx is neither device memory nor registered host memory", who, (unsigned long long)at);
        return NULL;
    }
    uint8_t *marks = fake_marks(at);
    const bool inside = at - fake_arena + nbytes <= fake_arena_size;
    const uint8_t *hole = inside ? memchr(marks, FAKE_NONE, nbytes) : marks;
    const uint8_t *fresh = hole || writes ? NULL : memchr(marks, FAKE_UNWRITTEN, nbytes);
    if (hole || fresh) {
        const size_t offset = (size_t)((hole ? hole : fresh) - marks);
        fake_describe(at + offset, nbytes - offset, where, sizeof(where));
        fake_report("%s: %s %s", who, hole ? "out of bounds:" : "reads what nobody has written:", where);
        return hole ? NULL : fake_bytes(at);
    }
    if (writes) memset(marks, FAKE_WRITTEN, nbytes);
    return fake_bytes(at);
}
