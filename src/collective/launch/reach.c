/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c: finds an address of rank 0 that the other hosts can reach. A host has several addresses (bridges, several
 * networks) and cannot know which of them a peer can reach, so rank 0 tells all and each peer takes the first that
 * answers. The handshake proves by the cookie that rank 0 answered. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "discover_impl.h"

enum { MOST_ADDRESSES = 16 };

static bool useful(const struct ifaddrs *a)
{
    if (!a->ifa_addr || !(a->ifa_flags & IFF_UP) || a->ifa_flags & IFF_LOOPBACK) return false;
    if (a->ifa_addr->sa_family == AF_INET) return true;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)a->ifa_addr;
    return a->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

void tutti_reach_own(char list[TUTTI_REACH_TEXT])
{
    struct ifaddrs *all = NULL;
    size_t at = 0;
    list[0] = '\0';
    if (getifaddrs(&all)) all = NULL;
    for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
        char text[64];
        if (!useful(a)) continue;
        socklen_t length = a->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (getnameinfo(a->ifa_addr, length, text, sizeof text, NULL, 0, NI_NUMERICHOST)) continue;
        if (at + strlen(text) + 2 > TUTTI_REACH_TEXT) break;
        at += (size_t)snprintf(list + at, TUTTI_REACH_TEXT - at, "%s%s", at ? "," : "", text);
    }
    if (all) freeifaddrs(all);
    if (!at) snprintf(list, TUTTI_REACH_TEXT, "127.0.0.1");
}

int tutti_reach_listen(tutti_reach_where where, int *port)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(where == TUTTI_REACH_LOOPBACK ? INADDR_LOOPBACK : INADDR_ANY)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    const bool is_six = where == TUTTI_REACH_ALL_SIX;
    struct sockaddr *address = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t length = is_six ? sizeof six : sizeof four;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, address, length) || listen(fd, 1024) || getsockname(fd, address, &length)) {
        int problem = errno;
        close(fd);
        errno = problem;
        return -1;
    }
    *port = ntohs(is_six ? six.sin6_port : four.sin_port);
    return fd;
}

/* --- the ranks that look for rank 0 --- */

static int begin_connect(const char *address, int port)
{
    char text[16];
    struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
    snprintf(text, sizeof text, "%d", port);
    if (getaddrinfo(address, text, &want, &found)) return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Tries all addresses once; returns the index of the first that answers, or -1. */
static int try_all(char addresses[][64], int n, int port, double timeout_s)
{
    struct pollfd polls[MOST_ADDRESSES];
    int first = -1, open = 0;
    for (int i = 0; i < n; i++) {
        polls[i] = (struct pollfd){.fd = begin_connect(addresses[i], port), .events = POLLOUT};
        open += polls[i].fd >= 0;
    }
    const double until = tutti_clock_s() + timeout_s;
    while (first < 0 && open > 0) {
        double left = until - tutti_clock_s();
        if (left <= 0 || poll(polls, (nfds_t)n, (int)(left * 1e3) + 1) <= 0) break;
        for (int i = 0; i < n && first < 0; i++) {
            int problem = 0;
            socklen_t length = sizeof problem;
            if (polls[i].fd < 0 || !polls[i].revents) continue;
            if (!getsockopt(polls[i].fd, SOL_SOCKET, SO_ERROR, &problem, &length) && problem == 0) first = i;
            close(polls[i].fd), polls[i].fd = -1, open--;
        }
    }
    for (int i = 0; i < n; i++)
        if (polls[i].fd >= 0) close(polls[i].fd);
    return first;
}

bool tutti_reach_first(const char *list, int port, double timeout_s, char out[64])
{
    char addresses[MOST_ADDRESSES][64];
    int n = 0;
    for (const char *at = list; *at && n < MOST_ADDRESSES; n++) {
        size_t length = strcspn(at, ",");
        snprintf(addresses[n], sizeof addresses[n], "%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
    for (double until = tutti_clock_s() + timeout_s; tutti_clock_s() < until; tutti_clock_sleep_s(0.05)) {
        int first = try_all(addresses, n, port, 2);
        if (first < 0) continue;
        snprintf(out, 64, "%s", addresses[first]);
        return true;
    }
    return false;
}
