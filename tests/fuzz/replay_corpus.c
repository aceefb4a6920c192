/* SPDX-License-Identifier: Apache-2.0 */
/* replay_corpus.c: runs one fuzz target over the files of folders, without libFuzzer: seeds and old findings are tests.
 *
 * A folder without files is a failure: a test that looks at nothing must not pass. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", folder, name);
    char *bytes = NULL;
    size_t nbytes = 0;
    tutti_failure err = {0};
    tutti_status st = tutti_file_read(path.text, 1 << 24, TUTTI_ERR_FAILED, &bytes, &nbytes, &err);
    if (st == TUTTI_OK) {
        printf("%s\n", path.text);
        fflush(stdout); /* the last line names the seed that aborts */
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, nbytes);
        free(bytes);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    tutti_strbuf_release(&path);
    return st == TUTTI_OK ? 0 : 1;
}

/* Failures: of its files, or that there are none. */
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    int nseeds = 0, failures = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (e->d_name[0] == '.') continue;
        failures += replay(folder, e->d_name);
        nseeds++;
    }
    if (dir) closedir(dir);
    printf("%s: %d seeds\n", folder, nseeds);
    return failures + (nseeds == 0);
}

int main(int argc, char **argv)
{
    int failures = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER... (of seeds)\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++) failures += replay_folder(argv[i]);
    return failures > 0;
}
