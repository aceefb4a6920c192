/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h: a YAML file as a read-only tree that remembers lines, so that errors can name them.
 *
 * Built on libyaml. Aliases, anchors, tags and several documents are refused; duplicate keys are refused; depth is at
 * most 32, nodes at most 100,000. Scalars are kept as text; the readers of base/text/options.h give them types.
 * Threads: any may read what was parsed. */
#ifndef TUTTI_BASE_YAML_H
#define TUTTI_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "tutti/failure.h"

typedef enum { TUTTI_YAML_SCALAR, TUTTI_YAML_LIST, TUTTI_YAML_MAP } tutti_yaml_kind;

typedef struct tutti_yaml_node {
    tutti_yaml_kind kind;
    int line;                      /* number of the line in the file, from 1 */
    const char *key;               /* in a map: this child's key, else NULL */
    const char *scalar;            /* TUTTI_YAML_SCALAR: the text, else NULL */
    bool quoted;                   /* true if the scalar was written in quotes */
    struct tutti_yaml_node *child; /* first item of a list, or first entry of a map */
    struct tutti_yaml_node *next;  /* next item or entry of the same list or map */
    int nchildren;
} tutti_yaml_node;

typedef struct tutti_yaml tutti_yaml;

/* Parses a file. name: used in messages ("job.yaml: line 4: ..."). Failures are TUTTI_ERR_USAGE. */
tutti_status tutti_yaml_parse(const char *name, const char *text, size_t nbytes, tutti_yaml **out, tutti_failure *err);
const tutti_yaml_node *tutti_yaml_root(const tutti_yaml *y); /* never NULL; an empty file is an empty map */
const char *tutti_yaml_name(const tutti_yaml *y);
void tutti_yaml_destroy(tutti_yaml *y);

/* Returns the child of a map by key, or NULL. */
const tutti_yaml_node *tutti_yaml_get(const tutti_yaml_node *map, const char *key);

#endif
