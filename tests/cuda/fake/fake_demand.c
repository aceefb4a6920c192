/* SPDX-License-Identifier: Apache-2.0 */
/* fake_demand.c: settings, failures on demand, and lines that end the process. */
#include "fake_demand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FATAL_CODE = 97, MAX_NAMES = 96 };

static struct {
    const char *name;
    int calls;
} counted[MAX_NAMES];

int fake_setting(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

static int calls_of(const char *name)
{
    for (int n = 0; n < MAX_NAMES; n++) {
        if (!counted[n].name) counted[n].name = name;
        if (!strcmp(counted[n].name, name)) return ++counted[n].calls;
    }
    return 0;
}

/* TUTTI_FAKE_CUDA_FAIL is "NAME:N[:CODE][,NAME:N[:CODE]...]". */
int fake_failure_of(const char *name, int otherwise)
{
    const char *wanted = getenv("TUTTI_FAKE_CUDA_FAIL");
    if (!wanted || !*wanted) return 0;
    const int call = calls_of(name);
    const size_t length = strlen(name);
    for (const char *s = wanted; s; s = strchr(s, ',')) {
        if (*s == ',') s++;
        if (strncmp(s, name, length) || s[length] != ':') continue;
        char *end;
        const long at = strtol(s + length + 1, &end, 10);
        if (at == call) return *end == ':' ? (int)strtol(end + 1, NULL, 10) : otherwise;
    }
    return 0;
}

void fake_say(const char *library, const char *format, va_list args)
{
    char line[1200];
    vsnprintf(line, sizeof(line), format, args);
    fprintf(stderr, "fake %s: %s\n", library, line);
    fflush(stderr);
    if (fake_setting("TUTTI_FAKE_CUDA_FATAL", 1)) _exit(FATAL_CODE);
}
