/* SPDX-License-Identifier: Apache-2.0 */
/* group_hello.c: what a rank says of itself when it joins, and what must agree.
 *
 * Everything that decides bits or layout is compared before any memory is shared: protocol, binary, ISA, rank count, host, and
 * the caller's fingerprint. A refusal shows both values, because "mismatch" helps nobody. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../tensor/elementwise.h"
#include "group_impl.h"

enum { PROTOCOL = 1 };

static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    if (!f) return;
    if (!fgets(out, (int)size, f)) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

/* The program's own file: two builds differ even where their versions agree. 0 = cannot be read (then not compared). */
static uint64_t hash_of_program(void)
{
    char *bytes;
    size_t nbytes;
    if (tutti_file_read("/proc/self/exe", (size_t)1 << 30, TUTTI_ERR_FAILED, &bytes, &nbytes, NULL)) return 0;
    uint64_t hash = tutti_hash(bytes, nbytes);
    free(bytes);
    return hash;
}

void tutti_hello_fill(tutti_hello *h, const tutti_group_config *config)
{
    *h = (tutti_hello){.protocol = PROTOCOL,
                       .cookie = config->cookie,
                       .rank = config->rank,
                       .nranks = config->nranks,
                       .pid = (int32_t)getpid(),
                       .build = hash_of_program()};
    if (gethostname(h->host, sizeof h->host - 1) != 0) snprintf(h->host, sizeof h->host, "unknown");
    read_line("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
    const char *host_id = getenv("TUTTI_HOST_ID");
    snprintf(h->host_id, sizeof h->host_id, "%s", host_id ? host_id : "");
    snprintf(h->version, sizeof h->version, "%s", TUTTI_VERSION);
    snprintf(h->isa, sizeof h->isa, "%s", tutti_elementwise_isa());
    struct stat net;
    if (stat("/proc/self/ns/net", &net) == 0) h->netns = (uint64_t)net.st_ino ^ (uint64_t)net.st_dev << 40;
}

/* Where two long texts part: the line of each, cut to something readable. */
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

static tutti_status compare_host(const tutti_hello *zero, const tutti_hello *other, tutti_failure *err)
{
    if (!strcmp(zero->boot_id, other->boot_id) && zero->netns == other->netns && !strcmp(zero->host_id, other->host_id))
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_RENDEZVOUS,
        "handshake: rank 0 runs on host %s (boot %.8s, network namespace %llx, TUTTI_HOST_ID '%s') and rank "
        "%d on host %s (boot %.8s, network namespace %llx, TUTTI_HOST_ID '%s'): the only wire so far is shm, "
        "so all ranks must be on one host",
        zero->host, zero->boot_id, (unsigned long long)zero->netns, zero->host_id, other->rank, other->host,
        other->boot_id, (unsigned long long)other->netns, other->host_id);
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
        return fail_on("different builds of the program (hash of its file)", other, a, b, err);
    }
    if (strcmp(zero->isa, other->isa)) return fail_on("instruction set (TUTTI_ISA)", other, zero->isa, other->isa, err);
    tutti_status s = compare_host(zero, other, err);
    if (s) return s;
    return strcmp(zero_print, other_print) ? fail_on_texts(other, zero_print, other_print, err) : TUTTI_OK;
}
