/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_constants.c: the constants of a measured table's machine, as YAML in and out. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/text/options.h"
#include "ddl_table.h"

enum { MAX_BYTES = 1 << 20 };

static const tutti_field heads[] = {
    {"made_by", TUTTI_FIELD_TEXT, offsetof(tutti_ddl_constants, made_by), "", NULL, 1, 0, "the command"},
    {"source", TUTTI_FIELD_TEXT, offsetof(tutti_ddl_constants, source), "", NULL, 1, 0, "of the rows"},
    {"model", TUTTI_FIELD_TEXT, offsetof(tutti_ddl_constants, model), NULL, NULL, 1, 0, "whose rows were fitted"},
    {"adam", TUTTI_FIELD_TEXT, offsetof(tutti_ddl_constants, adam), "", NULL, 1, 0, "networks that it trains"},
    {"adam_us", TUTTI_FIELD_REAL, offsetof(tutti_ddl_constants, adam_us), "0", NULL, 0, 1e6, "a tensor, by Adam"},
    {"gpus_per_node", TUTTI_FIELD_INT, offsetof(tutti_ddl_constants, gpus_per_node), NULL, NULL, 1, 1024, "GPUs"},
};
static const tutti_field fields[] = {
    {"name", TUTTI_FIELD_TEXT, offsetof(tutti_ddl_network, name), NULL, NULL, 1, 0, "of the connection"},
    {"line", TUTTI_FIELD_REAL, offsetof(tutti_ddl_network, line), NULL, NULL, 1e3, 1e15, "rate of the wire, bytes/s"},
    {"efficiency", TUTTI_FIELD_REAL, offsetof(tutti_ddl_network, efficiency), NULL, NULL, 1e-6, 10, "of a ring"},
    {"hop_us", TUTTI_FIELD_REAL, offsetof(tutti_ddl_network, hop_us), NULL, NULL, 0, 1e6, "of a step of a ring"},
    {"server_efficiency", TUTTI_FIELD_REAL, offsetof(tutti_ddl_network, server_efficiency), NULL, NULL, 1e-6, 10,
     "of parameter servers"},
};
static const tutti_field_table head_table = {heads, sizeof heads / sizeof heads[0]};
static const tutti_field_table table = {fields, sizeof fields / sizeof fields[0]};

static tutti_status fail_at(const char *name, const tutti_yaml_node *node, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: %s", name, node->line, what);
}

static tutti_status take_network(const char *name, const tutti_yaml_node *node, tutti_ddl_constants *c,
                                 tutti_ddl_network *out, tutti_failure *err)
{
    if (!node || node->kind != TUTTI_YAML_MAP)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s: line %d: wants a network: name, line, efficiency, hop_us, "
                          "server_efficiency",
                          name, node ? node->line : 1);
    return tutti_options_read(&table, name, node, NULL, 0, &c->arena, out, err);
}

/* The heads one by one: beside them stand maps and a list. */
static tutti_status take_heads(const char *name, const tutti_yaml_node *root, tutti_ddl_constants *c,
                               tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (const tutti_yaml_node *n = root->child; n && !st; n = n->next) {
        char where[300];
        if (!strcmp(n->key, "inside") || !strcmp(n->key, "networks")) continue;
        if (n->kind != TUTTI_YAML_SCALAR) return fail_at(name, n, "wants one value", err);
        snprintf(where, sizeof where, "%.200s: line %d", name, n->line);
        st = tutti_options_set(&head_table, where, n->key, n->scalar, &c->arena, c, err);
    }
    if (!st && (!c->model || c->gpus_per_node < 1)) st = fail_at(name, root, "model or gpus_per_node is missing", err);
    return st;
}

static tutti_status take_all(const char *name, const tutti_yaml_node *root, tutti_ddl_constants *c, tutti_failure *err)
{
    if (root->kind != TUTTI_YAML_MAP) return fail_at(name, root, "wants keys and values", err);
    tutti_status st = take_heads(name, root, c, err);
    if (!st) st = take_network(name, tutti_yaml_get(root, "inside"), c, &c->inside, err);
    const tutti_yaml_node *list = st ? NULL : tutti_yaml_get(root, "networks");
    if (!st && (!list || list->kind != TUTTI_YAML_LIST)) st = fail_at(name, root, "networks is missing", err);
    for (const tutti_yaml_node *n = list ? list->child : NULL; n && !st; n = n->next) {
        if (c->nnetworks == TUTTI_DDL_NETWORKS) return fail_at(name, n, "more than 8 networks", err);
        st = take_network(name, n, c, &c->networks[c->nnetworks], err);
        if (!st && tutti_ddl_network_find(c, c->networks[c->nnetworks].name) >= 0)
            st = fail_at(name, n, "a network above has this name too", err);
        c->nnetworks++;
    }
    return st;
}

tutti_status tutti_ddl_constants_parse(const char *name, const char *text, size_t nbytes, tutti_ddl_constants *out,
                                       tutti_failure *err)
{
    tutti_yaml *yaml;
    tutti_ddl_constants c = {0};
    tutti_status st = tutti_yaml_parse(name, text, nbytes, &yaml, err);
    if (st) return st;
    st = take_all(name, tutti_yaml_root(yaml), &c, err);
    tutti_yaml_destroy(yaml);
    if (st)
        tutti_ddl_constants_release(&c);
    else
        *out = c;
    return st;
}

tutti_status tutti_ddl_constants_read(const char *path, tutti_ddl_constants *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MAX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st) return st;
    st = tutti_ddl_constants_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

static void print_network(const tutti_ddl_network *n, const char *first, const char *indent, tutti_strbuf *out)
{
    tutti_strbuf_printf(
        out, "%sname: \"%s\"\n%sline: %.6g\n%sefficiency: %.4g\n%shop_us: %.4g\n%sserver_efficiency: %.4g\n", first,
        n->name, indent, n->line, indent, n->efficiency, indent, n->hop_us, indent, n->server_efficiency);
}

void tutti_ddl_constants_print(const tutti_ddl_constants *c, tutti_strbuf *out)
{
    tutti_strbuf_printf(
        out,
        "# line: bytes/s of the wire; efficiency: share of it that a ring reached, server_efficiency: that parameter "
        "servers "
        "did;\n# hop_us: a step of the ring; adam: networks that Adam trains, by the scripts of the rows; adam_us: a "
        "tensor "
        "that it updates,\n# behind the last exchange. All but line and adam are fitted, on rows of these models "
        "alone.\n"
        "made_by: \"%s\"\nsource: \"%s\"\nmodel: \"%s\"\nadam: \"%s\"\nadam_us: %.4g\ngpus_per_node: %lld\ninside:\n",
        c->made_by ? c->made_by : "", c->source ? c->source : "", c->model, c->adam ? c->adam : "", c->adam_us,
        (long long)c->gpus_per_node);
    print_network(&c->inside, "  ", "  ", out);
    tutti_strbuf_puts(out, "networks:\n");
    for (int i = 0; i < c->nnetworks; i++) print_network(&c->networks[i], "  - ", "    ", out);
}

void tutti_ddl_constants_release(tutti_ddl_constants *c)
{
    tutti_arena_release(&c->arena);
    *c = (tutti_ddl_constants){0};
}
