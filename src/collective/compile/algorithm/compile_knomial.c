/* SPDX-License-Identifier: Apache-2.0 */
/* compile_knomial.c: k-nomial: radix k instead of 2: each step with k - 1 peers, log_k p steps.
 *
 *   broadcast, reduce, gather   along the tree that cuts intervals of ranks into k parts (compile_rooted.h).
 *   allreduce                   halving-doubling with k parts: with P = k^m the largest power of k up to p, numbers 0
 *                               .. P-1 meet in groups that differ in one digit of base k, lowest digit first. Each
 *                               member keeps one part of the range that all k hold, and adds the others' sums of that
 *                               part; the next step does the same with that part. Then the same steps backwards gather
 *                               the sums (UCC calls this SRA, gloo bcube).
 *   any p                       ranks are cut into P runs, as equal as can be; the first of each run sums the inputs of
 *                               the others, takes part for them, and gives back the result.
 *
 * Why two invocations of an allreduce do not race. The first message of a rank says READY and FREE, and each later
 * message depends on all earlier ones. A peer that pulled a part later pushes its sum back, which shows that the pull
 * was done; it overwrites memory that no other rank reads. The other ranks of a run get the result last. So nothing is
 * acknowledged. For trees compile_rooted.h says why. */
#include "compile_rooted.h"

typedef struct {
    const tutti_compile_request *q;
    tutti_part_builder *b;
    int32_t r, p;
    int32_t k, P, m; /* k: the radix; P = k^m is the largest power of k up to the number of ranks */
    int32_t v;       /* number of the run of ranks that rank r belongs to */
    int32_t stage;   /* stage of step 0: 1 if the first rank of a run first receives the others' inputs (the fold) */
    int32_t made;    /* number of the schedule step that makes the data of the next send */
} knomial;

enum { IN, OUT, INBOX };

/* Returns the first rank of run v, which takes part for the run. */
static int32_t head_of(const knomial *h, int32_t v)
{
    return (int32_t)((int64_t)v * h->p / h->P);
}

static int32_t power(int32_t k, int32_t s)
{
    int32_t x = 1;
    while (s-- > 0) x *= k;
    return x;
}

static int32_t digit(const knomial *h, int32_t v, int32_t s)
{
    return v / power(h->k, s) % h->k;
}

/* Returns the first block of the range that the first rank of run v holds before step s; the range has P / k^s
 * blocks. */
static int32_t range(const knomial *h, int32_t v, int32_t s)
{
    int32_t first = 0, width = h->P;
    for (int32_t t = 0; t < s; t++) width /= h->k, first += digit(h, v, t) * width;
    return first;
}

static tutti_slice blocks(const knomial *h, int32_t rank, int32_t buffer, int32_t first, int32_t count)
{
    return tutti_slice_at(rank, buffer, first, count, h->P);
}

static int32_t run_length(const knomial *h, int32_t v)
{
    return head_of(h, v + 1) - head_of(h, v);
}

/* Returns the buffer with the partial sum that the first rank of run v uses in step s. */
static int32_t source(const knomial *h, int32_t v, int32_t s)
{
    return s == 0 && run_length(h, v) == 1 ? IN : OUT;
}

/* Returns the buffer into which the member with digit `own` receives in step s from the member with digit `from`. */
static int32_t inbox(const knomial *h, int32_t s, int32_t own, int32_t from)
{
    return INBOX + s * (h->k - 1) + (from < own ? from : from - 1);
}

static void add_scratch(const knomial *h)
{
    for (int32_t s = 0; s < h->m; s++)
        for (int32_t j = 1; j < h->k; j++)
            tutti_compile_scratch(h->b, blocks(h, h->r, 0, range(h, h->v, s + 1), h->P / power(h->k, s + 1)), 1);
    for (int32_t i = 1; i < run_length(h, h->v); i++) tutti_compile_scratch(h->b, blocks(h, h->r, 0, 0, h->P), 1);
}

