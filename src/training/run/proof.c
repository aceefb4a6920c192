/* SPDX-License-Identifier: Apache-2.0 */
/* proof.c: before the first step: proves the plan on rank 0, or finds its kept proof, and compares the plan's hash on
 * all ranks (tutti_train_begin). Rank 0 proves the plan of all ranks; each other rank compares what it will play with
 * what was proved, so that one proof is enough.
 *
 * A proof is kept beside the run's checkpoints, so that a resumed run need not repeat it. The file counts only if it
 * is, byte for byte, what this build would write for this plan: it names a hash of all that the proof reads, and the
 * build, because another build may prove otherwise. With any other file the plan is proved again. */
#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/host/build_id.h"
#include "../../base/text/strbuf.h"

enum { WORDS = 800, MAX_PROOF_BYTES = 4096 };

typedef struct {
    uint64_t plan;   /* hash of the parts of the plan that are equal on all ranks */
    uint32_t status; /* status of rank 0's proof */
} verdict;

static char *path_of(const tutti_train_config *c)
{
    return tutti_checkpoint_path("%s/" TUTTI_PROOF_FILE, c->dir);
}

/* Returns the text that is kept as proof of this plan; NULL: the build is unknown. */
static char *proof_text(const tutti_plan *p, uint64_t common, const uint64_t *loops)
{
    const uint64_t build = tutti_build_id();
    char plan[17], proved[17], by[17], seal[17];
    tutti_strbuf sb = {0};
    if (!build) return NULL;
    tutti_hasher *h = tutti_hasher_create();
    tutti_hasher_add(h, &common, sizeof common);
    tutti_hasher_add(h, loops, sizeof *loops * (size_t)p->config.nranks);
    tutti_hash_text(tutti_hasher_finish(h), proved);
    tutti_hash_text(tutti_plan_hash(p), plan);
    tutti_hash_text(build, by);
    tutti_strbuf_printf(
        &sb,
        "# The plan of this run is proved. tutti believes it for this plan and this build alone, and proves "
        "anew where the file is missing.\nplan: %s\nranks: %d\nproved: %s\nbuild: %s\n",
        plan, p->config.nranks, proved, by);
    tutti_hash_text(tutti_hash(sb.text, sb.length), seal);
    tutti_strbuf_printf(&sb, "sealed: %s\n", seal);
    return tutti_strbuf_detach(&sb);
}

static bool is_kept(const tutti_train_config *c, const char *text)
{
    char *path, *there = NULL;
    size_t nbytes = 0;
    if (!c->dir || c->fresh || !text) return false;
    path = path_of(c);
    const bool kept = !tutti_file_read(path, MAX_PROOF_BYTES, TUTTI_ERR_DATA, &there, &nbytes, NULL) &&
                      nbytes == strlen(text) && !memcmp(there, text, nbytes);
    free(there);
    free(path);
    return kept;
}

/* Writes the proof's file. A failure is ignored, because the run does not need the file. A file behind a link belongs
 * to somebody else and is not written. */
static void keep(const tutti_train_config *c, const char *text)
{
    tutti_failure why = {0};
    struct stat info;
    if (!c->dir) return;
    char *path = path_of(c);
    if (!lstat(path, &info) && !S_ISREG(info.st_mode))
        tutti_fail(&why, TUTTI_ERR_FAILED,
                   "%s: is not a regular file, so the plan's proof is not kept there: remove it", path);
    else
        tutti_file_write_atomic(path, text, strlen(text), &why);
    if (why.text[0]) tutti_start_say(c, TUTTI_TRAIN_NOTE, why.text);
    free(path);
}

static void say(const tutti_train_config *c, bool was_kept, double seconds)
{
    char words[80], hash[17];
    tutti_hash_text(tutti_plan_hash(c->plan), hash);
    if (was_kept)
        snprintf(words, sizeof words, "plan: proved before, %s", hash);
    else
        snprintf(words, sizeof words, "plan: proved in %.2f s", seconds);
    tutti_start_say(c, TUTTI_TRAIN_PROVED, words);
}

/* Proves the plan on rank 0. A wrong plan is refused like a wrong job, because no step has begun. *text: the proof to
 * keep, NULL = none; the caller frees it. */
static tutti_status judge(tutti_group *g, const tutti_train_config *c, uint64_t common, uint64_t *loops, char **text,
                          tutti_failure *err)
{
    const tutti_headway headway = tutti_group_headway(g);
    const double began = tutti_clock_s();
    tutti_failure why = {0};
    tutti_status st = TUTTI_OK;
    tutti_group_long_phase_begin(g, "proves the plan", "");
    for (int r = 0; r < c->plan->config.nranks; r++) loops[r] = tutti_plan_covered_loops(c->plan, r);
    *text = proof_text(c->plan, common, loops);
    const bool was_kept = is_kept(c, *text);
    if (!was_kept) st = tutti_plan_check_told(c->plan, &headway, &why);
    tutti_group_long_phase_end(g);
    if (was_kept || st) free(*text), *text = NULL;
    if (st) return tutti_fail(err, TUTTI_ERR_USAGE, "%s", why.text);
    say(c, was_kept, tutti_clock_s() - began);
    return TUTTI_OK;
}

static tutti_status compare(tutti_group *g, const char *what, uint64_t proved, uint64_t own, tutti_failure *err)
{
    char words[WORDS], one[17], other[17];
    if (own == proved) return TUTTI_OK;
    tutti_hash_text(proved, one), tutti_hash_text(own, other);
    snprintf(
        words, sizeof words,
        "the ranks play different plans: %s rank %d has hash %s where it was proved, %s, and %s for itself, %s: give "
        "all ranks one job and one build",
        what, tutti_group_rank(g), one, tutti_group_describe(g, 0), other,
        tutti_group_describe(g, tutti_group_rank(g)));
    tutti_group_fail(g, TUTTI_ERR_RENDEZVOUS, words);
    return tutti_group_failure(g, NULL, err);
}

static tutti_status prove(tutti_group *g, const tutti_train_config *c, char **text, tutti_failure *err)
{
    const int n = tutti_group_nranks(g), rank = tutti_group_rank(g);
    const uint64_t common = tutti_plan_covered(c->plan);
    uint64_t *loops = tutti_alloc(sizeof *loops * (size_t)n);
    verdict v = {.plan = common};
    if (rank == 0) v.status = judge(g, c, common, loops, text, err);
    const tutti_status own = (tutti_status)v.status;
    tutti_status st = tutti_group_broadcast(g, "proof of the plan", 0, &v, sizeof v, own ? NULL : err);
    if (!st && v.status) st = rank == 0 ? own : tutti_fail(err, (tutti_status)v.status, "%s", "");
    if (!st) st = tutti_group_broadcast(g, "proved loops", 0, loops, sizeof *loops * (size_t)n, err);
    if (!st) st = compare(g, "the plan of", v.plan, common, err);
    if (!st) st = compare(g, "the loops of", loops[rank], tutti_plan_covered_loops(c->plan, rank), err);
    if (!st) st = tutti_group_barrier(g, "proof of the plan", err);
    free(loops);
    return st;
}

tutti_status tutti_train_begin(tutti_group *g, const tutti_train_config *c, tutti_start *start, tutti_failure *err)
{
    char *text = NULL;
    *start = (tutti_start){.lock_fd = -1, .copied = -1};
    tutti_status st = prove(g, c, &text, err);
    if (!st) st = tutti_start_agree(g, c, start, err);
    if (!st && text) keep(c, text);
    free(text);
    return st;
}
