/* SPDX-License-Identifier: Apache-2.0 */
/* address.c: reads and resolves the address of rank 0 (MASTER_ADDR), and listens on it. */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- reading an address ---- */

static tutti_status refuse(const char *text, const char *why, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "MASTER_ADDR '%.80s' %s: write a name or an address, as node7, 10.0.0.7, [fd00::7]", text, why);
}

/* Splits a text into host and port: sets *host, its *length and *port (NULL: there is none). False: a bracket is
 * open. */
static bool part(const char **host, size_t *length, const char **port)
{
    const char *text = *host, *colon = strchr(text, ':');
    *port = NULL;
    if (*text == '[') {
        const char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':')) return false;
        *host = text + 1, *length = (size_t)(end - *host);
        if (end[1]) *port = end + 2;
        return true;
    }
    *length = strlen(text);
    if (!colon || strchr(colon + 1, ':')) return true; /* the text is a name, or an IPv6 address */
    *length = (size_t)(colon - text), *port = colon + 1;
    return true;
}

static bool read_port(const char *text, int *out)
{
    char *end;
    const long port = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
    *out = (int)port;
    return port > 0 && port <= 65535 && !*end;
}

/* Checks an IPv6 address. Addresses fe80::/10 exist on each network link, so without an interface's name the system
 * does not know which link. */
static tutti_status check_six(const char *text, const char *host, tutti_failure *err)
{
    char number[TUTTI_ADDRESS_HOST];
    struct in6_addr six;
    const char *scope = strchr(host, '%');
    snprintf(number, sizeof number, "%.*s", scope ? (int)(scope - host) : (int)strlen(host), host);
    if (inet_pton(AF_INET6, number, &six) != 1) return refuse(text, "is not an address of IP 6", err);
    if (scope && !if_nametoindex(scope + 1) && !isdigit((unsigned char)scope[1]))
        return tutti_fail(err, TUTTI_ERR_USAGE, "MASTER_ADDR '%.80s': this host has no interface '%.20s'", text,
                          scope + 1);
    if (scope || !IN6_IS_ADDR_LINKLOCAL(&six)) return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "join: MASTER_ADDR '%.80s' is an address of one link alone: name the interface too, as in %.80s%%eth0", text,
        number);
}

/* Returns true if every character of the text may occur in a host's name. */
static bool is_like_a_name(const char *host)
{
    for (const char *at = host; *at; at++)
        if (*at == '/' || *at == '@' || *at == ',' || *at == ']' || (unsigned char)*at <= ' ') return false;
    return true;
}

tutti_status tutti_address_read(const char *text, tutti_address *out, tutti_failure *err)
{
    const char *host = text, *port;
    struct in_addr four;
    size_t length;
    *out = (tutti_address){0};
    if (strstr(text, "://")) return refuse(text, "is a URL", err);
    if (!part(&host, &length, &port)) return refuse(text, "has an open bracket, or something behind it", err);
    if (length == 0) return refuse(text, "is empty", err);
    if (length >= sizeof out->host) return refuse(text, "is too long for a name", err);
    memcpy(out->host, host, length);
    if (port && !read_port(port, &out->port)) return refuse(text, "has no port of 1 to 65535 behind its colon", err);
    if (!is_like_a_name(out->host)) return refuse(text, "is not a name", err);
    out->is_number = true;
    if (strchr(out->host, ':')) return check_six(text, out->host, err);
    if (out->host[strspn(out->host, "0123456789.")] == '\0')
        return inet_aton(out->host, &four) ? TUTTI_OK
                                           : refuse(text, "is not an address of four numbers up to 255", err);
    out->is_number = false;
    return TUTTI_OK;
}

int tutti_address_resolve(const tutti_address *a, int port, struct addrinfo **out)
{
    char text[16];
    const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = a->is_number ? AI_NUMERICHOST : 0};
    snprintf(text, sizeof text, "%d", port);
    *out = NULL;
    return getaddrinfo(a->host, text, &want, out);
}

/* ---- listening ---- */

/* Opens a listening socket; returns it, or -1 and errno. An IPv6 socket accepts IPv4 connections too, if its address is
 * the wildcard or an IPv4 address in IPv6 form. */
static int listen_on(const struct sockaddr *address, socklen_t length)
{
    const int on = 1, six_alone = 0;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const bool is_six = address->sa_family == AF_INET6;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        (is_six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &six_alone, sizeof six_alone)) ||
        bind(fd, address, length) || listen(fd, 1024)) {
        const int problem = errno;
        close(fd);
        errno = problem;
        return -1;
    }
    return fd;
}

static int listen_everywhere(int port, int *out)
{
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    *out = listen_on((const struct sockaddr *)&six, sizeof six);
    if (*out < 0 && errno != EADDRINUSE) /* the host has no IPv6 */
        *out = listen_on((const struct sockaddr *)&four, sizeof four);
    return *out < 0 ? -1 : 1;
}

static bool is_localhost(const char *host)
{
    return !strcasecmp(host, "localhost") || !strncasecmp(host, "localhost.", 10) ||
           !strncasecmp(host, "ip6-localhost", 13);
}

int tutti_address_listen(const tutti_address *a, int port, int out[TUTTI_ADDRESS_MOST_LISTENERS])
{
    struct addrinfo *found = NULL;
    int n = 0, problem = EADDRNOTAVAIL;
    if (!a->is_number && !is_localhost(a->host)) return listen_everywhere(port, out);
    if (tutti_address_resolve(a, port, &found)) found = NULL;
    for (const struct addrinfo *i = found; i && n < TUTTI_ADDRESS_MOST_LISTENERS; i = i->ai_next) {
        out[n] = listen_on(i->ai_addr, i->ai_addrlen);
        if (out[n] >= 0)
            n++;
        else
            problem = errno;
    }
    if (found) freeaddrinfo(found);
    errno = problem;
    return n ? n : -1;
}

bool tutti_address_is_elsewhere(const tutti_address *a)
{
    struct addrinfo *found = NULL;
    bool here = tutti_address_resolve(a, 0, &found) != 0;
    for (const struct addrinfo *i = found; i && !here; i = i->ai_next) {
        const int fd = socket(i->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        here = fd < 0 || bind(fd, i->ai_addr, i->ai_addrlen) == 0 || errno != EADDRNOTAVAIL;
        if (fd >= 0) close(fd);
    }
    if (found) freeaddrinfo(found);
    return !here;
}
