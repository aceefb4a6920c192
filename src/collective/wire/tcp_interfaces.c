/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_interfaces.c: lists the network interfaces and addresses of this host, orders those of a peer, and describes the
 * connections in use.
 *
 * A host cannot know which of its addresses a peer sees. So its card lists all addresses, and the dialer tries common
 * networks before others, and faster networks before slower ones. A wrong address, such as that of a bridge that is the
 * same on every host, does no harm: the host that answers must show the peer's token. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "../../base/text/strbuf.h"
#include "tcp_impl.h"

/* --- interfaces of this host --- */

uint32_t tutti_tcp_interface_figure(const char *interface, const char *file)
{
    char path[96];
    long figure = 0;
    snprintf(path, sizeof path, "/sys/class/net/%.15s/%.40s", interface, file);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%ld", &figure) != 1) figure = 0;
    fclose(f);
    return figure > 0 ? (uint32_t)figure : 0;
}

static int count_bits(const uint8_t *mask, int nbytes)
{
    int bits = 0;
    for (int i = 0; i < nbytes; i++) bits += __builtin_popcount(mask[i]);
    return bits;
}

/* Returns false if peers cannot use the address. */
static bool read_address(const struct ifaddrs *a, tcp_address *out)
{
    *out = (tcp_address){0};
    if (!a->ifa_addr || !(a->ifa_flags & IFF_UP)) return false;
    if (a->ifa_addr->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)a->ifa_addr, *mask = (const void *)a->ifa_netmask;
        out->family = 4;
        memcpy(out->bytes, &four->sin_addr, 4);
        if (mask) out->prefix = (uint8_t)count_bits((const uint8_t *)&mask->sin_addr, 4);
    } else if (a->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)a->ifa_addr, *mask = (const void *)a->ifa_netmask;
        if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) return false;
        out->family = 6;
        memcpy(out->bytes, &six->sin6_addr, 16);
        if (mask) out->prefix = (uint8_t)count_bits((const uint8_t *)&mask->sin6_addr, 16);
    } else {
        return false;
    }
    snprintf(out->name, sizeof out->name, "%.15s", a->ifa_name);
    out->mbit = tutti_tcp_interface_figure(a->ifa_name, "speed");
    return true;
}

/* Returns the index of `name` among the names of a list with commas, -1: it is not in the list. */
static int place_in(const char *list, const char *name)
{
    const size_t length = strlen(name);
    int place = 0;
    for (const char *at = list; *at; place++) {
        const size_t n = strcspn(at, ",");
        if (n == length && !strncmp(at, name, n)) return place;
        at += n + (at[n] == ',');
    }
    return -1;
}

static bool is_there(const struct ifaddrs *all, const char *name, size_t n)
{
    tcp_address a;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (read_address(i, &a) && strlen(a.name) == n && !strncmp(a.name, name, n)) return true;
    return false;
}

/* Returns true if all interfaces of the list exist. A list with one wrong name is an error too, because bytes would use
 * other interfaces than the user asked for. */
static bool are_there(const struct ifaddrs *all, const char *list)
{
    bool any = false;
    for (const char *at = list; *at;) {
        const size_t n = strcspn(at, ",");
        if (n && !is_there(all, at, n)) return false;
        any |= n > 0;
        at += n + (at[n] == ',');
    }
    return any;
}

static tutti_status fail_unknown(const char *wanted, const struct ifaddrs *all, tutti_failure *err)
{
    tutti_strbuf names = {0};
    tcp_address a;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!read_address(i, &a) || (names.text && place_in(names.text, a.name) >= 0)) continue;
        tutti_strbuf_printf(&names, "%s%s", names.length ? "," : "", a.name);
    }
    tutti_fail(err, TUTTI_ERR_USAGE,
               "TUTTI_NET_IF='%.200s': no such interface is up here with an address; there are: %s", wanted,
               names.text ? names.text : "none");
    tutti_strbuf_release(&names);
    return TUTTI_ERR_USAGE;
}

/* Inserts the address into the list, which is sorted by descending keys. */
static void insert(tcp_address *out, uint32_t *n, const tcp_address *a, int64_t *keys, int64_t key)
{
    uint32_t at = *n;
    if (at == TUTTI_TCP_MOST_ADDRESSES) return;
    for (; at > 0 && keys[at - 1] < key; at--) out[at] = out[at - 1], keys[at] = keys[at - 1];
    out[at] = *a, keys[at] = key;
    ++*n;
}

static void list(const struct ifaddrs *all, const char *wanted, bool loopback, tcp_address *out, uint32_t *n)
{
    int64_t keys[TUTTI_TCP_MOST_ADDRESSES];
    tcp_address a;
    *n = 0;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!read_address(i, &a)) continue;
        const int place = wanted ? place_in(wanted, a.name) : 0;
        if (place < 0 || (!wanted && loopback != ((i->ifa_flags & IFF_LOOPBACK) != 0))) continue;
        insert(out, n, &a, keys, wanted ? -place : (int64_t)a.mbit);
    }
}

