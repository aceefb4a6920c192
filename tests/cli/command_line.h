/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h: `tutti ARGUMENTS` as a user types it, in the source folder: `examples/mlp.yaml` is the one there. A
 * shell takes the words apart, so redirections may stand among them. */
#ifndef TUTTI_COMMAND_LINE_H
#define TUTTI_COMMAND_LINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text/strbuf.h"

/* All that is in it; free(). */
static inline char *read_stream(FILE *f)
{
    tutti_strbuf text = {0};
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) tutti_strbuf_add(&text, block, n);
    return tutti_strbuf_detach(&text);
}

/* What it prints on stdout (free()); *code: what it ends with, 128 + n for signal n. */
static inline char *command_run(const char *arguments, int *code)
{
    tutti_strbuf command = {0};
    tutti_strbuf_printf(&command, "cd '%s' && '%s' %s </dev/null", TUTTI_SOURCE_DIR, TUTTI_PROGRAM, arguments);
    FILE *pipe = popen(command.text, "r");
    assert_non_null(pipe);
    char *text = read_stream(pipe);
    const int status = pclose(pipe);
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    tutti_strbuf_release(&command);
    return text;
}

/* Both streams together, which must hold the words; the test fails if it ends with another code. free()
 * Inlined, gcc 12 takes the text for NULL where no words are wanted. */
__attribute__((noinline, unused)) static char *command_says(const char *arguments, int code, const char *words)
{
    tutti_strbuf both = {0};
    int got;
    tutti_strbuf_printf(&both, "%s 2>&1", arguments);
    char *text = command_run(both.text, &got);
    tutti_strbuf_release(&both);
    if (got != code) fail_msg("tutti %s: exit code %d, expected %d\n%s", arguments, got, code, text);
    if (!strstr(text, words)) fail_msg("tutti %s does not say \"%s\"\n%s", arguments, words, text);
    return text;
}

static inline void expect(const char *arguments, int code, const char *words)
{
    free(command_says(arguments, code, words));
}

#endif
