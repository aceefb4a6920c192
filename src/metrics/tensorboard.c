/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard.c: writes TensorBoard's event files. The few messages that are needed are encoded by hand: a field is a
 * key (number * 8 + wire type), then a varint (0), 8 bytes (1), length and bytes (2) or 4 bytes (5). */
#include "metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "../base/file.h"
#include "crc32c.h"

enum { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION_LOG = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, SESSION_STATUS = 1, SESSION_START = 1 };

static const long long LATEST = 9999999999; /* ten digits: with this length, names of files sort by time */
static const char prefix[] = "events.out.tfevents.";

/* ---- protobuf ---- */

static void put_little_endian(uint64_t value, int nbytes, tutti_strbuf *out)
{
    for (int i = 0; i < nbytes; i++) {
        const char byte = (char)(value >> 8 * i & 0xff);
        tutti_strbuf_add(out, &byte, 1);
    }
}

static void put_varint(uint64_t value, tutti_strbuf *out)
{
    do {
        const char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        tutti_strbuf_add(out, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_key(int field, int wire, tutti_strbuf *out)
{
    put_varint((uint64_t)(field << 3 | wire), out);
}

static void put_bytes(int field, const char *bytes, size_t n, tutti_strbuf *out)
{
    put_key(field, WIRE_BYTES, out);
    put_varint(n, out);
    tutti_strbuf_add(out, bytes, n);
}

static void put_wall_time(double wall_s, tutti_strbuf *out)
{
    uint64_t bits;
    memcpy(&bits, &wall_s, sizeof bits);
    put_key(EVENT_WALL_TIME, WIRE_8, out);
    put_little_endian(bits, 8, out);
}

static void put_step(int64_t step, tutti_strbuf *out)
{
    put_key(EVENT_STEP, WIRE_VARINT, out);
    put_varint((uint64_t)step, out);
}

static void put_scalar(const tutti_scalar *s, tutti_strbuf *summary)
{
    const float value = (float)s->value;
    tutti_strbuf message = {0};
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_bytes(VALUE_TAG, s->tag, strlen(s->tag), &message);
    put_key(VALUE_SIMPLE, WIRE_4, &message);
    put_little_endian(bits, 4, &message);
    put_bytes(SUMMARY_VALUE, message.text, message.length, summary);
    tutti_strbuf_release(&message);
}

/* ---- records ---- */

static uint32_t masked_crc(const char *bytes, size_t n)
{
    const uint32_t crc = tutti_crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_record(tutti_strbuf *event, tutti_strbuf *out)
{
    const size_t at = out->length;
    put_little_endian(event->length, 8, out);
    put_little_endian(masked_crc(out->text + at, 8), 4, out);
    tutti_strbuf_add(out, event->text, event->length);
    put_little_endian(masked_crc(event->text, event->length), 4, out);
    tutti_strbuf_release(event);
}

void tutti_event_version(double wall_s, tutti_strbuf *out)
{
    static const char version[] = "brain.Event:2";
    tutti_strbuf event = {0};
    put_wall_time(wall_s, &event);
    put_bytes(EVENT_FILE_VERSION, version, sizeof version - 1, &event);
    put_record(&event, out);
}

void tutti_event_restart(double wall_s, int64_t first_step, tutti_strbuf *out)
{
    tutti_strbuf event = {0}, log = {0};
    put_key(SESSION_STATUS, WIRE_VARINT, &log);
    put_varint(SESSION_START, &log);
    put_wall_time(wall_s, &event);
    put_step(first_step, &event);
    put_bytes(EVENT_SESSION_LOG, log.text, log.length, &event);
    put_record(&event, out);
    tutti_strbuf_release(&log);
}

void tutti_event_scalars(double wall_s, int64_t step, const tutti_scalar *scalars, int n, tutti_strbuf *out)
{
    tutti_strbuf event = {0}, summary = {0};
    tutti_strbuf_puts(&summary, "");
    for (int i = 0; i < n; i++) put_scalar(&scalars[i], &summary);
    put_wall_time(wall_s, &event);
    put_step(step, &event);
    put_bytes(EVENT_SUMMARY, summary.text, summary.length, &event);
    put_record(&event, out);
    tutti_strbuf_release(&summary);
}

/* ---- files ---- */

struct tutti_tensorboard {
    int fd;
    tutti_strbuf path, record;
};

/* Finds the newest time in the names of the folder's event files, 0 if there are none; with `remove`, removes the
 * files. */
static tutti_status look_at_others(const char *dir, bool remove, long long *newest, tutti_failure *err)
{
    DIR *folder = opendir(dir);
    tutti_status st = TUTTI_OK;
    *newest = 0;
    if (!folder) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot open: %s", dir, strerror(errno));
    for (const struct dirent *e = readdir(folder); e && !st; e = readdir(folder)) {
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0) continue;
        const long long time = strtoll(e->d_name + sizeof prefix - 1, NULL, 10);
        if (remove && unlinkat(dirfd(folder), e->d_name, 0) != 0)
            st = tutti_fail(err, TUTTI_ERR_FAILED, "%s/%s: cannot remove: %s", dir, e->d_name, strerror(errno));
        if (!remove && time > *newest && time < LATEST) *newest = time;
    }
    closedir(folder);
    return st;
}

tutti_status tutti_tensorboard_remove(const char *dir, tutti_failure *err)
{
    long long newest;
    return look_at_others(dir, true, &newest, err);
}

static tutti_status flush(tutti_tensorboard *t, tutti_failure *err)
{
    if (!tutti_file_is_there(t->fd, t->path.text))
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: was removed, renamed or replaced while it was written",
                          t->path.text);
    const tutti_status st = tutti_file_write_all(t->fd, t->path.text, t->record.text, t->record.length, err);
    if (!st) t->record.length = 0;
    return st;
}

tutti_status tutti_tensorboard_open(const char *dir, int64_t last_step, tutti_tensorboard **out, tutti_failure *err)
{
    char host[65] = "";
    long long newest;
    const double wall_s = tutti_clock_wall_s();
    tutti_status st = look_at_others(dir, false, &newest, err);
    if (st) return st;
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) memcpy(host, "localhost", sizeof "localhost");
    tutti_tensorboard *t = tutti_alloc(sizeof *t);
    const long long now = newest < (long long)wall_s ? (long long)wall_s : newest + 1;
    tutti_strbuf_printf(&t->path, "%s/%s%010lld.%s.%ld.0", dir, prefix, now, host, (long)getpid());
    t->fd = open(t->path.text, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (t->fd < 0) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot open: %s", t->path.text, strerror(errno));
    if (!st) {
        tutti_event_version(wall_s, &t->record);
        if (last_step >= 0) tutti_event_restart(wall_s, last_step + 1, &t->record);
        st = flush(t, err);
    }
    if (st)
        tutti_tensorboard_close(t);
    else
        *out = t;
    return st;
}

tutti_status tutti_tensorboard_write(tutti_tensorboard *t, int64_t step, const tutti_scalar *scalars, int n,
                                     tutti_failure *err)
{
    tutti_event_scalars(tutti_clock_wall_s(), step, scalars, n, &t->record);
    return flush(t, err);
}

void tutti_tensorboard_close(tutti_tensorboard *t)
{
    if (!t) return;
    if (t->fd >= 0) close(t->fd);
    tutti_strbuf_release(&t->path);
    tutti_strbuf_release(&t->record);
    free(t);
}