tutti_status tutti_tcp_list_addresses(const char *wanted, tcp_address out[TUTTI_TCP_MOST_ADDRESSES], uint32_t *n,
                                      tutti_failure *err)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all))
        return tutti_fail(err, TUTTI_ERR_FAILED, "wire tcp: cannot list the interfaces: %s", strerror(errno));
    list(all, wanted, false, out, n);
    if (*n == 0 && !wanted) list(all, NULL, true, out, n);
    tutti_status st = wanted && !are_there(all, wanted) ? fail_unknown(wanted, all, err) : TUTTI_OK;
    freeifaddrs(all);
    return st;
}

tutti_status tutti_tcp_fill_card(tcp_wire *w, tutti_failure *err)
{
    tcp_card *c = &w->card;
    struct stat net;
    c->magic = TUTTI_TCP_MAGIC, c->version = TUTTI_TCP_VERSION;
    c->checksum = w->settings.checksum;
    c->nconnections = (uint32_t)w->settings.nconnections;
    if (getrandom(c->token, sizeof c->token, 0) != sizeof c->token)
        return tutti_fail(err, TUTTI_ERR_FAILED, "wire tcp: no random bytes: %s", strerror(errno));
    if (stat("/proc/self/ns/net", &net) == 0) c->netns = (uint64_t)net.st_ino ^ (uint64_t)net.st_dev << 40;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(c->boot_id, sizeof c->boot_id, f)) c->boot_id[0] = '\0';
    if (f) fclose(f);
    return tutti_tcp_list_addresses(w->settings.interfaces, c->addresses, &c->naddresses, err);
}

/* --- the ways to a peer --- */

static bool equal(const tcp_address *a, const tcp_address *b)
{
    return a->family == b->family && !memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : 16);
}

static bool same_network(const tcp_address *a, const tcp_address *b)
{
    const int bits = a->prefix < b->prefix ? a->prefix : b->prefix, whole = bits / 8, rest = bits % 8;
    if (a->family != b->family || bits == 0 || memcmp(a->bytes, b->bytes, (size_t)whole) != 0) return false;
    return rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}

/* Returns the fastest own address on the network of `to`, -1: none is. */
static int find_own(const tcp_card *own, const tcp_address *to)
{
    int best = -1;
    for (uint32_t i = 0; i < own->naddresses; i++)
        if (same_network(&own->addresses[i], to) && (best < 0 || own->addresses[i].mbit > own->addresses[best].mbit))
            best = (int)i;
    return best;
}

static bool is_ours(const tcp_card *own, const tcp_address *a)
{
    for (uint32_t i = 0; i < own->naddresses; i++)
        if (equal(&own->addresses[i], a)) return true;
    return false;
}

bool tutti_tcp_is_here(const tcp_card *a, const tcp_card *b)
{
    return a->netns == b->netns && !strcmp(a->boot_id, b->boot_id);
}

static void add_loopback(tcp_peer *p)
{
    static const uint8_t one[16] = {[15] = 1};
    tcp_address four = {.family = 4, .prefix = 8, .bytes = {127, 0, 0, 1}, .name = "lo"},
                six = {.family = 6, .name = "lo"};
    memcpy(six.bytes, one, sizeof six.bytes);
    p->ways[p->nways++] = (tcp_way){four, -1};
    p->ways[p->nways++] = (tcp_way){six, -1};
}

/* Returns the key of a way: ways on a common network have the higher keys, and among them those whose slower end is
 * faster. */
static int64_t rank_way(const tcp_card *own, const tcp_way *way)
{
    if (way->own < 0) return 0;
    const uint32_t mine = own->addresses[way->own].mbit, theirs = way->to.mbit;
    return 1 + (int64_t)(mine < theirs ? mine : theirs);
}

/* Inserts the way into the list, which is sorted by descending keys from `first` on. */
static void add_way(tcp_peer *p, const tcp_way *way, int first, int64_t *keys, int64_t key)
{
    if (p->nways == TUTTI_TCP_MOST_ADDRESSES) return;
    int at = p->nways++;
    for (; at > first && keys[at - 1] < key; at--) p->ways[at] = p->ways[at - 1], keys[at] = keys[at - 1];
    p->ways[at] = *way, keys[at] = key;
}

/* If several interfaces were asked for, the best way over each of them comes first, and the connections are distributed
 * over these ways. */
