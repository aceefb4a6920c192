/* SPDX-License-Identifier: Apache-2.0 */
/* svm_checkpoint.c: saves an SVM training and resumes it. The samples of a class lie on the ranks in the order of their
 * numbers. So one gather for each of the two classes brings the samples' values into that order. Each rank counts the
 * samples of lower ranks to find the values of its own. */
#include "svm_checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/text/strbuf.h"
#include "svm_checkpoint_identity.h"
#include "svm_checkpoint_impl.h"

enum { WORD = TUTTI_SVM_CHECKPOINT_WORD };

struct tutti_svm_checkpoint {
    const char *path;
    double saved; /* time of the last save */
    /* only rank 0 uses this and the next three fields */
    tutti_strbuf image;    /* text of the file: head, identity, entries */
    int64_t nentries;      /* number of entries in `image` */
    size_t folds_at;       /* offset in `image` at which the folds of a sigmoid begin */
    int64_t folds_entries; /* number of entries before that offset */
    /* all ranks use the following fields */
    char *file; /* the part of the file that is still to be used; NULL if nothing is */
    tutti_svm_checkpoint_view left;
};

/* --- numbers of samples --- */

typedef struct {
    int64_t *count;            /* [2][nranks] samples of +1 and of -1 on each rank */
    int64_t before[2], all[2]; /* samples of +1 and of -1: on lower ranks, and on all ranks */
    int64_t own[2];
} numbering;

static tutti_status number(tutti_svm_context *e, const tutti_svm_problem *p, numbering *out, tutti_failure *err)
{
    const int n = e->nranks;
    numbering k = {.count = tutti_alloc(4 * (size_t)n * sizeof *k.count)};
    int64_t *of = k.count + 2 * n;
    for (int64_t i = 0; i < p->n; i++) k.own[p->y[i] < 0]++;
    const tutti_status st = tutti_svm_context_share(e, k.own, of, err);
    for (int r = 0; r < n && !st; r++)
        for (int c = 0; c < 2; c++) {
            k.count[c * n + r] = of[2 * r + c];
            k.before[c] += r < e->rank ? of[2 * r + c] : 0;
            k.all[c] += of[2 * r + c];
        }
    if (st)
        free(k.count);
    else
        *out = k;
    return st;
}

/* Gathers value[n] of this rank's samples into all[samples] on rank 0, ordered by the samples' numbers. Collective. */
static tutti_status gather(tutti_svm_context *e, const numbering *k, const tutti_svm_problem *p, const double *value,
                           double *all, tutti_failure *err)
{
    double *sorted = tutti_alloc((size_t)(p->n + 1) * sizeof *sorted);
    int64_t to[2] = {0, k->own[0]};
    tutti_status st = TUTTI_OK;
    for (int64_t i = 0; i < p->n; i++) sorted[to[p->y[i] < 0]++] = value[i];
    if (e->nranks == 1) memcpy(all, sorted, (size_t)p->n * sizeof *all);
    for (int c = 0; c < 2 && e->nranks > 1 && !st; c++) {
        const tutti_call call = {.collective = TUTTI_GATHER,
                                 .in = sorted + (c ? k->own[0] : 0),
                                 .out = all + (c ? k->all[0] : 0),
                                 .count = k->own[c],
                                 .counts = k->count + c * e->nranks,
                                 .type = TUTTI_F64};
        st = tutti_comm_run(e->comm, &call, err);
    }
    free(sorted);
    return st;
}

/* Copies the values of this rank's samples from all[samples] into value[n]. */
static void deal(const numbering *k, const tutti_svm_problem *p, const double *all, double *value)
{
    int64_t from[2] = {k->before[0], k->all[0] + k->before[1]};
    for (int64_t i = 0; i < p->n; i++) value[i] = all[from[p->y[i] < 0]++];
}

