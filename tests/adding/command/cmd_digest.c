/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_digest.c: `tutti digest FILE...`: the checksums that a checkpoint's manifest has of its files. */
#include <stdlib.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../cli.h"

enum { MAX_BYTES = 1 << 30 };

static tutti_status digest(const tutti_flags *f, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < f->nrest && !st; i++) {
        char *bytes = NULL, text[17];
        size_t nbytes = 0;
        st = tutti_file_read(f->rest[i], MAX_BYTES, TUTTI_ERR_DATA, &bytes, &nbytes, err);
        if (st) break;
        tutti_hash_text(tutti_hash(bytes, nbytes), text);
        printf("%s  %s\n", text, f->rest[i]);
        free(bytes);
    }
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "digest",
        .usage = "tutti digest FILE...",
        .about = "Prints the xxh3 checksum of each file, as a checkpoint's MANIFEST.json has it.",
        .any_arguments = true,
        .run = digest,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_digest = {"digest", "checksums of files, as checkpoints have them", run_command};
