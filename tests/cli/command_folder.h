/* SPDX-License-Identifier: Apache-2.0 */
/* command_folder.h: commands that read and write files of a folder made for them, which `$` stands for. After
 * testing.h. */
#ifndef TUTTI_COMMAND_FOLDER_H
#define TUTTI_COMMAND_FOLDER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command_line.h"

static char dir[64];

static inline int folder_make(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tutti_cli_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int folder_drop(void **state)
{
    (void)state;
    return (int)tutti_file_remove_tree(dir, NULL);
}

static inline void put(const char *name, const char *text)
{
    char path[128];
    tutti_failure err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), &err), TUTTI_OK);
}

static inline char *get(const char *name)
{
    char path[128], *text;
    size_t nbytes;
    tutti_failure err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(tutti_file_read(path, 1 << 26, TUTTI_ERR_DATA, &text, &nbytes, &err), TUTTI_OK);
    return text;
}

/* The words with the folder in the place of `$`; free(). */
static inline char *in_folder(const char *words)
{
    tutti_strbuf line = {0};
    for (const char *at = words; *at; at++) {
        if (*at == '$')
            tutti_strbuf_puts(&line, dir);
        else
            tutti_strbuf_add(&line, at, 1);
    }
    return tutti_strbuf_detach(&line);
}

/* See command_says. */
static inline char *says(const char *words, int code, const char *wanted)
{
    char *line = in_folder(words), *text = command_says(line, code, wanted);
    free(line);
    return text;
}

static inline void check(const char *words, int code, const char *wanted)
{
    free(says(words, code, wanted));
}

#endif