static tutti_status check_alphas(const tutti_svm_checkpoint *c, const numbering *k, const tutti_svm_problem *p,
                                 int64_t n, const double *alpha, tutti_failure *err)
{
    bool good = n == k->all[0] + k->all[1];
    for (int64_t i = 0; good && i < n; i++) good = alpha[i] <= (i < k->all[0] ? p->cost_positive : p->cost_negative);
    return good ? TUTTI_OK
                : tutti_fail(err, TUTTI_ERR_DATA, "%s: does not fit the problem; remove it to begin anew", c->path);
}

/* --- reading and writing the file --- */

/* Gives all ranks the status that rank 0 found. */
static tutti_status agree(tutti_svm_context *e, tutti_status st, tutti_failure *err)
{
    tutti_failure said = {.status = st};
    if (st && err) said = *err;
    if (e->nranks > 1) {
        tutti_failure lost = {0};
        if (tutti_comm_broadcast(e->comm, &said, sizeof said, TUTTI_U8, 0, &lost)) said = lost;
    }
    if (said.status && err) *err = said;
    return said.status;
}

/* Writes the image to the file, then cuts the image back to its first `length` bytes. Rank 0 only. */
static tutti_status write_image(tutti_svm_checkpoint *c, size_t length, bool solving, tutti_failure *err)
{
    tutti_strbuf *b = &c->image;
    tutti_svm_checkpoint_head head;
    memcpy(&head, b->text, sizeof head);
    head.nentries = c->nentries, head.solving = solving;
    memcpy(b->text, &head, sizeof head);
    const uint64_t sum = tutti_hash(b->text, b->length);
    tutti_strbuf_add(b, (const char *)&sum, sizeof sum);
    const tutti_status st = tutti_file_write_atomic(c->path, b->text, b->length, err);
    b->length = length;
    return st;
}

static void begin_image(tutti_svm_checkpoint *c, const tutti_strbuf *identity)
{
    static const char zeros[WORD];
    const size_t padding = WORD - identity->length % WORD;
    const tutti_svm_checkpoint_head head = {.magic = TUTTI_SVM_CHECKPOINT_MAGIC,
                                            .version = TUTTI_SVM_CHECKPOINT_VERSION,
                                            .identity_bytes = (int64_t)(identity->length + padding)};
    tutti_strbuf_add(&c->image, (const char *)&head, sizeof head);
    tutti_strbuf_add(&c->image, identity->text, identity->length);
    tutti_strbuf_add(&c->image, zeros, padding);
}

/* Reads the file; rank 0 only. *bytes stays NULL if there is no file. */
static tutti_status read_file(const char *path, const char *identity, char **bytes, size_t *nbytes, tutti_failure *err)
{
    tutti_svm_checkpoint_view v;
    tutti_failure why = {0};
    tutti_status st = tutti_file_read(path, SIZE_MAX / 2, TUTTI_ERR_USAGE, bytes, nbytes, &why);
    if (st == TUTTI_ERR_USAGE && access(path, F_OK) != 0) return TUTTI_OK;
    if (st) return tutti_fail(err, TUTTI_ERR_DATA, "%s", why.text);
    st = tutti_svm_checkpoint_parse(path, *bytes, *nbytes, &v, err);
    return st ? st : tutti_svm_checkpoint_compare(path, identity, &v, err);
}

static void drop_file(tutti_svm_checkpoint *c)
{
    free(c->file);
    c->file = NULL;
    c->left = (tutti_svm_checkpoint_view){0};
}

/* Sends rank 0's bytes to all ranks. */
static tutti_status spread(tutti_svm_context *e, tutti_svm_checkpoint *c, int64_t nbytes, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (e->nranks > 1) st = tutti_comm_broadcast(e->comm, &nbytes, 1, TUTTI_I64, 0, err);
    if (st || nbytes == 0) return st;
    if (e->rank > 0) c->file = tutti_alloc((size_t)nbytes);
    if (e->nranks > 1) st = tutti_comm_broadcast(e->comm, c->file, nbytes, TUTTI_U8, 0, err);
    return st ? st : tutti_svm_checkpoint_parse(c->path, c->file, (size_t)nbytes, &c->left, err);
}

