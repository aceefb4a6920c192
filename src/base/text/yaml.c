/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c: parses YAML: the events of libyaml become a tree. Job and model files need no aliases, anchors, tags or
 * several documents. These are refused, because they can make a file mean something else than it seems to. Limits on
 * depth and nodes bound the memory that a hostile file can take. */
#include "yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "../arena.h"

enum { MAX_DEPTH = 32, MAX_NODES = 100000, MAX_KEYS = 1000 };

struct tutti_yaml {
    const char *name;
    tutti_yaml_node *root;
    tutti_arena arena;
};

typedef struct {
    tutti_yaml *y;
    yaml_parser_t *parser;
    tutti_failure *err;
    tutti_yaml_node *open[MAX_DEPTH], *last[MAX_DEPTH]; /* open: the containers that are not closed yet; last: the
                                                         * newest child of each */
    const char *key[MAX_DEPTH]; /* for each open map: the key that was read and whose value comes next */
    int depth, nnodes;
    bool stream_done, seen_document;
} reader;

static tutti_status refuse(reader *r, const yaml_event_t *event, const char *words)
{
    return tutti_fail(r->err, TUTTI_ERR_USAGE, "%s: line %zu: %s", r->y->name, event->start_mark.line + 1, words);
}

static tutti_yaml_node *node_create(reader *r, const yaml_event_t *event, tutti_yaml_kind kind)
{
    tutti_yaml_node *node = TUTTI_ARENA_NEW(&r->y->arena, tutti_yaml_node, 1);
    node->kind = kind;
    node->line = (int)event->start_mark.line + 1;
    return node;
}

/* Puts a node into the tree: as the root, as an item of a list, or as the value of the key that was read last. */
static tutti_status attach(reader *r, const yaml_event_t *event, tutti_yaml_node *node)
{
    if (++r->nnodes > MAX_NODES) return refuse(r, event, "more than 100,000 nodes");
    if (r->depth == 0) {
        r->y->root = node;
        return TUTTI_OK;
    }
    int top = r->depth - 1;
    tutti_yaml_node *parent = r->open[top];
    if (parent->kind == TUTTI_YAML_MAP) {
        if (!r->key[top]) return refuse(r, event, "a key must be plain text");
        if (parent->nchildren == MAX_KEYS) return refuse(r, event, "more than 1,000 keys in one map");
        if (tutti_yaml_get(parent, r->key[top]))
            return tutti_fail(r->err, TUTTI_ERR_USAGE, "%s: line %d: the key '%s' is given a second time", r->y->name,
                              node->line, r->key[top]);
        node->key = r->key[top];
        r->key[top] = NULL;
    }
    if (r->last[top])
        r->last[top]->next = node;
    else
        parent->child = node;
    r->last[top] = node;
    parent->nchildren++;
    return TUTTI_OK;
}

static tutti_status open_container(reader *r, const yaml_event_t *event, tutti_yaml_kind kind, const void *anchor,
                                   const void *tag)
{
    if (anchor || tag) return refuse(r, event, "anchors and tags are not used here; write the value out");
    if (r->depth == MAX_DEPTH) return refuse(r, event, "nested deeper than 32 levels");
    tutti_yaml_node *node = node_create(r, event, kind);
    tutti_status st = attach(r, event, node);
    if (st != TUTTI_OK) return st;
    r->open[r->depth] = node;
    r->last[r->depth] = NULL;
    r->key[r->depth] = NULL;
    r->depth++;
    return TUTTI_OK;
}

static tutti_status take_scalar(reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    if (event->data.scalar.anchor || event->data.scalar.tag)
        return refuse(r, event, "anchors and tags are not used here; write the value out");
    if (strlen(text) != event->data.scalar.length) return refuse(r, event, "a text may not contain a zero byte");
    if (r->depth && r->open[r->depth - 1]->kind == TUTTI_YAML_MAP && !r->key[r->depth - 1]) {
        r->key[r->depth - 1] = tutti_arena_strdup(&r->y->arena, text);
        return TUTTI_OK;
    }
    tutti_yaml_node *node = node_create(r, event, TUTTI_YAML_SCALAR);
    node->scalar = tutti_arena_strdup(&r->y->arena, text);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return attach(r, event, node);
}

static tutti_status take_event(reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return take_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(r, event, TUTTI_YAML_LIST, event->data.sequence_start.anchor,
                              event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_container(r, event, TUTTI_YAML_MAP, event->data.mapping_start.anchor,
                              event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: r->depth--; return TUTTI_OK;
    case YAML_ALIAS_EVENT: return refuse(r, event, "aliases are not used here; write the value out");
    case YAML_DOCUMENT_START_EVENT:
        if (r->seen_document) return refuse(r, event, "a second document ('---'); one file holds one");
        r->seen_document = true;
        return TUTTI_OK;
    case YAML_STREAM_END_EVENT: r->stream_done = true; return TUTTI_OK;
    default: return TUTTI_OK;
    }
}

static tutti_status read_events(reader *r)
{
    tutti_status st = TUTTI_OK;
    while (st == TUTTI_OK && !r->stream_done) {
        yaml_event_t event;
        if (!yaml_parser_parse(r->parser, &event))
            return tutti_fail(r->err, TUTTI_ERR_USAGE, "%s: line %zu: not YAML: %s", r->y->name,
                              r->parser->problem_mark.line + 1,
                              r->parser->problem ? r->parser->problem : "out of memory");
        st = take_event(r, &event);
        yaml_event_delete(&event);
    }
    return st;
}

tutti_status tutti_yaml_parse(const char *name, const char *text, size_t nbytes, tutti_yaml **out, tutti_failure *err)
{
    tutti_yaml *y = tutti_alloc(sizeof *y);
    y->name = tutti_arena_strdup(&y->arena, name);
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        tutti_yaml_destroy(y);
        return tutti_fail(err, TUTTI_ERR_FAILED, "%s: no memory for the YAML parser", name);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, nbytes);
    reader r = {.y = y, .parser = &parser, .err = err};
    tutti_status st = read_events(&r);
    yaml_parser_delete(&parser);
    if (st != TUTTI_OK) {
        tutti_yaml_destroy(y);
        return st;
    }
    if (!y->root) {
        y->root = TUTTI_ARENA_NEW(&y->arena, tutti_yaml_node, 1);
        y->root->kind = TUTTI_YAML_MAP;
        y->root->line = 1;
    }
    *out = y;
    return TUTTI_OK;
}

const tutti_yaml_node *tutti_yaml_root(const tutti_yaml *y)
{
    return y->root;
}

const char *tutti_yaml_name(const tutti_yaml *y)
{
    return y->name;
}

void tutti_yaml_destroy(tutti_yaml *y)
{
    if (!y) return;
    tutti_arena_release(&y->arena);
    free(y);
}

const tutti_yaml_node *tutti_yaml_get(const tutti_yaml_node *map, const char *key)
{
    if (!map || map->kind != TUTTI_YAML_MAP) return NULL;
    for (const tutti_yaml_node *child = map->child; child; child = child->next)
        if (!strcmp(child->key, key)) return child;
    return NULL;
}
