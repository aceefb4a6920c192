/* SPDX-License-Identifier: Apache-2.0 */
/* bench_transfer.c: moves tensors from rank 0 to rank 1 in three ways over one wire, after Xue et al. (EuroSys 2019),
 * and counts the bytes that were copied besides.
 *
 *   static    the receiver's tensor has a known place: one write, one word
 *   dynamic   size and place are written and signalled, then the receiver reads
 *   rpc       as RPC libraries do over the same writes: the sender copies pieces with a header into a message, writes
 *             it into a ring of bounce buffers, the receiver copies out, looks up the method and answers
 *
 * Each transfer is answered by a word, so times are of a transfer and a small answer. Starts its two ranks itself,
 * unless RANK is set (TUTTI_WIRE=ucx: over UCX).
 * usage: bench_transfer static|dynamic|rpc BYTES[,BYTES..]...; the tensors of an argument make one step. Rank 1 prints
 * "BYTES MICROSECONDS COPIED" a line: bytes of a step, median over rounds, bytes copied beside the transfer in a
 * step. */
#include <string.h>

#include "base/host/pages.h"
#include "own_ranks.h"
#include "tutti/transfer.h"

enum { MOST_TENSORS = 512, SLOTS = 8, PIECE = 1 << 18 };
static const double ROUND_S = 0.05;

/* One message of the RPC-like row. */
typedef struct {
    uint64_t method, tensor, offset, nbytes;
    char bytes[PIECE];
} message;

/* What both ranks allocate; the tensors lie behind it. */
typedef struct {
    _Alignas(64) uint64_t arrived;  /* written by the sender */
    _Alignas(64) uint64_t used;     /* written by the receiver */
    _Alignas(64) uint64_t about[2]; /* of a dynamic transfer: bytes, offset */
    _Alignas(64) message ring[SLOTS];
    _Alignas(64) char tensors[];
} shared;

typedef struct bench bench;

/* How a tensor travels. */
typedef struct {
    const char *name;
    void (*send)(bench *b, int k);
    void (*receive)(bench *b);
} way;

struct bench {
    tutti_comm *comm;
    const way *way;
    shared *mine;
    char *source; /* of the sender */
    message *draft;
    size_t nbytes[MOST_TENSORS], offset[MOST_TENSORS], total;
    int ntensors;
    uint64_t turn; /* of arrived and used */
    unsigned long long copied;
};

static void send_static(bench *b, int k)
{
    tutti_failure err = {0};
    check(tutti_comm_write(b->comm, 1, b->mine->tensors + b->offset[k], b->source + b->offset[k], b->nbytes[k], &err),
          &err);
    check(tutti_comm_signal(b->comm, 1, &b->mine->arrived, ++b->turn, &err), &err);
}

static void receive_static(bench *b)
{
    tutti_failure err = {0};
    check(tutti_comm_await(b->comm, &b->mine->arrived, ++b->turn, 0, &err), &err);
}

/* The sender's tensors lie in its own allocation. */
static void send_dynamic(bench *b, int k)
{
    tutti_failure err = {0};
    const uint64_t about[2] = {b->nbytes[k], b->offset[k]};
    check(tutti_comm_await(b->comm, &b->mine->used, b->turn, 0, &err), &err); /* the last words were read */
    check(tutti_comm_write(b->comm, 1, b->mine->about, about, sizeof about, &err), &err);
    check(tutti_comm_signal(b->comm, 1, &b->mine->arrived, ++b->turn, &err), &err);
    check(tutti_comm_flush(b->comm, &err), &err);
}

static void receive_dynamic(bench *b)
{
    tutti_failure err = {0};
    check(tutti_comm_await(b->comm, &b->mine->arrived, ++b->turn, 0, &err), &err);
    char *from = b->mine->tensors + b->mine->about[1], *to = b->source + b->mine->about[1];
    check(tutti_comm_read(b->comm, 0, to, from, b->mine->about[0], &err), &err);
    check(tutti_comm_signal(b->comm, 0, &b->mine->used, b->turn, &err), &err);
}

static void send_rpc(bench *b, int k)
{
    tutti_failure err = {0};
    for (size_t at = 0; at < b->nbytes[k] || at == 0; at += PIECE) {
        const size_t n = b->nbytes[k] - at < PIECE ? b->nbytes[k] - at : PIECE;
        message *m = b->draft;
        *m = (message){.method = 1, .tensor = (uint64_t)k, .offset = at, .nbytes = n};
        memcpy(m->bytes, b->source + b->offset[k] + at, n);
        b->copied += n;
        if (b->turn >= SLOTS) check(tutti_comm_await(b->comm, &b->mine->used, b->turn - SLOTS + 1, 0, &err), &err);
        message *slot = &b->mine->ring[b->turn % SLOTS];
        check(tutti_comm_write(b->comm, 1, slot, m, offsetof(message, bytes) + n, &err), &err);
        check(tutti_comm_signal(b->comm, 1, &b->mine->arrived, ++b->turn, &err), &err);
        check(tutti_comm_flush(b->comm, &err), &err);
    }
}