tutti_status tutti_svm_checkpoint_open(tutti_svm_training *t, const tutti_svm_classes *classes, tutti_failure *err)
{
    tutti_svm_context *e = t->context;
    if (!t->config->checkpoint) return TUTTI_OK;
    tutti_svm_checkpoint *c = e->checkpoint = tutti_alloc(sizeof *c);
    c->path = t->config->checkpoint, c->saved = tutti_clock_s();
    tutti_strbuf identity = {0};
    size_t nbytes = 0;
    tutti_status st = tutti_svm_identity(t, classes, &identity, err);
    if (!st && e->rank == 0) {
        begin_image(c, &identity);
        st = read_file(c->path, identity.text, &c->file, &nbytes, err);
        if (!st && !c->file) st = write_image(c, c->image.length, false, err);
    }
    st = agree(e, st, err);
    if (!st) st = spread(e, c, (int64_t)nbytes, err);
    tutti_strbuf_release(&identity);
    return st;
}

void tutti_svm_checkpoint_close(tutti_svm_context *e)
{
    tutti_svm_checkpoint *c = e->checkpoint;
    if (!c) return;
    drop_file(c);
    tutti_strbuf_release(&c->image);
    free(c);
    e->checkpoint = NULL;
}

/* --- entries of solved problems --- */

static void add_entry(tutti_svm_context *e, const tutti_svm_checkpoint_entry *entry, const double *alpha)
{
    tutti_svm_checkpoint *c = e->checkpoint;
    if (e->rank > 0) return;
    tutti_strbuf_add(&c->image, (const char *)entry, sizeof *entry);
    tutti_strbuf_add(&c->image, (const char *)alpha, (size_t)entry->n * sizeof *alpha);
    c->nentries++;
}

static void pass_entry(tutti_svm_context *e)
{
    tutti_svm_checkpoint *c = e->checkpoint;
    const tutti_svm_checkpoint_entry *entry = c->left.entry;
    add_entry(e, entry, tutti_svm_checkpoint_alpha(entry));
    c->left.entry = tutti_svm_checkpoint_next(entry);
    if (--c->left.nentries == 0 && !c->left.state) drop_file(c);
}

static tutti_status take_solution(tutti_svm_context *e, const tutti_svm_problem *p, double *alpha,
                                  tutti_svm_pair_result *result, tutti_failure *err)
{
    const tutti_svm_checkpoint *c = e->checkpoint;
    const tutti_svm_checkpoint_entry *entry = c->left.entry;
    const double *all = tutti_svm_checkpoint_alpha(entry);
    numbering k;
    tutti_status st = number(e, p, &k, err);
    if (st) return st;
    st = check_alphas(c, &k, p, entry->n, all, err);
    if (!st) deal(&k, p, all, alpha), *result = entry->result, pass_entry(e);
    free(k.count);
    return st;
}

static tutti_status put_solution(tutti_svm_context *e, const tutti_svm_problem *p, const double *alpha,
                                 const tutti_svm_pair_result *result, tutti_failure *err)
{
    numbering k;
    tutti_status st = number(e, p, &k, err);
    if (st) return st;
    const int64_t n = k.all[0] + k.all[1];
    double *all = tutti_alloc((e->rank == 0 ? (size_t)n + 1 : 1) * sizeof *all);
    const tutti_svm_checkpoint_entry entry = {.n = n, .result = *result};
    st = gather(e, &k, p, alpha, all, err);
    if (!st) add_entry(e, &entry, all);
    free(all);
    free(k.count);
    return st;
}

tutti_status tutti_svm_checkpoint_solve(tutti_svm_context *e, const tutti_svm_problem *p, double *alpha,
                                        tutti_svm_pair_result *result, tutti_failure *err)
{
    const tutti_svm_checkpoint *c = e->checkpoint;
    if (c && c->left.nentries > 0) return take_solution(e, p, alpha, result, err);
    const tutti_status st = tutti_svm_solve(e, p, alpha, result, err);
    return st || !c ? st : put_solution(e, p, alpha, result, err);
}

