/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_read.c: reads MSCCL's XML into a program. Unknown elements and attributes are ignored, as in other readers.
 * Numbers have ranges, references are looked up, and every refusal names the line. Entities and other documents are
 * never loaded. */
#include <assert.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "msccl_impl.h"

enum { MAX_GPUS = 4096, MAX_CHUNKS = 1 << 18, MAX_BLOCKS = 4096, MAX_STEPS = 1 << 20, MAX_MOVES = 1 << 23 };

const char *const msccl_type_names[MSCCL_NTYPES] = {
    [MSCCL_NOP] = "nop", [MSCCL_SEND] = "s",  [MSCCL_RECV] = "r",  [MSCCL_COPY] = "cpy", [MSCCL_REDUCE] = "re",
    [MSCCL_RRC] = "rrc", [MSCCL_RRS] = "rrs", [MSCCL_RCS] = "rcs", [MSCCL_RRCS] = "rrcs"};
const unsigned msccl_does[MSCCL_NTYPES] = {
    [MSCCL_SEND] = MSCCL_READS | MSCCL_GIVES,
    [MSCCL_RECV] = MSCCL_WRITES | MSCCL_TAKES,
    [MSCCL_COPY] = MSCCL_READS | MSCCL_WRITES,
    [MSCCL_REDUCE] = MSCCL_READS | MSCCL_WRITES,
    [MSCCL_RRC] = MSCCL_READS | MSCCL_WRITES | MSCCL_TAKES,
    [MSCCL_RRS] = MSCCL_READS | MSCCL_GIVES | MSCCL_TAKES,
    [MSCCL_RCS] = MSCCL_WRITES | MSCCL_GIVES | MSCCL_TAKES,
    [MSCCL_RRCS] = MSCCL_READS | MSCCL_WRITES | MSCCL_GIVES | MSCCL_TAKES,
};

typedef struct {
    XML_Parser parser;
    const char *file;
    tutti_msccl *m;
    int depth; /* number of open elements: 1 algo, 2 gpu, 3 tb, 4 step */
    int32_t ngpus_seen;
    int64_t nsteps, nmoves;
    msccl_gpu *gpu;
    msccl_block *block;
    tutti_status status;
    tutti_failure *err;
} reader;

__attribute__((format(printf, 2, 3))) static void refuse(reader *x, const char *format, ...)
{
    char words[256];
    va_list args;
    if (x->status != TUTTI_OK) return;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    x->status = tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %lu: %s", x->file,
                           (unsigned long)XML_GetCurrentLineNumber(x->parser), words);
    XML_StopParser(x->parser, XML_FALSE);
}

static const char *attribute(const char **list, const char *name)
{
    for (; *list; list += 2)
        if (!strcmp(list[0], name)) return list[1];
    return NULL;
}

/* Reads the attribute `name`, a number from lo to hi; `otherwise` if it is absent. If otherwise < lo, the attribute is
 * required. */
static int32_t number(reader *x, const char **list, const char *name, int32_t lo, int32_t hi, int32_t otherwise)
{
    const char *text = attribute(list, name);
    char *end = NULL;
    if (!text && otherwise >= lo) return otherwise;
    if (!text) {
        refuse(x, "the attribute %s is missing", name);
        return lo;
    }
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < lo || value > hi) {
        refuse(x, "%s=\"%.20s\": a number from %d to %d is wanted", name, text, lo, hi);
        return lo;
    }
    return (int32_t)value;
}

static int choice(reader *x, const char **list, const char *name, const char *const *words, int n)
{
    const char *text = attribute(list, name);
    for (int i = 0; i < n && text; i++)
        if (words[i] && !strcmp(words[i], text)) return i;
    refuse(x, "%s=\"%.20s\" is not known", name, text ? text : "");
    return 0;
}

