/* SPDX-License-Identifier: Apache-2.0 */
/* build_id.c: computes the identity of this build of the program from the notes that the linker leaves in each object
 * (NT_GNU_BUILD_ID: a hash of what was linked).
 *
 * Rejected: hashing the program's file at every start. Its 11 MB would take 8 ms in each of a hundred ranks that start
 * on the same cores. */
#include "build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../file.h"
#include "../hash.h"

enum { MOST_PROGRAM = 1 << 30, ALIGNMENT = 4 };

typedef struct {
    tutti_hasher *ids;
    int nobjects, nids;
} search;

static size_t aligned(size_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Takes the build id from a segment of notes. Returns false if the segment has none. */
static bool take_note(search *s, const char *notes, size_t nbytes)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= nbytes;) {
        ElfW(Nhdr) head;
        memcpy(&head, notes + at, sizeof head);
        const size_t name = at + sizeof head, text = name + aligned(head.n_namesz);
        if (text + head.n_descsz > nbytes) return false;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(notes + name, "GNU", 4)) {
            tutti_hasher_add(s->ids, notes + text, head.n_descsz);
            return true;
        }
        at = text + aligned(head.n_descsz);
    }
    return false;
}

/* Returns true if the loaded object (program or library) contains this function. */
static bool is_ours(const struct dl_phdr_info *object)
{
    const uintptr_t here = (uintptr_t)&tutti_build_id;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && here - object->dlpi_addr - p->p_vaddr < p->p_memsz) return true;
    }
    return false;
}

/* Called for each loaded object. The first object is the program. */
static int look_at_object(struct dl_phdr_info *object, size_t size, void *arg)
{
    search *s = arg;
    (void)size;
    const bool program = s->nobjects++ == 0, ours = is_ours(object);
    bool found = false;
    for (int i = 0; i < object->dlpi_phnum && (program || ours) && !found; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE) found = take_note(s, (const char *)(object->dlpi_addr + p->p_vaddr), p->p_memsz);
    }
    if (program) s->nids += found;
    if (ours) s->nids += found;
    return ours; /* a value other than 0 ends the search, because the objects after ours do not matter */
}

static uint64_t hash_of_file(void)
{
    char *bytes;
    size_t nbytes;
    if (tutti_file_read("/proc/self/exe", MOST_PROGRAM, TUTTI_ERR_FAILED, &bytes, &nbytes, NULL)) return 0;
    const uint64_t hash = tutti_hash(bytes, nbytes);
    free(bytes);
    return hash;
}

uint64_t tutti_build_id(void)
{
    search s = {.ids = tutti_hasher_create()};
    dl_iterate_phdr(look_at_object, &s);
    const uint64_t hash = tutti_hasher_finish(s.ids);
    return s.nids == 2 ? hash : hash_of_file();
}
