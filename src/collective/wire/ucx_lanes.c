/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_lanes.c: finds which transports UCX uses and whether they move bytes without the other side, from UCX's printed
 * tables.
 *
 * UCX does not use shared memory for endpoints that handle errors of their peers: with UCX_TLS=sm they get "no
 * transport". So ranks of one host that all have a transport which copies between processes (CMA, KNEM, XPMEM) connect
 * without error handling; rank 0's connections name a dead rank, as always. All others connect with it, because over
 * TCP or verbs an end must not look like silence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "ucx_impl.h"

enum { MOST_TRANSPORT = 32 };

static const char *const between_processes[] = {"cma", "knem", "xpmem"};
enum { NBETWEEN = sizeof between_processes / sizeof between_processes[0] };

/* Returns the transport of a line such as "resource 3 : md 3 dev 1 flags -- cma/memory" or "lane[2]: 3:cma/memory.0
 * md[3] -> .. rma_bw#0"; NULL: it has none. */
static const char *transport_of(const char *line, char out[MOST_TRANSPORT])
{
    const char *slash = strchr(line, '/'), *from = slash;
    while (from && from > line && from[-1] != ' ' && from[-1] != ':') from--;
    if (!slash || slash - from >= MOST_TRANSPORT) return NULL;
    snprintf(out, MOST_TRANSPORT, "%.*s", (int)(slash - from), from);
    return out;
}

static bool copies_between_processes(const char *transport)
{
    for (int i = 0; i < NBETWEEN; i++)
        if (!strcmp(transport, between_processes[i])) return true;
    return false;
}

static bool is_tcp(const char *transport)
{
    return !strcmp(transport, "tcp");
}

/* Returns true for UCX's transports of network cards: "rc_verbs", "dc_mlx5", "ud_verbs", "ugni_rdma", "srd". */
static bool is_card(const char *transport)
{
    static const char *const begins[] = {"rc_", "dc_", "ud_", "ugni", "srd"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(transport, begins[i], strlen(begins[i]))) return true;
    return false;
}

/* Returns true if the line is of a transport that moves long messages without the peer's process. TCP's lanes do not
 * count, although a put's bytes use them. */
static bool is_one_sided(const char *line, const char *transport)
{
    return strstr(line, "rma_bw") && !is_tcp(transport);
}

/* --- transports on this host --- */

static uint64_t host_of_ours(void)
{
    struct stat net = {0};
    char boot_id[40] = "";
    const char *apart = getenv("TUTTI_HOST_ID");
    tutti_hasher *h = tutti_hasher_create();
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(boot_id, sizeof boot_id, f)) boot_id[0] = '\0';
    if (f) fclose(f);
    (void)stat("/proc/self/ns/net", &net);
    tutti_hasher_add(h, boot_id, strlen(boot_id));
    tutti_hasher_add(h, &net.st_dev, sizeof net.st_dev);
    tutti_hasher_add(h, &net.st_ino, sizeof net.st_ino);
    if (apart) tutti_hasher_add(h, apart, strlen(apart));
    return tutti_hasher_finish(h);
}

/* Returns true if the context has a transport for which is_so holds. */
static bool has(const ucx_wire *w, bool (*is_so)(const char *transport))
{
    char *text = NULL, name[MOST_TRANSPORT];
    size_t n;
    bool found = false;
    FILE *f = open_memstream(&text, &n);
    if (!f) return false;
    w->ucx.ucp_context_print_info(w->context, f);
    fclose(f);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && !found;)
        found = strstr(line, "resource") && transport_of(line, name) && is_so(name);
    free(text);
    return found;
}

bool tutti_ucx_leaves_host_by_tcp(const ucx_wire *w)
{
    return has(w, is_tcp) && !has(w, is_card);
}

void tutti_ucx_fill_card(ucx_wire *w, const void *address, size_t nbytes)
{
    w->card_bytes = sizeof *w->card + nbytes;
    w->card = tutti_alloc(w->card_bytes);
    *w->card = (ucx_card){.host = host_of_ours(), .shares = has(w, copies_between_processes)};
    memcpy(w->card->address, address, nbytes);
}

bool tutti_ucx_shares_memory(const ucx_card *a, const ucx_card *b)
{
    return a->shares && b->shares && a->host == b->host;
}

/* --- transports to a peer --- */

static void add_name(char *names, size_t room, const char *name)
{
    const size_t at = strlen(names), n = strlen(name);
    for (const char *found = names; (found = strstr(found, name)); found += n)
        if ((found == names || found[-1] == '+') && (found[n] == '+' || !found[n])) return;
    snprintf(names + at, room - at, "%s%s", at ? "+" : "", name);
}

/* Finds the network device of a line such as "lane[0]:  3:tcp/eth0.0 md[1]", where UCX's device number follows the
 * point. */
static bool device_of(const char *line, const char *transport, char out[80])
{
    const char *from = strchr(line, '/');
    char device[40];
    if (!from || !(is_tcp(transport) || is_card(transport))) return false;
    size_t n = strcspn(++from, " \t\n");
    for (size_t k = n; k > 0; k--)
        if (from[k - 1] == '.') {
            n = k - 1;
            break;
        }
    if (n == 0 || n >= sizeof device) return false;
    snprintf(device, sizeof device, "%.*s", (int)n, from);
    tutti_ucx_describe_device(device, out);
    return true;
}

void tutti_ucx_list_transports(const ucx_wire *w, char *out, size_t room)
{
    char *text = NULL, name[MOST_TRANSPORT];
    size_t n;
    out[0] = '\0';
    FILE *f = open_memstream(&text, &n);
    if (!f) return;
    w->ucx.ucp_context_print_info(w->context, f);
    fclose(f);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (strstr(line, "resource") && transport_of(line, name)) add_name(out, room, name);
    free(text);
}

void tutti_ucx_look_at_lanes(ucx_wire *w, ucx_peer *p)
{
    char *text = NULL, name[MOST_TRANSPORT], device[80];
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f) return;
    w->ucx.ucp_ep_print_info(p->endpoint, f);
    fclose(f);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        if (!strstr(line, "lane[") || !transport_of(line, name)) continue;
        p->one_sided |= is_one_sided(line, name);
        add_name(w->transports, sizeof w->transports, name);
        if (device_of(line, name, device)) add_name(w->devices, sizeof w->devices, device);
    }
    free(text);
}