/* Before step 0: the other ranks of a run send their input to the run's first rank. */
static void fold_before(knomial *h)
{
    const tutti_message m = {.hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK, .when = TUTTI_WHEN_READY | TUTTI_WHEN_FREE};
    const tutti_message recv = {.sequence = 1, .hint = m.hint};
    int32_t head = head_of(h, h->v), n = run_length(h, h->v), first = INBOX + h->m * (h->k - 1);
    if (h->r != head)
        tutti_compile_send(h->b, &m, blocks(h, h->r, IN, 0, h->P), blocks(h, head, first + h->r - head - 1, 0, h->P));
    if (h->r != head || n == 1) return;
    for (int32_t i = 1; i < n; i++)
        tutti_compile_recv(h->b, &recv, blocks(h, head, first + i - 1, 0, h->P), blocks(h, head + i, IN, 0, h->P));
    tutti_step step = tutti_local_step(TUTTI_STEP_REDUCE, 1, 0, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    h->made = tutti_part_step(h->b, &step);
    tutti_balance tree = {0};
    for (int32_t i = 0; i < n; i++)
        tutti_part_fold(h->b, blocks(h, head, i ? first + i - 1 : IN, 0, h->P),
                        tutti_balance_push(&tree, 1, i == n - 1));
    tutti_part_out(h->b, blocks(h, head, OUT, 0, h->P));
}

/* Returns the number of the run that has digit j in the group of runs which this rank's run meets in step s. */
static int32_t member(const knomial *h, int32_t s, int32_t j)
{
    return h->v + (j - digit(h, h->v, s)) * power(h->k, s);
}

static void scatter(knomial *h, int32_t s)
{
    int32_t own = digit(h, h->v, s), width = h->P / power(h->k, s + 1), mine = range(h, h->v, s + 1);
    tutti_message m = {.stage = h->stage + s, .hint = TUTTI_HINT_PULL | TUTTI_HINT_NO_ACK};
    m.when = s ? 0 : TUTTI_WHEN_READY | TUTTI_WHEN_FREE;
    for (int32_t i = 1; i < h->k; i++) {
        int32_t j = (own + i) % h->k, other = member(h, s, j), theirs = range(h, other, s + 1),
                peer = head_of(h, other);
        tutti_compile_send(h->b, &m, blocks(h, h->r, source(h, h->v, s), theirs, width),
                           blocks(h, peer, inbox(h, s, j, own), theirs, width));
        if (i == 1 && h->made >= 0) tutti_part_dep(h->b, h->made);
    }
    m.sequence = 1, m.when = 0;
    for (int32_t i = 1; i < h->k; i++) {
        int32_t j = (own - i + h->k) % h->k, other = member(h, s, j), peer = head_of(h, other);
        tutti_compile_recv(h->b, &m, blocks(h, h->r, inbox(h, s, own, j), mine, width),
                           blocks(h, peer, source(h, other, s), mine, width));
    }
    tutti_step step = tutti_local_step(TUTTI_STEP_REDUCE, 1, m.stage, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    h->made = tutti_part_step(h->b, &step);
    tutti_balance tree = {0};
    for (int32_t j = 0; j < h->k; j++)
        tutti_part_fold(h->b, blocks(h, h->r, j == own ? source(h, h->v, s) : inbox(h, s, own, j), mine, width),
                        tutti_balance_push(&tree, 1, j == h->k - 1));
    tutti_part_out(h->b, blocks(h, h->r, OUT, mine, width));
}

static void gather(knomial *h, int32_t s)
{
    int32_t own = digit(h, h->v, s), width = h->P / power(h->k, s + 1), mine = range(h, h->v, s + 1), got = -1;
    tutti_message m = {.stage = h->stage + 2 * h->m - 1 - s, .hint = TUTTI_HINT_NO_ACK};
    for (int32_t i = 1; i < h->k; i++) {
        int32_t peer = head_of(h, member(h, s, (own + i) % h->k));
        tutti_compile_send(h->b, &m, blocks(h, h->r, OUT, mine, width), blocks(h, peer, OUT, mine, width));
        if (i == 1) tutti_part_dep(h->b, h->made);
    }
    m.sequence = 1, m.when = TUTTI_WHEN_FREE;
    for (int32_t i = 1; i < h->k; i++) {
        int32_t other = member(h, s, (own - i + h->k) % h->k), theirs = range(h, other, s + 1);
        got = tutti_compile_recv(h->b, &m, blocks(h, h->r, OUT, theirs, width),
                                 blocks(h, head_of(h, other), OUT, theirs, width));
    }
    h->made = got;
}

/* After all steps: the first rank of a run sends the result to the others. */
static void unfold_after(const knomial *h)
{
    tutti_message m = {.stage = h->stage + 2 * h->m, .hint = TUTTI_HINT_NO_ACK};
    int32_t head = head_of(h, h->v), n = run_length(h, h->v);
    for (int32_t i = 1; h->r == head && i < n; i++) {
        tutti_compile_send(h->b, &m, blocks(h, head, OUT, 0, h->P), blocks(h, head + i, OUT, 0, h->P));
        if (i == 1) tutti_part_dep(h->b, h->made);
    }
    m.sequence = 1, m.when = TUTTI_WHEN_FREE;
    if (h->r != head) tutti_compile_recv(h->b, &m, blocks(h, h->r, OUT, 0, h->P), blocks(h, head, OUT, 0, h->P));
}

static void allreduce_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    knomial h = {.q = q, .b = b, .r = r, .p = q->nranks, .k = q->param[0], .P = 1, .made = -1};
    while ((int64_t)h.P * h.k <= h.p) h.P *= h.k, h.m++;
    h.v = (int32_t)(((int64_t)(r + 1) * h.P - 1) / h.p);
    h.stage = h.P == h.p ? 0 : 1;
    bool takes_part = head_of(&h, h.v) == r;
    tutti_compile_buffers(q, r, b);
    if (takes_part) add_scratch(&h);
    fold_before(&h);
    for (int32_t s = 0; takes_part && s < h.m; s++) scatter(&h, s);
    for (int32_t s = h.m - 1; takes_part && s >= 0; s--) gather(&h, s);
    unfold_after(&h);
}

static void place(const tutti_tree *t, int32_t rank, tutti_tree_place *out)
{
    tutti_interval_place(t->q->nranks, t->q->root, t->q->param[0], rank, out);
}

static void knomial_part(const tutti_compile_request *q, int32_t r, tutti_part_builder *b)
{
    tutti_tree t = {.q = q, .b = b, .r = r, .nchunks = 1, .of = 1, .place = place};
    t.nlevels = tutti_interval_levels(q->nranks, q->param[0]);
    if (q->collective == TUTTI_ALLREDUCE)
        allreduce_part(q, r, b);
    else
        tutti_rooted_part(&t, 1);
}

static tutti_status knomial_accept(const tutti_compile_request *q, tutti_failure *err)
{
    int32_t k = q->param[0];
    if (q->slots && (k & (k - 1)))
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "k-nomial,radix=%d cannot make canonical sums: a sum of %d parts is not a balanced tree of pairs; "
            "radix 2, 4, 8, ... can",
            k, k);
    return tutti_accept_powers_of_two("k-nomial", "parts of the ranks are not subtrees of the sum", q, err);
}

const tutti_algorithm tutti_algorithm_knomial = {
    .name = "k-nomial",
    .summary = "each step with radix - 1 peers: log_k p rounds; trees, and the k-ary halving-doubling",
    .collectives = 1u << TUTTI_ALLREDUCE | 1u << TUTTI_GATHER | 1u << TUTTI_BROADCAST | 1u << TUTTI_REDUCE,
    .determinism = TUTTI_DETERMINISM_FIXED,
    .accept = knomial_accept,
    .part = knomial_part,
    .parameters = {{"radix", 4, 2, TUTTI_MAX_RADIX, "k: parts at each step"}},
    .variants = {"radix=3", "radix=8", "radix=16"},
};
