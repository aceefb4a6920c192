/* SPDX-License-Identifier: Apache-2.0 */
/* harm.c: takes from a program what it counts on, for faults.py: a library to be preloaded, so that the program itself
 * has no hook.
 *
 *   HARM_BYTES=1     each read and write of a stream socket moves one byte
 *   HARM_CLOCK_S=T   the wall clock of each process jumps by T seconds after its first looks at it
 *   HARM_ALLOC=N     the allocation N of the code of tutti fails, counted from 1; those of other libraries do not
 *   HARM_COUNT=FILE  gets the number of these allocations, as text */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_LOOKS = 5 };

/* dlsym gives an object's address where a function's is wanted. */
static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* ---- one byte at a time ---- */

static bool is_cut(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return getenv("HARM_BYTES") && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

static size_t at_most(int fd, size_t nbytes)
{
    return nbytes > 1 && is_cut(fd) ? 1 : nbytes;
}

ssize_t read(int fd, void *into, size_t nbytes)
{
    ssize_t (*real)(int, void *, size_t);
    *(void **)&real = next_of("read");
    return real(fd, into, at_most(fd, nbytes));
}

ssize_t write(int fd, const void *bytes, size_t nbytes)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = next_of("write");
    return real(fd, bytes, at_most(fd, nbytes));
}

ssize_t recv(int fd, void *into, size_t nbytes, int flags)
{
    ssize_t (*real)(int, void *, size_t, int);
    *(void **)&real = next_of("recv");
    return real(fd, into, at_most(fd, nbytes), flags);
}

ssize_t send(int fd, const void *bytes, size_t nbytes, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int);
    *(void **)&real = next_of("send");
    return real(fd, bytes, at_most(fd, nbytes), flags);
}

/* The message with the first byte of its first part that has one. */
static struct msghdr first_byte(const struct msghdr *m, struct iovec *part)
{
    struct msghdr cut = *m;
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        if (!m->msg_iov[i].iov_len) continue;
        *part = (struct iovec){m->msg_iov[i].iov_base, 1};
        cut.msg_iov = part;
        cut.msg_iovlen = 1;
        break;
    }
    return cut;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int);
    struct iovec part;
    *(void **)&real = next_of("sendmsg");
    const struct msghdr cut = is_cut(fd) ? first_byte(m, &part) : *m;
    return real(fd, &cut, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    ssize_t (*real)(int, struct msghdr *, int);
    struct iovec part;
    *(void **)&real = next_of("recvmsg");
    if (!is_cut(fd)) return real(fd, m, flags);
    struct msghdr cut = first_byte(m, &part);
    const ssize_t n = real(fd, &cut, flags);
    m->msg_controllen = cut.msg_controllen;
    m->msg_flags = cut.msg_flags;
    return n;
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    ssize_t (*real)(int, const struct iovec *, int);
    *(void **)&real = next_of("writev");
    for (int i = 0; i < n && is_cut(fd); i++)
        if (parts[i].iov_len) return write(fd, parts[i].iov_base, 1);
    return real(fd, parts, n);
}

ssize_t readv(int fd, const struct iovec *parts, int n)
{
    ssize_t (*real)(int, const struct iovec *, int);
    *(void **)&real = next_of("readv");
    for (int i = 0; i < n && is_cut(fd); i++)
        if (parts[i].iov_len) return read(fd, parts[i].iov_base, 1);
    return real(fd, parts, n);
}

/* ---- the wall clock ---- */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static _Atomic long nlooks;
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = next_of("clock_gettime");
    const int code = real(clock, out);
    if (clock == CLOCK_REALTIME && ++nlooks > FIRST_LOOKS) out->tv_sec += number_of("HARM_CLOCK_S");
    return code;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* ---- allocations ---- */

void *__libc_malloc(size_t nbytes);
void *__libc_calloc(size_t n, size_t nbytes);
void *__libc_realloc(void *old, size_t nbytes);

static uintptr_t begin, end; /* of the code of tutti */
static _Atomic long ncalls;

static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (!strstr(object->dlpi_name, "/libtutti.so")) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        begin = object->dlpi_addr + part->p_vaddr;
        end = begin + part->p_memsz;
    }
    return 1;
}

static long failing; /* the number of the allocation that fails; 0 = none */

__attribute__((constructor)) static void prepare(void)
{
    failing = number_of("HARM_ALLOC");
    dl_iterate_phdr(look, NULL);
}

__attribute__((destructor)) static void tell_calls(void)
{
    const char *path = getenv("HARM_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) fprintf(f, "%ld\n", ncalls);
    if (f) fclose(f);
}

static bool fails(const void *caller)
{
    const bool is_ours = (uintptr_t)caller >= begin && (uintptr_t)caller < end;
    const bool now = is_ours && ++ncalls == failing;
    if (now) errno = ENOMEM;
    return now;
}

void *malloc(size_t nbytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(nbytes);
}

void *calloc(size_t n, size_t nbytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, nbytes);
}

void *realloc(void *old, size_t nbytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, nbytes);
}
