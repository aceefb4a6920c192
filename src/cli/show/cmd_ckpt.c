/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ckpt.c: `tutti ckpt ls DIR` lists checkpoints, `tutti ckpt verify CKPT` checks whether they are complete. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../job/trained/trained.h"
#include "../../training/run/train.h"
#include "../cli.h"

static const char about[] =
    "ls      (or list) lists the checkpoints of a run's folder, newest first, each verified\n"
    "verify  checks one checkpoint, or all of a run's folder: sizes, checksums, tensors, model, job, and that all\n"
    "        numbers are finite";

/* Prints one line about a checkpoint; returns the checkpoint's failure. If the run has removed the checkpoint
 * meanwhile, prints nothing and sets *gone. */
static tutti_status show(const char *path, bool *gone)
{
    tutti_failure why = {0};
    tutti_manifest m;
    char hash[17];
    int64_t nbytes = 0;
    tutti_status st = tutti_job_check_checkpoint(path, &why);
    if (!st) st = tutti_manifest_read(path, &m, &why);
    *gone = st && tutti_checkpoint_is_gone(path);
    if (*gone) return TUTTI_OK;
    if (st) {
        printf("%s  torn: %s\n", path, why.text);
        return st;
    }
    for (int i = 0; i < m.nfiles; i++) nbytes += m.files[i].nbytes;
    tutti_hash_text(m.weights_hash, hash);
    st = tutti_checkpoint_check_finite(path, &why);
    *gone = st && tutti_checkpoint_is_gone(path);
    if (*gone) return TUTTI_OK;
    printf("%s  step %" PRId64 "  samples %" PRId64 "  ranks %d  %.2f MB  weights %s  whole%s%s\n", path, m.step,
           m.cursor, m.nranks, (double)nbytes / 1e6, hash, st ? ", but " : "", st ? why.text : "");
    return st;
}

static tutti_status show_all(const char *dir, int *nbad, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    int nshown = 0, nempty = 0;
    /* lists the folder again if the run had removed all checkpoints of the list */
    for (int look = 0; look < TUTTI_CHECKPOINT_LOOKS && !nshown && !st; look++) {
        tutti_checkpoint_entry *entries;
        int n;
        st = tutti_checkpoint_list(dir, &entries, &n, err);
        if (!st && !n && !tutti_checkpoint_look_again(&nempty))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no checkpoints there", dir);
        for (int i = 0; i < n && !st; i++) {
            bool gone;
            *nbad += show(entries[i].path, &gone) != TUTTI_OK;
            nshown += !gone;
        }
        tutti_checkpoint_list_release(entries, n);
    }
    if (!st && !nshown) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: each checkpoint was removed while it was read", dir);
    return st;
}

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    int nbad = 0;
    const char *verb = f->nrest ? f->rest[0] : "";
    const bool verify = !strcmp(verb, "verify"), lists = !strcmp(verb, "ls") || !strcmp(verb, "list");
    if (f->nrest != 2 || (!lists && !verify))
        return tutti_fail(err, TUTTI_ERR_USAGE, "'ls DIR' or 'verify CKPT|DIR' is wanted; --help says more");
    if (verify && tutti_checkpoint_is(f->rest[1])) {
        bool gone = false;
        tutti_status one = tutti_job_check_checkpoint(f->rest[1], err);
        if (!one && show(f->rest[1], &gone))
            one = tutti_fail(err, TUTTI_ERR_DATA, "%s: its numbers are not finite, as said above", f->rest[1]);
        if (!one && gone) one = tutti_fail(err, TUTTI_ERR_DATA, "%s: was removed as it was read", f->rest[1]);
        return one;
    }
    tutti_status st = show_all(f->rest[1], &nbad, err);
    if (!st && verify && nbad)
        st =
            tutti_fail(err, TUTTI_ERR_DATA, "%s: %d of its checkpoints are not whole, or not finite", f->rest[1], nbad);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "ckpt",
        .usage = "tutti ckpt ls DIR | verify CKPT|DIR",
        .about = about,
        .any_arguments = true,
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_ckpt = {"ckpt", "list and verify checkpoints", run_command};