bool tutti_svm_checkpoint_begin_sigmoid(tutti_svm_context *e, double *a, double *b)
{
    tutti_svm_checkpoint *c = e->checkpoint;
    if (!c) return false;
    c->folds_at = c->image.length, c->folds_entries = c->nentries;
    if (c->left.nentries == 0 || c->left.entry->n > 0) return false;
    *a = c->left.entry->a, *b = c->left.entry->b;
    pass_entry(e);
    return true;
}

void tutti_svm_checkpoint_end_sigmoid(tutti_svm_context *e, double a, double b)
{
    tutti_svm_checkpoint *c = e->checkpoint;
    if (!c) return;
    const tutti_svm_checkpoint_entry entry = {.a = a, .b = b};
    c->image.length = c->folds_at, c->nentries = c->folds_entries;
    add_entry(e, &entry, NULL);
}

/* --- saving and resuming the problem that is being solved --- */

int tutti_svm_checkpoint_wish(const tutti_svm_context *e)
{
    const tutti_svm_checkpoint *c = e->checkpoint;
    const int stop = e->config->stop ? *e->config->stop : 0;
    if (stop) return TUTTI_SVM_WISH_STOP - 1 + (stop > 0 ? stop : 1);
    return c && e->rank == 0 && tutti_clock_s() - c->saved >= e->config->checkpoint_s ? TUTTI_SVM_WISH_SAVE : 0;
}

static void add_state(const tutti_svm_solver *s, tutti_strbuf *b)
{
    const tutti_svm_state *state = &s->state;
    const tutti_svm_checkpoint_state written = {.n = s->total,
                                                .nmembers = state->nmembers,
                                                .next = state->next,
                                                .round = state->round,
                                                .iterations = state->iterations,
                                                .since = state->since,
                                                .delta = state->delta,
                                                .active = state->active,
                                                .eliminated = state->eliminated,
                                                .reconstructed = state->reconstructed,
                                                .kernel_rows = state->kernel_rows,
                                                .cached_rows = state->cached_rows,
                                                .stalled = state->stalled,
                                                .lowered = state->lowered};
    tutti_strbuf_add(b, (const char *)&written, sizeof written);
    tutti_strbuf_add(b, (const char *)state->member, (size_t)state->nmembers * sizeof *state->member);
}

/* Gathers alpha and gamma of all samples into all[2][samples] on rank 0. Collective. */
static tutti_status gather_samples(const tutti_svm_solver *s, const numbering *k, double *all, tutti_failure *err)
{
    const tutti_svm_state *state = &s->state;
    double *mine = s->spare;
    for (int64_t i = 0; i < state->n; i++) mine[i] = state->alpha[state->position[i]];
    const tutti_status st = gather(s->e, k, s->problem, mine, all, err);
    if (st) return st;
    for (int64_t i = 0; i < state->n; i++)
        mine[i] = state->position[i] < state->nactive ? state->gamma[state->position[i]] : (double)NAN;
    return gather(s->e, k, s->problem, mine, s->e->rank == 0 ? all + s->total : all, err);
}

tutti_status tutti_svm_checkpoint_save(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    tutti_svm_checkpoint *c = e->checkpoint;
    if (!c) return TUTTI_OK;
    numbering k;
    tutti_status st = number(e, s->problem, &k, err);
    if (st) return st;
    const size_t nbytes = 2 * (size_t)s->total * sizeof(double);
    double *all = tutti_alloc(e->rank == 0 ? nbytes : WORD);
    st = gather_samples(s, &k, all, err);
    if (!st && e->rank == 0) {
        const size_t length = c->image.length;
        add_state(s, &c->image);
        tutti_strbuf_add(&c->image, (const char *)all, nbytes);
        st = write_image(c, length, true, err);
    }
    free(all);
    free(k.count);
    c->saved = tutti_clock_s();
    return agree(e, st, err);
}

