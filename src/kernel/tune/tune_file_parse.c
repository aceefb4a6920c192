/* SPDX-License-Identifier: Apache-2.0 */
/* tune_file_parse.c: parses the text of a tune file (tune_file.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../choose/nt_selector.h"
#include "tune_file_impl.h"

enum { MAX_WORDS = 8, HEADS = 5 };

typedef struct {
    const char *name;
    int line;
    tutti_tune_file *file;
    tutti_tune_tree *tree; /* the tree whose nodes are being read; NULL if none is open */
    unsigned heads;        /* a bit for each line of the file's head that was read */
} reader;

static tutti_status bad_line(const reader *r, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s", r->name, r->line, what);
}

/* Cuts a line into words with one blank between them. Returns the number of words; 0 if the blanks are wrong or there
 * are too many words. */
static int cut_words(char *line, char *word[MAX_WORDS])
{
    int n = 0;
    for (char *at = line; at; n++) {
        if (n == MAX_WORDS || !*at || *at == ' ') return 0;
        word[n] = at;
        at = strchr(at, ' ');
        if (at) *at++ = '\0';
    }
    return n;
}

static bool read_int(const char *text, long long least, long long most, long long *out)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    *out = strtoll(text, &end, 10);
    return !*end && *out >= least && *out <= most;
}

static bool read_real(const char *text, double *out)
{
    char *end;
    if (!strchr("-.0123456789", *text)) return false;
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

/* ---- the place where times were measured ---- */

static tutti_status read_caches(const reader *r, const char *text, tutti_failure *err)
{
    char words[96], *word[MAX_WORDS];
    snprintf(words, sizeof words, "%s", text);
    const int n = cut_words(words, word);
    long long bytes;
    for (int i = 0; i < TUTTI_PROCESSOR_LEVELS; i++) {
        if (n != TUTTI_PROCESSOR_LEVELS || !read_int(word[i], 0, INT64_C(1) << 50, &bytes))
            return bad_line(r, "caches: bytes of levels 1, 2 and 3", err);
        r->file->place.processor.cache[i] = bytes;
    }
    return TUTTI_OK;
}

/* Reads a line of the file's head: "key: text". */
static tutti_status read_head(reader *r, const char *line, tutti_failure *err)
{
    static const char *const heads[HEADS] = {"processor: ", "caches: ", "isa: ", "library: ", "threads: "};
    tutti_tune_place *p = &r->file->place;
    const struct {
        char *to;
        size_t size;
    } text[HEADS] = {{p->processor.name, sizeof p->processor.name},
                     {0},
                     {p->isa, sizeof p->isa},
                     {p->library, sizeof p->library},
                     {0}};
    int i = 0;
    while (i < HEADS && strncmp(line, heads[i], strlen(heads[i])) != 0) i++;
    if (i == HEADS)
        return bad_line(r,
                        "neither a comment nor one of processor, caches, isa, library, threads, entry, "
                        "tree, node, leaf, checksum",
                        err);
    if (r->heads >> i & 1) return bad_line(r, "said a second time", err);
    r->heads |= 1u << i;
    const char *value = line + strlen(heads[i]);
    long long n = 0;
    if (i == 1) return read_caches(r, value, err);
    if (i == 4) {
        if (!read_int(value, 1, 4096, &n)) return bad_line(r, "threads: 1 to 4096", err);
        p->nthreads = (int)n;
        return TUTTI_OK;
    }
    if (!*value || strlen(value) >= text[i].size) return bad_line(r, "no text, or one that is too long", err);
    snprintf(text[i].to, text[i].size, "%s", value);
    return TUTTI_OK;
}

/* ---- times and trees ---- */

static tutti_status read_entry(const reader *r, char **word, int n, tutti_failure *err)
{
    tutti_tuned_entry e = {
        .op = word[1], .shape = word[2], .precision = word[3], .pass = word[4], .candidate = word[5]};
    tutti_tune_file *f = r->file;
    if (n != TUTTI_TUNE_WORDS + 2 || !read_real(word[6], &e.seconds) || !(e.seconds > 0))
        return bad_line(r, "entry: op, shape, precision, pass, candidate and seconds above 0", err);
    /* entries must be sorted: then adding one is cheap, and no entry can occur twice */
    if (f->nentries && tutti_tune_entry_compare(&f->entries[f->nentries - 1], &e) >= 0)
        return bad_line(r, "an entry that stands twice, or not in its place", err);
    tutti_tune_file_add(f, &e);
    return TUTTI_OK;
}

/* Copies the names of "a,b,c". Returns their number; 0 if one is empty, occurs twice, or there are too many. */
static int read_names(tutti_arena *arena, const char *text, const char **names, int most)
{
    char *copy = tutti_arena_strdup(arena, text);
    int n = 0;
    for (char *at = copy; at; n++) {
        char *comma = strchr(at, ',');
        if (comma) *comma++ = '\0';
        if (n == most || !*at) return 0;
        for (int i = 0; i < n; i++)
            if (strcmp(names[i], at) == 0) return 0;
        names[n] = at;
        at = comma;
    }
    return n;
}

static tutti_status read_tree(reader *r, char **word, int n, tutti_failure *err)
{
    tutti_tune_file *f = r->file;
    if (n != 7 || strcmp(word[3], "ways") || strcmp(word[5], "features"))
        return bad_line(r, "tree: its name, a precision, 'ways' and their names, 'features' and theirs", err);
    if (tutti_tune_file_tree(f, word[1], word[2])) return bad_line(r, "a tree that is there already", err);
    if (f->ntrees == TUTTI_TUNE_TREES) return bad_line(r, "too many trees", err);
    tutti_tune_tree *t = &f->tree[f->ntrees];
    *t = (tutti_tune_tree){.name = tutti_arena_strdup(&f->arena, word[1]),
                           .precision = tutti_arena_strdup(&f->arena, word[2])};
    t->tree.nways = read_names(&f->arena, word[4], t->way, TUTTI_TREE_WAYS);
    t->tree.nfeatures = read_names(&f->arena, word[6], t->feature, TUTTI_TREE_FEATURES);
    if (!t->tree.nways || !t->tree.nfeatures)
        return bad_line(r, "tree: 1 to 8 ways and 1 to 16 features, no name twice", err);
    f->ntrees++;
    r->tree = t;
    return TUTTI_OK;
}

static int find_name(const char *const *names, int n, const char *wanted)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], wanted) == 0) return i;
    return -1;
}

