/* SPDX-License-Identifier: Apache-2.0 */
/* bench_stream.c: what a transfer over TCP is held against: the same bytes through a plain socket between two
 * processes, into their place, and one byte back.
 *
 * bench_stream WAY CONTROL ROUNDS BYTES,..     one line a round: microseconds from the first byte until the answer to
 * the last message
 *   WAY      sleep: who waits sleeps in poll; spin: it looks for 50 us first, as our ranks do
 *   CONTROL  TCP's congestion control; default: as the system has it
 *
 * The receiver of a long message is woken for whole pieces (SO_RCVLOWAT), never for more than the message still has;
 * and never inside recv: that would wait for as many bytes again as it has taken already, for ever at the end of a
 * message. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host/pages.h"

enum { MOST = 4096, PLACE = 1 << 28, PIECE = 1 << 17, SPIN_NS = 50000 };

typedef struct {
    size_t sizes[MOST];
    int n;
    long rounds;
    char *place;
    bool spins;
    const char *control;
} work;

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void await(const work *w, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (const int64_t begin = tutti_clock_ns(); w->spins && tutti_clock_ns() - begin < SPIN_NS;)
        if (poll(&p, 1, 0) > 0) return;
    if (poll(&p, 1, -1) < 0) give_up("poll");
}

static void send_all(const work *w, int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN) give_up("send");
        if (done < 0) await(w, fd, POLLOUT);
        if (done > 0) bytes += done, n -= (size_t)done;
    }
}

static void wake_for(int fd, int n)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof n)) give_up("SO_RCVLOWAT");
}

static void receive_all(const work *w, int fd, char *bytes, size_t n)
{
    bool in_pieces = false;
    while (n > 0) {
        const ssize_t done = recv(fd, bytes, n, MSG_DONTWAIT);
        if (done == 0 || (done < 0 && errno != EAGAIN)) give_up("recv");
        if (done > 0) bytes += done, n -= (size_t)done;
        if (in_pieces != (n >= PIECE)) wake_for(fd, n >= PIECE ? PIECE : 1);
        in_pieces = n >= PIECE;
        if (done < 0) await(w, fd, POLLIN);
    }
}

static int open_socket(const work *w)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) give_up("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* sockets of accept have it too */
    if (strcmp(w->control, "default") &&
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, w->control, (socklen_t)strlen(w->control)))
        give_up(w->control);
    return fd;
}

static int listen_somewhere(const work *w, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = open_socket(w);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, sizeof *address) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)address, &length))
        give_up("listen");
    return fd;
}

static void serve(const work *w, int listener)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) give_up("accept");
    for (long round = 0; round < w->rounds; round++) {
        for (int i = 0; i < w->n; i++) receive_all(w, fd, w->place, w->sizes[i]);
        send_all(w, fd, "", 1);
    }
    close(fd);
}

static void call(const work *w, const struct sockaddr_in *address)
{
    char answer;
    int fd = open_socket(w);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address)) give_up("connect");
    for (long round = 0; round < w->rounds; round++) {
        const double begin = tutti_clock_s();
        for (int i = 0; i < w->n; i++) send_all(w, fd, w->place, w->sizes[i]);
        receive_all(w, fd, &answer, 1);
        printf("%.3f\n", 1e6 * (tutti_clock_s() - begin));
    }
    close(fd);
}

static bool read_work(int argc, char **argv, work *w)
{
    if (argc != 5 || (strcmp(argv[1], "sleep") && strcmp(argv[1], "spin"))) return false;
    w->spins = !strcmp(argv[1], "spin");
    w->control = argv[2];
    w->rounds = strtol(argv[3], NULL, 10);
    char *rest = argv[4];
    while (*rest && w->n < MOST) {
        const unsigned long long size = strtoull(rest, &rest, 10);
        if (size == 0 || size > PLACE) return false;
        w->sizes[w->n++] = (size_t)size;
        if (*rest == ',')
            rest++;
        else if (*rest)
            return false;
    }
    return w->rounds > 0 && w->n > 0;
}

int main(int argc, char **argv)
{
    static work w;
    struct sockaddr_in address;
    if (!read_work(argc, argv, &w)) {
        fprintf(stderr, "usage: bench_stream sleep|spin default|reno|cubic|bbr ROUNDS BYTES,..\n");
        return 2;
    }
    int listener = listen_somewhere(&w, &address), status = 1;
    pid_t server = fork();
    if (server < 0) give_up("fork");
    w.place = tutti_pages_take(PLACE); /* each its own */
    if (!w.place) give_up("memory");
    memset(w.place, 1, PLACE);
    if (server == 0) {
        serve(&w, listener);
        _exit(0);
    }
    call(&w, &address);
    waitpid(server, &status, 0);
    return status != 0;
}