static void begin_algo(reader *x, const char **list)
{
    /* the format's names, in the order of tutti_collective; the last is another spelling of reduce_scatter */
    static const char *const names[] = {"allreduce", "reduce_scatter", "allgather", NULL,           "broadcast",
                                        "reduce",    "alltoall",       NULL,        "reducescatter"};
    enum { OTHER = TUTTI_NCOLLECTIVES };
    static_assert(sizeof names / sizeof *names == OTHER + 1, "a name for each, in their order, and the other spelling");
    tutti_msccl *m = x->m;
    const char *name = attribute(list, "name"), *protocol = attribute(list, "proto"), *coll = attribute(list, "coll");
    if (coll && !strcmp(coll, "custom")) {
        refuse(x, "coll=\"custom\" says nothing of what must come out; name a collective");
        return;
    }
    int which = choice(x, list, "coll", names, sizeof names / sizeof names[0]);
    m->collective = which == OTHER ? TUTTI_REDUCE_SCATTER : (tutti_collective)which;
    snprintf(m->name, sizeof m->name, "%s", name ? name : "unnamed");
    snprintf(m->protocol, sizeof m->protocol, "%s", protocol ? protocol : "");
    m->ngpus = number(x, list, "ngpus", 1, MAX_GPUS, 0);
    m->nchunks = number(x, list, "nchunksperloop", 1, MAX_CHUNKS, 0);
    m->nchannels = number(x, list, "nchannels", 0, 1 << 20, 0);
    m->in_place = number(x, list, "inplace", 0, 1, 0) == 1;
    m->azure = attribute(list, "minBytes") && attribute(list, "maxBytes") && attribute(list, "outofplace");
    bool shared =
        m->collective == TUTTI_ALL_GATHER || m->collective == TUTTI_REDUCE_SCATTER || m->collective == TUTTI_ALL_TO_ALL;
    if (shared && m->nchunks % m->ngpus)
        refuse(x, "nchunksperloop=\"%d\" is not a multiple of ngpus=\"%d\"", m->nchunks, m->ngpus);
    if (m->collective == TUTTI_ALL_TO_ALL && m->in_place) refuse(x, "an alltoall in place is not a schedule of ours");
    if (m->root >= m->ngpus) refuse(x, "root %d of %d GPUs", m->root, m->ngpus);
    m->of = m->collective == TUTTI_ALL_TO_ALL ? m->nchunks * m->ngpus : m->nchunks;
    if (m->of > 1 << 20) refuse(x, "more than 2^20 chunks");
    m->gpus = TUTTI_ARENA_NEW(&m->arena, msccl_gpu, m->ngpus);
}

static void begin_gpu(reader *x, const char **list)
{
    static const char *const names[] = {"i_chunks", "o_chunks", "s_chunks"};
    tutti_msccl *m = x->m;
    int32_t id = number(x, list, "id", 0, m->ngpus - 1, -1);
    if (x->status != TUTTI_OK) return;
    x->gpu = &m->gpus[id];
    if (x->gpu->size[0]) refuse(x, "gpu %d is given twice", id);
    for (int b = 0; b < 3; b++) x->gpu->chunks[b] = number(x, list, names[b], 0, MAX_CHUNKS, 0);
    x->gpu->size[MSCCL_I] = m->collective == TUTTI_ALL_GATHER ? m->nchunks / m->ngpus : m->nchunks;
    x->gpu->size[MSCCL_O] = m->collective == TUTTI_REDUCE_SCATTER ? m->nchunks / m->ngpus : m->nchunks;
    x->gpu->size[MSCCL_S] = x->gpu->chunks[MSCCL_S];
    for (int b = 0; b < 2; b++)
        if (x->gpu->chunks[b] > 0 && x->gpu->chunks[b] != x->gpu->size[b])
            refuse(x, "%s=\"%d\", but nchunksperloop asks for %d", names[b], x->gpu->chunks[b], x->gpu->size[b]);
    x->ngpus_seen++;
}