static void store_piece(bench *b, const message *m)
{
    memcpy(b->source + b->offset[m->tensor] + m->offset, m->bytes, m->nbytes);
    b->copied += m->nbytes;
}

static void receive_rpc(bench *b)
{
    void (*const methods[])(bench *, const message *) = {NULL, store_piece};
    tutti_failure err = {0};
    for (size_t left = 1; left > 0;) {
        check(tutti_comm_await(b->comm, &b->mine->arrived, b->turn + 1, 0, &err), &err);
        const message *m = &b->mine->ring[b->turn % SLOTS];
        methods[m->method](b, m);
        left = b->nbytes[m->tensor] - m->offset - m->nbytes;
        check(tutti_comm_signal(b->comm, 0, &b->mine->used, ++b->turn, &err), &err);
    }
}

static const way ways[] = {{"static", send_static, receive_static},
                           {"dynamic", send_dynamic, receive_dynamic},
                           {"rpc", send_rpc, receive_rpc}};

/* All tensors of a step, then the answer. */
static void run_step(void *arg)
{
    bench *b = arg;
    tutti_failure err = {0};
    const int sender = tutti_comm_rank(b->comm) == 0;
    for (int k = 0; k < b->ntensors; k++) {
        if (sender)
            b->way->send(b, k);
        else
            b->way->receive(b);
    }
    if (!sender)
        check(tutti_comm_signal(b->comm, 0, &b->mine->used, b->turn, &err), &err);
    else
        check(tutti_comm_await(b->comm, &b->mine->used, b->turn, 0, &err), &err);
}

static void read_sizes(bench *b, const char *list)
{
    for (const char *at = list; *at && b->ntensors < MOST_TENSORS; at += *at == ',') {
        char *end;
        const size_t n = (size_t)strtoull(at, &end, 10);
        if (end == at) break;
        b->offset[b->ntensors] = b->total;
        b->nbytes[b->ntensors++] = n;
        b->total += (n + 63) / 64 * 64;
        at = end;
    }
}

/* Where each way leaves the receiver's tensors. */
static void check_tensors(const bench *b)
{
    const char *got = b->way == &ways[0] ? b->mine->tensors : b->source;
    for (int k = 0; k < b->ntensors; k++)
        for (size_t i = 0; i < b->nbytes[k]; i++)
            if (got[b->offset[k] + i] != (char)(i * 31 + (size_t)k)) exit(2);
}

static void run_size(tutti_comm *comm, const way *w, const char *list)
{
    tutti_failure err = {0};
    bench b = {.comm = comm, .way = w, .draft = calloc(1, sizeof(message))};
    read_sizes(&b, list);
    check(tutti_comm_alloc(comm, sizeof(shared) + b.total + 64, (void **)&b.mine, &err), &err);
    b.source = w == &ways[1] && tutti_comm_rank(comm) == 0 ? b.mine->tensors : tutti_pages_take(b.total + 64);
    if (!b.source || !b.draft) exit(1);
    for (int k = 0; k < b.ntensors && tutti_comm_rank(comm) == 0; k++)
        for (size_t i = 0; i < b.nbytes[k]; i++) b.source[b.offset[k] + i] = (char)(i * 31 + (size_t)k);
    const double seconds = time_steps(comm, run_step, &b, ROUND_S);
    b.copied = 0;
    run_step(&b);
    double copied = (double)b.copied, both;
    check(tutti_comm_allreduce(comm, &copied, &both, 1, TUTTI_F64, TUTTI_SUM, &err), &err);
    if (tutti_comm_rank(comm) == 1) {
        size_t bytes = 0;
        check_tensors(&b);
        for (int k = 0; k < b.ntensors; k++) bytes += b.nbytes[k];
        printf("%zu %.4f %.0f\n", bytes, 1e6 * seconds, both);
        fflush(stdout);
    }
    if (b.source != b.mine->tensors) tutti_pages_give_back(b.source, b.total + 64);
    free(b.draft);
    check(tutti_comm_barrier(comm, &err), &err);
    check(tutti_comm_free(comm, b.mine, &err), &err);
}

int main(int argc, char **argv)
{
    tutti_comm *comm;
    tutti_failure err = {0};
    const way *w = NULL;
    for (size_t k = 0; argc > 2 && k < sizeof ways / sizeof *ways; k++)
        if (!strcmp(argv[1], ways[k].name)) w = &ways[k];
    if (!w) {
        fprintf(stderr, "usage: bench_transfer static|dynamic|rpc BYTES[,BYTES..]...\n");
        return 2;
    }
    if (!getenv("RANK")) return start_ranks(2, argv);
    check(tutti_comm_create_from_env(&comm, &err), &err);
    for (int i = 2; i < argc; i++) run_size(comm, w, argv[i]);
    tutti_comm_destroy(comm);
    return 0;
}