static void part_rails(const tcp_card *own, tcp_peer *p)
{
    p->nrails = 0;
    for (int i = 0; i < p->nways; i++) {
        const tcp_way way = p->ways[i];
        int k = 0;
        while (k < p->nrails && way.own >= 0 &&
               strcmp(own->addresses[p->ways[k].own].name, own->addresses[way.own].name) != 0)
            k++;
        if (way.own < 0 || k < p->nrails)
            continue; /* the way begins at no interface of this host, or at one that another way uses already */
        for (int j = i; j > p->nrails; j--) p->ways[j] = p->ways[j - 1];
        p->ways[p->nrails++] = way;
    }
}

void tutti_tcp_find_ways(const tcp_wire *w, tcp_peer *p)
{
    const tcp_card *own = &w->card, *to = p->card;
    int64_t keys[TUTTI_TCP_MOST_ADDRESSES];
    p->nways = p->nrails = 0;
    if (p->is_here && !w->settings.interfaces) add_loopback(p);
    const int first = p->nways;
    for (uint32_t i = 0; i < to->naddresses; i++) {
        const tcp_way way = {to->addresses[i], find_own(own, &to->addresses[i])};
        /* leaves out an address that this host has too: it is that of a bridge, the same on every host */
        if (!p->is_here && is_ours(own, &way.to)) continue;
        add_way(p, &way, first, keys, p->is_here ? 0 : rank_way(own, &way));
    }
    if (w->settings.interfaces) part_rails(own, p);
    if (p->nrails == 0) p->nrails = 1;
}

socklen_t tutti_tcp_sockaddr(const tcp_address *a, uint32_t port, struct sockaddr_storage *out)
{
    *out = (struct sockaddr_storage){0};
    if (a->family == 4) {
        struct sockaddr_in *four = (struct sockaddr_in *)(void *)out;
        four->sin_family = AF_INET, four->sin_port = htons((uint16_t)port);
        memcpy(&four->sin_addr, a->bytes, 4);
        return sizeof *four;
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)out;
    six->sin6_family = AF_INET6, six->sin6_port = htons((uint16_t)port);
    memcpy(&six->sin6_addr, a->bytes, 16);
    return sizeof *six;
}

void tutti_tcp_address_text(const tcp_address *a, char out[64])
{
    if (!inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, out, 64)) snprintf(out, 64, "?");
}

/* --- addresses in use --- */

static bool read_sockaddr(const struct sockaddr_storage *from, tcp_address *out)
{
    const struct sockaddr_in6 *six = (const void *)from;
    *out = (tcp_address){.family = from->ss_family == AF_INET ? 4 : 6};
    if (from->ss_family == AF_INET) {
        memcpy(out->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) { /* the listener's socket serves both families */
        out->family = 4;
        memcpy(out->bytes, six->sin6_addr.s6_addr + 12, 4);
    } else {
        memcpy(out->bytes, &six->sin6_addr, 16);
    }
    return from->ss_family == AF_INET || from->ss_family == AF_INET6;
}

static void name_address(const tcp_card *own, tcp_address *a)
{
    for (uint32_t i = 0; i < own->naddresses; i++)
        if (equal(&own->addresses[i], a)) *a = own->addresses[i];
    if (!a->name[0]) snprintf(a->name, sizeof a->name, "lo");
}

/* Finds the address that this connection leaves from. */
static bool find_used(const tcp_wire *w, const tcp_connection *c, tcp_address *out)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    if (c->state != TUTTI_TCP_UP || getsockname(c->source.fd, (struct sockaddr *)&name, &length)) return false;
    if (!read_sockaddr(&name, out)) return false;
    name_address(&w->card, out);
    return true;
}

const char *tutti_tcp_describe(tutti_wire *base)
{
    tcp_wire *w = (tcp_wire *)base;
    tcp_address used[4], a;
    int nused = 0, nconnections = 0;
    tutti_strbuf text = {0};
    for (int r = 0; r < base->nranks; r++)
        for (int k = 0; k < w->peers[r].nconnections; k++) {
            if (w->peers[r].nconnections > nconnections) nconnections = w->peers[r].nconnections;
            if (!find_used(w, &w->peers[r].connections[k], &a)) continue;
            int at = 0;
            while (at < nused && !equal(&used[at], &a)) at++;
            if (at == nused && nused < 4) used[nused++] = a;
        }
    for (int i = 0; i < nused; i++) {
        char address[64];
        tutti_tcp_address_text(&used[i], address);
        tutti_strbuf_printf(&text, "%s%s %s", i ? "; " : "", used[i].name, address);
        if (used[i].mbit) tutti_strbuf_printf(&text, ", %g Gbit/s", 1e-3 * (double)used[i].mbit);
    }
    if (nconnections > 1) tutti_strbuf_printf(&text, ", %d connections a pair", nconnections);
    if (w->checksum) tutti_strbuf_puts(&text, ", checksums");
    snprintf(w->words, sizeof w->words, "%s", text.text ? text.text : "no connection");
    tutti_strbuf_release(&text);
    return w->words;
}
