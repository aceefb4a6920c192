/* SPDX-License-Identifier: Apache-2.0 */
/* sysfs.c: reads one line of a file under /sys. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../topology_impl.h"

bool tutti_sysfs_line(char out[64], const char *format, ...)
{
    char path[320] = "/sys/";
    va_list args;
    va_start(args, format);
    vsnprintf(path + 5, sizeof path - 5, format, args);
    va_end(args);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool got = fgets(out, 64, f) != NULL;
    fclose(f);
    if (got) out[strcspn(out, "\n")] = '\0';
    return got;
}