static void begin_block(reader *x, const char **list)
{
    msccl_gpu *g = x->gpu;
    int32_t p = x->m->ngpus;
    int32_t id = number(x, list, "id", 0, MAX_BLOCKS - 1, -1);
    if (id != g->nblocks) refuse(x, "tb %d where %d is the next: ids count from 0", id, g->nblocks);
    msccl_block b = {.send = number(x, list, "send", -1, p - 1, -2),
                     .recv = number(x, list, "recv", -1, p - 1, -2),
                     .channel = number(x, list, "chan", 0, 1 << 16, -1)};
    if (x->status != TUTTI_OK) return;
    int32_t self = (int32_t)(g - x->m->gpus);
    if (b.send == self || b.recv == self) refuse(x, "a block that talks to its own GPU");
    for (int32_t i = 0; i < g->nblocks; i++) {
        const msccl_block *o = &g->blocks[i];
        if (o->channel != b.channel) continue;
        if (b.send >= 0 && o->send == b.send)
            refuse(x, "blocks %d and %d both send to GPU %d on chan %d", i, id, b.send, b.channel);
        if (b.recv >= 0 && o->recv == b.recv)
            refuse(x, "blocks %d and %d both receive from GPU %d on chan %d", i, id, b.recv, b.channel);
    }
    g->blocks = tutti_grow(g->blocks, g->nblocks, &g->capacity, sizeof *g->blocks);
    x->block = &g->blocks[g->nblocks++];
    *x->block = b;
}

static msccl_place place(reader *x, const char **list, bool used, const char *buffer, const char *offset, int32_t count)
{
    static const char *const names[] = {"i", "o", "s"};
    if (!used) return (msccl_place){0, 0};
    msccl_place p = {.buffer = choice(x, list, buffer, names, 3)};
    p.offset = number(x, list, offset, 0, MAX_CHUNKS, -1);
    if (x->status == TUTTI_OK && (int64_t)p.offset + count > x->gpu->size[p.buffer])
        refuse(x, "%s[%d] to [%d] lies outside of the %d chunks of that buffer", names[p.buffer], p.offset,
               p.offset + count - 1, x->gpu->size[p.buffer]);
    return p;
}

static void begin_step(reader *x, const char **list)
{
    msccl_block *b = x->block;
    const char *type = attribute(list, "type");
    if (type && !strcmp(type, "ra")) {
        refuse(x, "type=\"ra\" adds memory from outside of the collective, which no schedule can say");
        return;
    }
    int32_t id = number(x, list, "s", 0, MAX_STEPS, -1);
    if (x->status == TUTTI_OK && id != b->nsteps) refuse(x, "step %d where %d is the next", id, b->nsteps);
    msccl_step s = {.type = (msccl_type)choice(x, list, "type", msccl_type_names, MSCCL_NTYPES),
                    .line = (int32_t)XML_GetCurrentLineNumber(x->parser),
                    .block = number(x, list, "depid", -1, MAX_BLOCKS - 1, -2),
                    .step = number(x, list, "deps", -1, MAX_STEPS, -2),
                    .awaited = number(x, list, "hasdep", 0, 1, -1) == 1};
    unsigned does = msccl_does[s.type];
    if (does) s.count = number(x, list, "cnt", 0, MAX_CHUNKS, -1);
    s.src = place(x, list, does & MSCCL_READS, "srcbuf", "srcoff", s.count);
    s.dst = place(x, list, does & MSCCL_WRITES, "dstbuf", "dstoff", s.count);
    if (does & MSCCL_GIVES && b->send < 0) refuse(x, "a step that sends in a block with send=\"-1\"");
    if (does & MSCCL_TAKES && b->recv < 0) refuse(x, "a step that receives in a block with recv=\"-1\"");
    if ((s.block < 0) != (s.step < 0)) refuse(x, "depid=\"%d\" with deps=\"%d\"", s.block, s.step);
    x->nmoves += s.count;
    if (++x->nsteps > MAX_STEPS || x->nmoves > MAX_MOVES)
        refuse(x, "more than a million steps or eight million chunks");
    if (x->status != TUTTI_OK) return;
    b->steps = tutti_grow(b->steps, b->nsteps, &b->capacity, sizeof *b->steps);
    b->steps[b->nsteps++] = s;
}

