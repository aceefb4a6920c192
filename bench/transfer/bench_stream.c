/* SPDX-License-Identifier: Apache-2.0 */
/* bench_stream.c: what a transfer over TCP is held against: the same bytes through a plain socket between two processes, into their
 * place, and one byte back.
 *
 * bench_stream ROUNDS BYTES,..      one line a round: microseconds from the first byte until the answer to the last message
 *
 * The receiver is woken for whole mebibytes, which is faster for long messages than being woken for each segment. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { MOST = 4096, PLACE = 1 << 28, WORTH_WAKING = 1 << 20 };

typedef struct {
    size_t sizes[MOST];
    int n;
    long rounds;
    char *place;
} work;

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL);
        if (done <= 0) give_up("send");
        bytes += done, n -= (size_t)done;
    }
}

static void wake_for(int fd, size_t n)
{
    const int bytes = n < WORTH_WAKING ? (int)n : WORTH_WAKING;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

static void receive_all(int fd, char *bytes, size_t n)
{
    const bool is_long = n > 4 * (size_t)WORTH_WAKING;
    while (n > 0) {
        if (is_long) wake_for(fd, n);
        ssize_t done = recv(fd, bytes, n, 0);
        if (done <= 0) give_up("recv");
        bytes += done, n -= (size_t)done;
    }
    if (is_long) wake_for(fd, 1);
}

static int listen_somewhere(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)address, &length))
        give_up("listen");
    return fd;
}

static void serve(const work *w, int listener)
{
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) give_up("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (long round = 0; round < w->rounds; round++) {
        for (int i = 0; i < w->n; i++) receive_all(fd, w->place, w->sizes[i]);
        send_all(fd, "", 1);
    }
    close(fd);
}

static void call(const work *w, const struct sockaddr_in *address)
{
    char answer;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address)) give_up("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (long round = 0; round < w->rounds; round++) {
        const double begin = tutti_clock_s();
        for (int i = 0; i < w->n; i++) send_all(fd, w->place, w->sizes[i]);
        receive_all(fd, &answer, 1);
        printf("%.3f\n", 1e6 * (tutti_clock_s() - begin));
    }
    close(fd);
}

static int read_work(int argc, char **argv, work *w)
{
    if (argc != 3) return 0;
    w->rounds = strtol(argv[1], NULL, 10);
    char *rest = argv[2];
    while (*rest && w->n < MOST) {
        const unsigned long long size = strtoull(rest, &rest, 10);
        if (size == 0 || size > PLACE) return 0;
        w->sizes[w->n++] = (size_t)size;
        if (*rest == ',')
            rest++;
        else if (*rest)
            return 0;
    }
    return w->rounds > 0 && w->n > 0;
}

int main(int argc, char **argv)
{
    static work w;
    struct sockaddr_in address;
    if (!read_work(argc, argv, &w)) {
        fprintf(stderr, "usage: bench_stream ROUNDS BYTES,..\n");
        return 2;
    }
    w.place = malloc(PLACE);
    if (!w.place) give_up("malloc");
    memset(w.place, 1, PLACE);
    int listener = listen_somewhere(&address), status = 1;
    pid_t server = fork();
    if (server < 0) give_up("fork");
    if (server == 0) {
        serve(&w, listener);
        _exit(0);
    }
    call(&w, &address);
    waitpid(server, &status, 0);
    free(w.place);
    return status != 0;
}
