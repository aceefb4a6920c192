/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint_parse.c: checks and parses the bytes of an SVM checkpoint, and compares identities. The checksum finds
 * damage by storage. The other checks make sure that bytes with a right checksum do no harm either. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "svm_checkpoint_impl.h"

enum { WORD = TUTTI_SVM_CHECKPOINT_WORD };

/* The bytes that are still to be read. */
typedef struct {
    const char *at;
    size_t left;
} reader;

/* Returns the next n pieces of `bytes` bytes, or NULL if fewer are left. */
static const void *take(reader *r, int64_t n, size_t bytes)
{
    if (n < 0 || (uint64_t)n > r->left / bytes) return NULL;
    const void *at = r->at;
    r->at += (size_t)n * bytes, r->left -= (size_t)n * bytes;
    return at;
}

static bool are_alphas(const double *alpha, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(alpha[i] >= 0) || !isfinite(alpha[i])) return false;
    return true;
}

static bool read_entries(reader *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const tutti_svm_checkpoint_entry *e = take(r, 1, sizeof *e);
        const double *alpha = e ? take(r, e->n, WORD) : NULL;
        if (!alpha || !are_alphas(alpha, e->n)) return false;
    }
    return true;
}

/* True if all members are active samples and none occurs twice. */
static bool are_members(const tutti_svm_checkpoint_view *v)
{
    const int64_t n = v->state->n;
    uint8_t *seen = tutti_alloc((size_t)n + 1);
    bool good = true;
    for (int64_t i = 0; i < v->state->nmembers && good; i++) {
        const int64_t m = v->member[i];
        good = m >= 0 && m < n && !isnan(v->gamma[m]) && !seen[m];
        if (good) seen[m] = 1;
    }
    free(seen);
    return good;
}

static bool is_set(const tutti_svm_checkpoint_state *s)
{
    const int64_t n = s->nmembers;
    return n <= s->n && n <= INT32_MAX && s->next >= 0 && s->next < n + !n;
}

static bool are_counts(const tutti_svm_checkpoint_state *s)
{
    const int64_t counts[] = {s->n,          s->nmembers,      s->round,       s->iterations,  s->since,  s->active,
                              s->eliminated, s->reconstructed, s->kernel_rows, s->cached_rows, s->stalled};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] < 0) return false;
    return s->delta >= 1 && s->stalled < INT32_MAX && isfinite(s->lowered);
}

static bool read_state(reader *r, tutti_svm_checkpoint_view *v)
{
    const tutti_svm_checkpoint_state *s = v->state = take(r, 1, sizeof *s);
    if (!s || !are_counts(s) || !is_set(s)) return false;
    v->member = take(r, s->nmembers, WORD);
    v->alpha = take(r, s->n, WORD);
    v->gamma = take(r, s->n, WORD);
    if (!v->member || !v->alpha || !v->gamma || !are_alphas(v->alpha, s->n)) return false;
    int64_t active = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (isinf(v->gamma[i])) return false;
        active += !isnan(v->gamma[i]);
    }
    return active == s->active && are_members(v);
}

static bool read_identity(reader *r, int64_t nbytes, tutti_svm_checkpoint_view *v)
{
    v->identity = nbytes % WORD == 0 ? take(r, nbytes, 1) : NULL;
    if (!v->identity || nbytes == 0 || v->identity[nbytes - 1]) return false;
    v->identity_bytes = strlen(v->identity);
    for (int64_t i = (int64_t)v->identity_bytes; i < nbytes; i++)
        if (v->identity[i]) return false;
    return true;
}

/* Checks head and checksum. */
static tutti_status check_whole(const char *name, const char *bytes, size_t nbytes, tutti_failure *err)
{
    const tutti_svm_checkpoint_head *head = (const void *)bytes;
    if (nbytes < sizeof *head + WORD || head->magic != TUTTI_SVM_CHECKPOINT_MAGIC)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: is not a checkpoint of svm-train, or is cut off", name);
    if (head->version != TUTTI_SVM_CHECKPOINT_VERSION)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: a checkpoint of version %lld; this program reads version %d", name,
                          (long long)head->version, TUTTI_SVM_CHECKPOINT_VERSION);
    uint64_t sum;
    memcpy(&sum, bytes + nbytes - WORD, WORD);
    if (nbytes % WORD || sum != tutti_hash(bytes, nbytes - WORD))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: the checksum is wrong: damaged or cut off; remove it to begin anew",
                          name);
    return TUTTI_OK;
}

tutti_status tutti_svm_checkpoint_parse(const char *name, const char *bytes, size_t nbytes,
                                        tutti_svm_checkpoint_view *out, tutti_failure *err)
{
    const tutti_status st = check_whole(name, bytes, nbytes, err);
    if (st) return st;
    tutti_svm_checkpoint_view v = {0};
    reader r = {bytes, nbytes - WORD};
    const tutti_svm_checkpoint_head *head = take(&r, 1, sizeof *head);
    bool good = head->nentries >= 0 && (head->solving == 0 || head->solving == 1);
    good = good && read_identity(&r, head->identity_bytes, &v);
    v.nentries = head->nentries, v.entry = (const void *)r.at;
    good = good && read_entries(&r, head->nentries) && (!head->solving || read_state(&r, &v)) && r.left == 0;
    if (!good)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: its parts do not fit together; remove it to begin anew", name);
    *out = v;
    return TUTTI_OK;
}

/* --- comparing identities --- */

static int line_length(const char *line)
{
    return (int)strcspn(line, "\n");
}

tutti_status tutti_svm_checkpoint_compare(const char *name, const char *ours, const tutti_svm_checkpoint_view *file,
                                          tutti_failure *err)
{
    enum { MOST_SHOWN = 200 };
    const char *theirs = file->identity;
    while (*ours || *theirs) {
        const int here = line_length(ours), there = line_length(theirs);
        if (here != there || strncmp(ours, theirs, (size_t)here) != 0)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: belongs to another training: there '%.*s', here '%.*s'; give it the same data and "
                              "options, or remove it to begin anew",
                              name, there < MOST_SHOWN ? there : MOST_SHOWN, theirs,
                              here < MOST_SHOWN ? here : MOST_SHOWN, ours);
        ours += here + (ours[here] == '\n');
        theirs += there + (theirs[there] == '\n');
    }
    return TUTTI_OK;
}