static void begin_element(void *user, const char *name, const char **list)
{
    static const char *const names[] = {"algo", "gpu", "tb", "step"};
    static void (*const begin[])(reader *, const char **) = {begin_algo, begin_gpu, begin_block, begin_step};
    reader *x = user;
    if (x->depth < 4 && !strcmp(name, names[x->depth]))
        begin[x->depth](x, list);
    else if (x->depth < 4)
        refuse(x, "<%.20s> where <%s> is wanted", name, names[x->depth]);
    x->depth++;
}

static void end_element(void *user, const char *name)
{
    (void)name;
    ((reader *)user)->depth--;
}

static void begin_doctype(void *user, const char *name, const char *system, const char *public, int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    refuse(user, "a document type, which these files never have");
}

/* Checks that the steps for which others wait exist. */
static tutti_status check_deps(const tutti_msccl *m, const char *file, tutti_failure *err)
{
    for (int32_t r = 0; r < m->ngpus; r++)
        for (int32_t t = 0; t < m->gpus[r].nblocks; t++)
            for (int32_t i = 0; i < m->gpus[r].blocks[t].nsteps; i++) {
                const msccl_step *s = &m->gpus[r].blocks[t].steps[i];
                if (s->block < 0) continue;
                bool there = s->block < m->gpus[r].nblocks && s->step < m->gpus[r].blocks[s->block].nsteps;
                if (!there || (s->block == t && s->step >= i))
                    return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: it waits for step %d of block %d, which %s",
                                      file, s->line, s->step, s->block, there ? "comes later" : "is not there");
            }
    return TUTTI_OK;
}

static tutti_status read_xml(reader *x, const char *text, size_t nbytes)
{
    enum { AT_ONCE = 1 << 20 };
    bool ok = true;
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, begin_element, end_element);
    XML_SetStartDoctypeDeclHandler(x->parser, begin_doctype);
    for (size_t at = 0; ok && at <= nbytes; at += AT_ONCE) {
        size_t n = nbytes - at < AT_ONCE ? nbytes - at : AT_ONCE;
        ok = XML_Parse(x->parser, text + at, (int)n, at + AT_ONCE > nbytes) == XML_STATUS_OK;
    }
    if (x->status != TUTTI_OK) return x->status;
    if (!ok)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %lu: no XML: %s", x->file,
                          (unsigned long)XML_GetCurrentLineNumber(x->parser),
                          XML_ErrorString(XML_GetErrorCode(x->parser)));
    if (x->ngpus_seen < x->m->ngpus)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: %d of %d GPUs are there", x->file, x->ngpus_seen, x->m->ngpus);
    return check_deps(x->m, x->file, x->err);
}

bool tutti_msccl_is(const char *text, size_t nbytes)
{
    size_t at = 0;
    if (nbytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) at = 3;
    while (at < nbytes && strchr(" \t\r\n", text[at]) && text[at]) at++;
    return at < nbytes && text[at] == '<';
}

tutti_status tutti_msccl_read(const char *name, const char *text, size_t nbytes, int32_t root, tutti_msccl **out,
                              tutti_failure *err)
{
    tutti_msccl *m = tutti_alloc(sizeof *m);
    m->root = root;
    m->hash = tutti_hash(text, nbytes);
    reader x = {.parser = XML_ParserCreate(NULL), .file = name, .m = m, .err = err};
    tutti_status st = read_xml(&x, text, nbytes);
    XML_ParserFree(x.parser);
    if (st == TUTTI_OK) st = msccl_trace(m, name, err);
    if (st == TUTTI_OK) st = msccl_make_schedule(m, err);
    if (st == TUTTI_OK)
        *out = m;
    else
        tutti_msccl_destroy(m);
    return st;
}

void tutti_msccl_destroy(tutti_msccl *m)
{
    if (!m) return;
    for (int32_t r = 0; r < m->ngpus && m->gpus; r++) {
        for (int32_t t = 0; t < m->gpus[r].nblocks; t++) free(m->gpus[r].blocks[t].steps);
        free(m->gpus[r].blocks);
        if (m->ranks) free(m->ranks[r].lies_in);
        if (m->ranks) free(m->ranks[r].origin);
    }
    tutti_schedule_destroy(m->schedule);
    tutti_arena_release(&m->arena);
    free(m);
}