/* Reads "node I FEATURE THRESHOLD LESS MORE" or "leaf I WAY". I must be one more than in the line before. */
static tutti_status read_node(const reader *r, char **word, int n, tutti_failure *err)
{
    long long at, less, more;
    tutti_tree_node d = {.less = -1, .more = -1};
    if (!r->tree) return bad_line(r, "a node, and no tree before it", err);
    tutti_choice_tree *t = &r->tree->tree;
    const bool is_leaf = word[0][0] == 'l';
    if (t->nnodes == TUTTI_TREE_NODES || n != (is_leaf ? 3 : 6) || !read_int(word[1], t->nnodes, t->nnodes, &at))
        return bad_line(r, "node: its number, a feature, a threshold, two numbers; leaf: its number, a way", err);
    if (is_leaf) {
        d.way = find_name(r->tree->way, t->nways, word[2]);
        if (d.way < 0) return bad_line(r, "a way that the tree does not name", err);
    } else {
        d.feature = find_name(r->tree->feature, t->nfeatures, word[2]);
        if (d.feature < 0 || !read_real(word[3], &d.threshold) || !read_int(word[4], 0, TUTTI_TREE_NODES, &less) ||
            !read_int(word[5], 0, TUTTI_TREE_NODES, &more))
            return bad_line(r, "node: a feature that the tree names, a threshold, two numbers", err);
        d.less = (int32_t)less;
        d.more = (int32_t)more;
    }
    t->node[t->nnodes++] = d;
    return TUTTI_OK;
}

/* Ends the tree whose nodes are being read: checks that they form a tree. */
static tutti_status end_tree(reader *r, tutti_failure *err)
{
    const tutti_tune_tree *t = r->tree;
    r->tree = NULL;
    if (!t) return TUTTI_OK;
    if (tutti_choice_tree_check(&t->tree, err))
        return tutti_fail_at(err, "%s: tree %s %s", r->name, t->name, t->precision);
    const bool is_nt = strcmp(t->name, TUTTI_NT_TREE) == 0;
    return is_nt && tutti_nt_check_tree(t, err) ? tutti_fail_at(err, "%s", r->name) : TUTTI_OK;
}