/* Orders samples by position: the active ones first. */
static void place_samples(tutti_svm_solver *s, const tutti_svm_checkpoint_view *v)
{
    tutti_svm_state *state = &s->state;
    const tutti_svm_problem *p = s->problem;
    int64_t k = 0, *numbers = s->from;
    for (int64_t i = 0; i < state->n; i++) numbers[i] = state->number[state->position[i]];
    for (int dropped = 0; dropped < 2; dropped++) {
        for (int64_t i = 0; i < state->n; i++) {
            const int64_t n = numbers[i];
            if (isnan(v->gamma[n]) != dropped) continue;
            state->number[k] = n, state->sample[k] = (int32_t)i, s->target[k] = p->row[i];
            state->alpha[k] = v->alpha[n], state->gamma[k] = v->gamma[n];
            state->sides[k] = tutti_svm_sides(p->y[i], v->alpha[n], p->y[i] > 0 ? p->cost_positive : p->cost_negative);
            state->position[i] = k++;
        }
        if (!dropped) state->nactive = k;
    }
}

/* Turns each member of the checkpoint's working set into a pick. The ranks exchange which rank owns a member and how
 * many entries its row has. Collective. */
static tutti_status pick_members(tutti_svm_solver *s, const tutti_svm_checkpoint_view *v, tutti_failure *err)
{
    const tutti_svm_state *state = &s->state;
    const int n = s->npicks = (int)v->state->nmembers;
    int64_t *of = tutti_alloc(2 * (size_t)(n + 1) * sizeof *of);
    int32_t *slot_of = tutti_alloc((size_t)(s->total + 1) * sizeof *slot_of);
    for (int slot = 0; slot < n; slot++) {
        const int64_t m = v->member[slot];
        slot_of[m] = slot + 1;
        s->pick[slot].is = (tutti_svm_candidate){v->gamma[m], v->alpha[m], m, 0};
    }
    for (int64_t k = 0; k < state->nactive; k++) {
        const int slot = slot_of[state->number[k]] - 1;
        if (slot < 0) continue;
        of[2 * slot] = s->e->rank, of[2 * slot + 1] = tutti_svm_row_entries(s->e, s->target[k]);
        s->pick[slot].position = k;
    }
    const tutti_status st = tutti_svm_context_count(s->e, of, 2 * n + 2, err);
    for (int slot = 0; slot < n; slot++)
        s->pick[slot].rank = (int32_t)of[2 * slot], s->pick[slot].is.entries = of[2 * slot + 1];
    free(slot_of);
    free(of);
    return st;
}

static void copy_counts(tutti_svm_state *state, const tutti_svm_checkpoint_state *from)
{
    state->nmembers = (int)from->nmembers, state->next = (int)from->next;
    state->round = from->round, state->iterations = from->iterations;
    state->since = from->since, state->delta = from->delta;
    state->active = from->active, state->eliminated = from->eliminated, state->reconstructed = from->reconstructed;
    state->kernel_rows = from->kernel_rows, state->cached_rows = from->cached_rows;
    state->lowered = from->lowered, state->stalled = (int32_t)from->stalled;
}

tutti_status tutti_svm_checkpoint_resume(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_checkpoint *c = s->e->checkpoint;
    if (!c || !c->file) return TUTTI_OK;
    const tutti_svm_checkpoint_view v = c->left;
    numbering k;
    tutti_status st = number(s->e, s->problem, &k, err);
    if (st) return st;
    st = check_alphas(c, &k, s->problem, v.state->n, v.alpha, err);
    free(k.count);
    if (!st && v.state->nmembers > s->e->block)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: its working set is larger than ours; remove it to begin anew",
                        c->path);
    if (st) return st;
    copy_counts(&s->state, v.state);
    place_samples(s, &v);
    st = pick_members(s, &v, err);
    if (!st && tutti_svm_set_restore(s, err)) st = tutti_fail_at(err, "%s", c->path);
    drop_file(c);
    return st;
}
