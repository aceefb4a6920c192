/* SPDX-License-Identifier: Apache-2.0 */
/* join_hello.c: the hello of a rank that joins, and what must agree between ranks: number of ranks, version, build,
 * instruction set, wire, job.
 *
 * Everything that decides the bits of results or the layout of memory is compared before any memory is shared:
 * protocol, binary, ISA, rank count, and the caller's fingerprint. A refusal shows both values, because "mismatch"
 * alone helps no one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/hash.h"
#include "../../base/host/build_id.h"
#include "../../tensor/isa.h"
#include "join_impl.h"

enum { PROTOCOL = 3 };

static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    if (!f) return;
    if (!fgets(out, (int)size, f)) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

void tutti_hello_fill(tutti_hello *h, const tutti_group_config *config)
{
    *h = (tutti_hello){.protocol = PROTOCOL,
                       .cookie = config->cookie,
                       .rank = config->rank,
                       .nranks = config->nranks,
                       .pid = (int32_t)getpid(),
                       .build = tutti_build_id()};
    if (gethostname(h->host, sizeof h->host - 1) != 0) snprintf(h->host, sizeof h->host, "unknown");
    read_line("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
    const char *host_id = getenv("TUTTI_HOST_ID");
    snprintf(h->host_id, sizeof h->host_id, "%s", host_id ? host_id : "");
    snprintf(h->wire, sizeof h->wire, "%s", tutti_group_asked_wire());
    snprintf(h->version, sizeof h->version, "%s", TUTTI_VERSION);
    snprintf(h->isa, sizeof h->isa, "%s", tutti_isa_name(tutti_isa_here()));
    struct stat net;
    if (stat("/proc/self/ns/net", &net) == 0) h->netns = (uint64_t)net.st_ino ^ (uint64_t)net.st_dev << 40;
}

void tutti_hello_terminate(tutti_hello *h)
{
    h->host[sizeof h->host - 1] = h->boot_id[sizeof h->boot_id - 1] = h->host_id[sizeof h->host_id - 1] = '\0';
    h->wire[sizeof h->wire - 1] = '\0';
    h->version[sizeof h->version - 1] = h->isa[sizeof h->isa - 1] = '\0';
}

/* Fails with the first line in which the two fingerprints differ, as each of them has it, cut to a readable length. */
static tutti_status fail_on_texts(const tutti_hello *other, const char *zero_text, const char *other_text,
                                  tutti_failure *err)
{
    size_t at = 0, line = 0;
    int number = 1;
    for (; zero_text[at] && zero_text[at] == other_text[at]; at++)
        if (zero_text[at] == '\n') line = at + 1, number++;
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                      "handshake: the fingerprints differ in line %d: rank 0 has '%.*s', rank %d has '%.*s': start all "
                      "ranks with the same job",
                      number, (int)strcspn(zero_text + line, "\n") % 300, zero_text + line, other->rank,
                      (int)strcspn(other_text + line, "\n") % 300, other_text + line);
}

static tutti_status fail_on(const char *what, const tutti_hello *other, const char *a, const char *b,
                            tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "handshake: %s: rank 0 has %s, rank %d (host %s, pid %d) has %s", what,
                      a, other->rank, other->host, other->pid, b);
}

/* Returns true if this hello asks for a wire that maps no memory. */
static bool maps_nothing(const tutti_hello *h)
{
    const tutti_wire_row *row = h->wire[0] ? tutti_wire_find(h->wire, NULL) : NULL;
    return row && !(row->can & TUTTI_WIRE_MAPS_MEMORY);
}

static bool same_host(const tutti_hello *a, const tutti_hello *b)
{
    return !strcmp(a->boot_id, b->boot_id) && a->netns == b->netns && !strcmp(a->host_id, b->host_id);
}

void tutti_hello_number_hosts(tutti_group *g, const tutti_hello *hellos)
{
    g->nhosts = g->nmachine = 0;
    for (int r = 0; r < g->nranks; r++) {
        int first = 0;
        while (!same_host(&hellos[first], &hellos[r])) first++;
        g->hosts[r] = first == r ? g->nhosts++ : g->hosts[first];
        g->nmachine +=
            !strcmp(hellos[r].boot_id, hellos[g->rank].boot_id); /* ranks in other network namespaces share the
                                                                  * machine's cores too */
    }
    if (g->nhosts > 1 || !maps_nothing(&hellos[0])) return;
    for (int r = 0; r < g->nranks; r++)
        g->hosts[r] = r; /* a wire that maps no memory: each rank counts as a host of its own */
    g->nhosts = g->nranks;
}

/* ---- cores of a machine ---- */

void tutti_hello_fill_cores(tutti_hello_cores *c)
{
    tutti_cores_own(&c->own);
    c->quota = tutti_cores_quota();
}

static bool same_machine(const tutti_hello *a, const tutti_hello *b)
{
    return !strcmp(a->boot_id, b->boot_id);
}

/* Sums the core quotas of all control groups of ranks on the machine of rank `first`; each group counts once. 0 = no
 * limit, because a group has none. */
static double unite_quotas(const tutti_hello *hellos, const tutti_hello_cores *cores, int first, int nranks)
{
    double sum = 0;
    for (int r = first; r < nranks; r++) {
        const tutti_core_quota *q = &cores[r].quota;
        bool counted = false;
        if (!same_machine(&hellos[first], &hellos[r])) continue;
        if (!(q->cores > 0)) return 0;
        for (int k = first; k < r; k++)
            counted = counted || (same_machine(&hellos[k], &hellos[r]) && cores[k].quota.group == q->group);
        if (!counted) sum += q->cores;
    }
    return sum;
}

void tutti_hello_unite_cores(tutti_hello *hellos, const tutti_hello_cores *cores, int nranks)
{
    for (int r = 0; r < nranks; r++) hellos[r].ncores = 0;
    for (int first = 0; first < nranks; first++) {
        tutti_core_set all = {0};
        if (hellos[first].ncores) continue;
        for (int r = first; r < nranks; r++)
            if (same_machine(&hellos[first], &hellos[r])) tutti_cores_add(&all, &cores[r].own);
        const int n = tutti_cores_within(tutti_cores_count(&all), unite_quotas(hellos, cores, first, nranks));
        for (int r = first; r < nranks; r++)
            if (same_machine(&hellos[first], &hellos[r])) hellos[r].ncores = n;
    }
}

tutti_status tutti_hello_compare(const tutti_hello *zero, const char *zero_print, const tutti_hello *other,
                                 const char *other_print, tutti_failure *err)
{
    char a[32], b[32];
    if (zero->nranks != other->nranks) {
        snprintf(a, sizeof a, "%d ranks", zero->nranks), snprintf(b, sizeof b, "%d ranks", other->nranks);
        return fail_on("rank count", other, a, b, err);
    }
    if (strcmp(zero->version, other->version)) return fail_on("version", other, zero->version, other->version, err);
    if (zero->build != other->build && zero->build && other->build) {
        tutti_hash_text(zero->build, a), tutti_hash_text(other->build, b);
        return fail_on("different builds of the program (build id)", other, a, b, err);
    }
    if (strcmp(zero->isa, other->isa)) return fail_on("instruction set (TUTTI_ISA)", other, zero->isa, other->isa, err);
    if (strcmp(zero->wire, other->wire))
        return fail_on("wire (TUTTI_WIRE)", other, zero->wire[0] ? zero->wire : "auto",
                       other->wire[0] ? other->wire : "auto", err);
    return strcmp(zero_print, other_print) ? fail_on_texts(other, zero_print, other_print, err) : TUTTI_OK;
}