static tutti_status read_line(reader *r, char *line, tutti_failure *err)
{
    char *word[MAX_WORDS];
    const size_t first = strcspn(line, " ");
    const bool is_node = first == 4 && (!strncmp(line, "node", 4) || !strncmp(line, "leaf", 4));
    if (!*line || *line == '#') return TUTTI_OK;
    tutti_status st = is_node ? TUTTI_OK : end_tree(r, err);
    if (st) return st;
    const bool is_entry = !strncmp(line, "entry ", 6), is_tree = !strncmp(line, "tree ", 5);
    if (!is_entry && !is_tree && !is_node) return read_head(r, line, err);
    const int n = cut_words(line, word);
    if (n == 0) return bad_line(r, "words are apart by one blank, and there are at most eight", err);
    return is_entry ? read_entry(r, word, n, err) : is_tree ? read_tree(r, word, n, err) : read_node(r, word, n, err);
}

/* ---- checking that the file is whole ---- */

/* Checks the first line: a tune file of this version. */
static tutti_status check_version(const char *name, const char *text, tutti_failure *err)
{
    const size_t magic = strlen(TUTTI_TUNE_MAGIC);
    char *end;
    if (strncmp(text, TUTTI_TUNE_MAGIC, magic))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: no tune file: it does not begin with '%s%d'", name,
                          TUTTI_TUNE_MAGIC, TUTTI_TUNE_VERSION);
    const long version = strtol(text + magic, &end, 10);
    if (*end != '\n' || version < 1)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line 1: no version behind '%s'", name, TUTTI_TUNE_MAGIC);
    if (version != TUTTI_TUNE_VERSION)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: version %ld of a tune file, and this tutti reads %d: measure again with 'tutti tune "
                          "kernels --out FILE', or take the tutti that wrote it",
                          name, version, TUTTI_TUNE_VERSION);
    return TUTTI_OK;
}

/* Checks that the last line holds the checksum. *body becomes the number of bytes before that line. */
static tutti_status check_whole(const char *name, const char *text, size_t nbytes, size_t *body, tutti_failure *err)
{
    const size_t length = strlen(TUTTI_TUNE_CHECKSUM) + 17;
    char is[17];
    if (nbytes < length || text[nbytes - 1] != '\n' ||
        strncmp(text + nbytes - length, TUTTI_TUNE_CHECKSUM, strlen(TUTTI_TUNE_CHECKSUM)))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: cut off: it does not end with a line '%s' and 16 digits; measure again with 'tutti tune "
                          "kernels --out FILE'",
                          name, TUTTI_TUNE_CHECKSUM);
    *body = nbytes - length;
    tutti_hash_text(tutti_hash(text, *body), is);
    if (memcmp(is, text + nbytes - 17, 16))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: damaged: the checksum of what it says is %s, not %.16s; measure again with 'tutti tune "
                          "kernels --out FILE'",
                          name, is, text + nbytes - 17);
    return TUTTI_OK;
}

static tutti_status read_lines(reader *r, char *text, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (char *line = text; *line && !st; r->line++) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (r->line > 1) st = read_line(r, line, err);
        line = next;
    }
    if (!st) st = end_tree(r, err);
    if (!st && r->heads != (1u << HEADS) - 1)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: lacks one of processor, caches, isa, library, threads", r->name);
    return st;
}

tutti_status tutti_tune_file_parse(const char *name, const char *text, size_t nbytes, tutti_tune_file *out,
                                   tutti_failure *err)
{
    size_t body = 0;
    tutti_tune_file f = {0};
    if (nbytes == 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: empty; 'tutti tune kernels --out FILE' makes a tune file", name);
    tutti_status st = check_version(name, text, err);
    if (!st) st = check_whole(name, text, nbytes, &body, err);
    if (!st && memchr(text, '\0', body))
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no text: it has bytes of value 0", name);
    if (st) return st;
    char *copy = tutti_alloc(body + 1);
    memcpy(copy, text, body);
    f.checksum = tutti_hash(text, body);
    st = read_lines(&(reader){.name = name, .line = 1, .file = &f}, copy, err);
    free(copy);
    if (st)
        tutti_tune_file_release(&f);
    else
        *out = f;
    return st;
}
