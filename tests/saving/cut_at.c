/* SPDX-License-Identifier: Apache-2.0 */
/* cut_at.c: ends or disturbs a run at an exact place of a checkpoint, for cut_saving.py: a library to be preloaded, so
 * that the program itself has no hook. A place is a byte that is written, a sync, a rename or a removal. Places are
 * counted from the moment at which the folder of the checkpoint is made, and only in the thread that makes it.
 *
 *   CUT_STEP=N      the checkpoint of this step
 *   CUT_AT=K        what happens at the place K, counted from 1; without it nothing does
 *   CUT_HOW=kill    the process gets SIGKILL; the bytes before the place are in the file
 *   CUT_HOW=full    the write fails as if the disk were full, and so does every later one
 *   CUT_HOW=eio     the call number K of the kind CUT_CALL=write|fsync|rename|close fails with EIO, and no later one
 *   CUT_PLACES=FILE gets the number of places, as text
 *   CUT_DELAY_MS=T  each sync of a checkpoint takes so much longer, as on a slow disk */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static _Thread_local bool saves, counts;   /* this thread writes a checkpoint; it is that of CUT_STEP */
static _Thread_local long nplaces, ncalls; /* places, and calls of the kind CUT_CALL */

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

static void tell_places(void)
{
    const char *path = getenv("CUT_PLACES");
    FILE *f = path ? fopen(path, "w") : NULL;
    counts = false;
    if (f) fprintf(f, "%ld\n", nplaces);
    if (f) fclose(f);
    counts = true;
}

/* Passes n places; returns those before the place that was asked for, -1 if it is not among them. */
static long pass(long n)
{
    const long at = number_of("CUT_AT"), before = nplaces;
    if (!counts) return -1;
    nplaces += n;
    tell_places();
    return at > before && at <= nplaces ? at - 1 - before : -1;
}

static bool is_set(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && !strcmp(text, value);
}

static void end_if(bool is_here)
{
    if (is_here && is_set("CUT_HOW", "kill")) kill(getpid(), SIGKILL);
}

/* True if this call fails with EIO, which errno then says. */
static bool breaks(const char *call)
{
    if (!counts || !is_set("CUT_HOW", "eio") || !is_set("CUT_CALL", call) || ++ncalls != number_of("CUT_AT"))
        return false;
    errno = EIO;
    return true;
}

int mkdir(const char *path, mode_t mode)
{
    int (*real)(const char *, mode_t);
    *(void **)&real = next_of("mkdir");
    const char *step = strstr(path, "/checkpoints/step_");
    if (step && strstr(step, ".tmp")) {
        saves = true;
        counts = getenv("CUT_STEP") && strtol(step + strlen("/checkpoints/step_"), NULL, 10) == number_of("CUT_STEP");
        nplaces = ncalls = 0;
    }
    end_if(pass(1) >= 0);
    return real(path, mode);
}

ssize_t write(int fd, const void *bytes, size_t nbytes)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = next_of("write");
    const long before = pass((long)nbytes);
    if (before >= 0 && is_set("CUT_HOW", "kill")) {
        if (before) (void)!real(fd, bytes, (size_t)before);
        end_if(true);
    }
    if (breaks("write")) return -1;
    if (counts && is_set("CUT_HOW", "full") && number_of("CUT_AT") && nplaces >= number_of("CUT_AT")) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, bytes, nbytes);
}

int fsync(int fd)
{
    int (*real)(int);
    *(void **)&real = next_of("fsync");
    end_if(pass(1) >= 0);
    const long ms = saves ? number_of("CUT_DELAY_MS") : 0;
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    return breaks("fsync") ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    *(void **)&real = next_of("rename");
    end_if(pass(1) >= 0);
    return breaks("rename") ? -1 : real(from, to);
}

/* Closing a folder loses nothing, so files alone count. The descriptor is gone when close fails. */
int close(int fd)
{
    int (*real)(int);
    *(void **)&real = next_of("close");
    struct stat info;
    const bool fails = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && breaks("close");
    const int code = real(fd);
    if (fails) errno = EIO;
    return fails ? -1 : code;
}

int unlinkat(int fd, const char *path, int flags)
{
    int (*real)(int, const char *, int);
    *(void **)&real = next_of("unlinkat");
    end_if(pass(1) >= 0);
    return real(fd, path, flags);
}

int unlink(const char *path)
{
    int (*real)(const char *);
    *(void **)&real = next_of("unlink");
    end_if(pass(1) >= 0);
    return real(path);
}

int rmdir(const char *path)
{
    int (*real)(const char *);
    *(void **)&real = next_of("rmdir");
    end_if(pass(1) >= 0);
    return real(path);
}
