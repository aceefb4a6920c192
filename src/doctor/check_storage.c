/* SPDX-License-Identifier: Apache-2.0 */
/* check_storage.c: checks of the folder where checkpoints will lie: whether it can be written, its space, and how long
 * fsync takes. A checkpoint is safe only after fsync, so the speed of fsync limits how often a run can save. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/file.h"
#include "../base/sort.h"
#include "doctor_impl.h"

enum { MOST_SYNCS = 20, BLOCK = 4096 };
static const double MOST_S = 1, SLOW_S = 0.05;
static const int64_t LITTLE_SPACE = 1LL << 30, NO_SPACE = 16LL << 20;

/* Returns the folder or its nearest parent that exists; a run makes the missing folders. The caller frees the path. */
static char *find_existing(const char *folder)
{
    char *path = strdup(folder);
    while (!tutti_file_is_folder(path) && access(path, F_OK) != 0 && strcmp(path, ".") != 0 && strcmp(path, "/") != 0) {
        char *parent = tutti_file_folder(path);
        free(path);
        path = parent;
    }
    return path;
}

static const char *name_of_type(long type)
{
    static const struct {
        unsigned long type;
        const char *name;
    } rows[] = {{0xEF53, "ext4"},        {0x58465342, "xfs"}, {0x9123683E, "btrfs"},  {0x01021994, "tmpfs"},
                {0x794C7630, "overlay"}, {0x6969, "nfs"},     {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},
                {0x65735546, "fuse"},    {0x2FC12FC1, "zfs"}, {0x01021997, "9p"},     {0x19830326, "beegfs"},
                {0x00C36400, "ceph"},    {0xFF534D42, "cifs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((unsigned long)type == rows[i].type) return rows[i].name;
    return "file system of another kind";
}

static void say_space(tutti_exam *e, const char *path)
{
    struct statvfs fs;
    struct statfs kind;
    char bytes[TUTTI_BYTES_TEXT];
    if (statvfs(path, &fs) || statfs(path, &kind)) return;
    const int64_t left = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    const char *type = name_of_type(kind.f_type), *later = strcmp(path, e->folder) != 0 ? " (it will be made)" : "";
    tutti_doctor_bytes(left, bytes);
    if (left < LITTLE_SPACE)
        tutti_doctor_say(e, NULL, left < NO_SPACE ? TUTTI_FINDING_BAD : TUTTI_FINDING_NOTE,
                         "Free space, or choose another folder by --out.", "%s%s: %s, only %s free", e->folder, later,
                         type, bytes);
    else if (!strcmp(type, "tmpfs"))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE,
                         "Choose a folder on a disk, so that checkpoints outlive a restart.",
                         "%s%s: tmpfs, which lies in memory, %s free", e->folder, later, bytes);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s%s: %s, %s free", e->folder, later, type, bytes);
}

void tutti_doctor_check_folder(tutti_exam *e)
{
    char *path = find_existing(e->folder);
    if (!tutti_file_is_folder(path))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, "Choose a folder by --out.", "%s is no folder", path);
    else if (access(path, W_OK | X_OK))
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, "Choose a folder by --out that this user may write.", "%s: %s",
                         path, strerror(errno));
    else
        say_space(e, path);
    free(path);
}

/* Writes and syncs blocks until there are MOST_SYNCS of them or MOST_S seconds are over. Returns the number of blocks;
 * 0 with errno: the first block failed. */
static int measure(int fd, double seconds[MOST_SYNCS])
{
    static const char block[BLOCK];
    const double until = tutti_clock_s() + MOST_S;
    int n = 0;
    while (n < MOST_SYNCS && tutti_clock_s() < until) {
        const double begin = tutti_clock_s();
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fsync(fd)) break;
        seconds[n++] = tutti_clock_s() - begin;
    }
    return n;
}

static void say_syncs(tutti_exam *e, double *seconds, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += seconds[i];
    tutti_sort_doubles(seconds, (size_t)n);
    const double median = seconds[n / 2];
    tutti_doctor_say(e, NULL, median > SLOW_S ? TUTTI_FINDING_NOTE : TUTTI_FINDING_OK,
                     "Choose a faster disk by --out, or save less often (checkpoint.every_steps).",
                     "%.3g a second: 4 KiB are safe after %s, at worst %s (%d measured)", n / sum,
                     tutti_time_words(median).text, tutti_time_words(seconds[n - 1]).text, n);
}

void tutti_doctor_check_fsync(tutti_exam *e)
{
    char *folder = find_existing(e->folder);
    tutti_strbuf path = {0};
    double seconds[MOST_SYNCS];
    tutti_strbuf_printf(&path, "%s/.tutti-doctor-%ld", folder, (long)getpid());
    const int fd = access(folder, W_OK | X_OK) ? -1 : open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        const int n = measure(fd, seconds), problem = errno;
        close(fd), unlink(path.text);
        if (n)
            say_syncs(e, seconds, n);
        else
            tutti_doctor_say(e, NULL, problem == EINVAL || problem == ENOSYS ? TUTTI_FINDING_NOTE : TUTTI_FINDING_BAD,
                             "Choose a folder by --out whose file system has space and fsync.", "%s: %s", folder,
                             strerror(problem));
    } else if (!access(folder, W_OK | X_OK)) {
        tutti_doctor_say(e, NULL, TUTTI_FINDING_BAD, "Choose a folder by --out where files can be made.", "%s: %s",
                         path.text, strerror(errno));
    }
    tutti_strbuf_release(&path);
    free(folder);
}
