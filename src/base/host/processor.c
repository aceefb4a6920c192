/* SPDX-License-Identifier: Apache-2.0 */
/* processor.c: reads the processor's name and caches from /proc/cpuinfo and sysfs. */
#include "processor.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 256, LINE = 512, CACHES = 8 };

/* The keys of /proc/cpuinfo that name a processor, on x86-64 and on ARM. Family, model and stepping are written as one
 * word. */
static const struct {
    const char *key, *before;
} parts[] = {
    {"vendor_id", ""},         {"cpu family", " "}, {"model", "."},
    {"stepping", "."},         {"model name", " "}, {"CPU implementer", "ARM "},
    {"CPU architecture", " "}, {"CPU part", " "},   {"CPU revision", " "},
};
enum { NPARTS = sizeof parts / sizeof parts[0] };

/* Splits a line "key: value" and removes blanks around the value. Returns false if the line has another form. */
static bool split_line(char *line, char **value)
{
    char *colon = strchr(line, ':'), *end;
    if (!colon) return false;
    for (end = colon; end > line && isspace((unsigned char)end[-1]); end--) continue;
    *end = '\0';
    for (*value = colon + 1; isspace((unsigned char)**value); ++*value) continue;
    for (end = *value + strlen(*value); end > *value && isspace((unsigned char)end[-1]); end--) continue;
    *end = '\0';
    return true;
}

/* Appends `before` and text to the name. Several blanks become one; all but printable ASCII characters are left out. */
static void add(char *name, const char *before, const char *text)
{
    size_t n = strlen(name);
    for (int i = 0; i < 2; i++)
        for (const char *c = i ? text : before; *c && n + 1 < TUTTI_PROCESSOR_NAME; c++) {
            const bool is_blank = isspace((unsigned char)*c);
            if ((is_blank && (n == 0 || name[n - 1] == ' ')) || (!is_blank && !(*c > ' ' && *c < 127))) continue;
            name[n++] = is_blank ? ' ' : *c;
        }
    while (n > 0 && name[n - 1] == ' ') n--;
    name[n] = '\0';
}

static void read_name(const char *root, char *name)
{
    char path[PATH], line[LINE], *value, values[NPARTS][64] = {{0}};
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f) && line[0] != '\n') {
        if (!split_line(line, &value)) continue;
        for (int i = 0; i < NPARTS; i++)
            if (strcmp(line, parts[i].key) == 0) snprintf(values[i], sizeof values[i], "%.63s", value);
    }
    if (f) fclose(f);
    name[0] = '\0';
    for (int i = 0; i < NPARTS; i++)
        if (values[i][0]) add(name, parts[i].before, values[i]);
    if (!name[0]) snprintf(name, TUTTI_PROCESSOR_NAME, "unknown");
}

/* Reads a short line from a file of cache `index` in sysfs. Returns false if it cannot be read. */
static bool read_word(const char *root, int index, const char *what, char out[32])
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s", root, index, what);
    FILE *f = fopen(path, "re");
    const bool found = f && fgets(out, 32, f);
    if (f) fclose(f);
    return found;
}

static void read_caches(const char *root, int64_t *cache)
{
    char level[32], type[32], size[32];
    memset(cache, 0, TUTTI_PROCESSOR_LEVELS * sizeof *cache);
    for (int i = 0; i < CACHES && read_word(root, i, "level", level); i++) {
        const int at = level[0] - '1';
        long long n = 0;
        char unit = 0;
        if (at < 0 || at >= TUTTI_PROCESSOR_LEVELS || !read_word(root, i, "type", type) || type[0] == 'I') continue;
        if (!read_word(root, i, "size", size) || sscanf(size, "%lld%c", &n, &unit) < 1 || n < 0) continue;
        if (n >> 40 == 0) cache[at] = n << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
}

void tutti_processor_read(const char *root, tutti_processor *out)
{
    read_name(root, out->name);
    read_caches(root, out->cache);
}
