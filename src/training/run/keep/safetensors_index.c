/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_index.c: reads NAME.safetensors.index.json. An index is not trusted: names that lead elsewhere, tensors
 * that occur twice, and lists instead of names are refused before any other file is opened. */
#include "safetensors_index.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/text/json.h"

enum { MAX_FILES = 4096 };

struct tutti_safetensors_index {
    cJSON *root;           /* the parsed index, which owns all texts */
    const cJSON **tensors; /* entries, sorted by name; string: the tensor's name, valuestring: its file */
    const char **files;    /* names of the files, sorted, each once */
    int n, nfiles;
};

static int by_tensor(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_file_name(const char *file)
{
    static const char ending[] = ".safetensors";
    const size_t n = strlen(file), after = sizeof ending - 1;
    return n > after && !strcmp(file + n - after, ending) && !strchr(file, '/') && file[0] != '.';
}

static tutti_status take_entry(tutti_safetensors_index *x, const char *name, const cJSON *entry, tutti_failure *err)
{
    if (!cJSON_IsString(entry))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: weight_map: '%s' must have the name of a file", name,
                          entry->string);
    if (!is_file_name(entry->valuestring))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: weight_map: '%s' is in '%s', which is not the name of a .safetensors file in the same "
                          "folder",
                          name, entry->string, entry->valuestring);
    x->files[x->n] = entry->valuestring;
    x->tensors[x->n++] = entry;
    return TUTTI_OK;
}

static tutti_status sort_entries(tutti_safetensors_index *x, const char *name, tutti_failure *err)
{
    qsort(x->tensors, (size_t)x->n, sizeof *x->tensors, by_tensor);
    qsort(x->files, (size_t)x->n, sizeof *x->files, by_text);
    for (int i = 1; i < x->n; i++)
        if (!strcmp(x->tensors[i - 1]->string, x->tensors[i]->string))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: weight_map: '%s' is there twice", name, x->tensors[i]->string);
    for (int i = 0; i < x->n; i++)
        if (i == 0 || strcmp(x->files[i], x->files[x->nfiles - 1]) != 0) x->files[x->nfiles++] = x->files[i];
    x->files[x->nfiles] = NULL;
    if (x->nfiles > MAX_FILES)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %d files; at most %d are read", name, x->nfiles, MAX_FILES);
    return TUTTI_OK;
}

static tutti_status take_map(tutti_safetensors_index *x, const char *name, tutti_failure *err)
{
    const cJSON *map = NULL;
    for (const cJSON *field = x->root->child; field; field = field->next) {
        if (strcmp(field->string, "weight_map") != 0) continue;
        if (map) return tutti_fail(err, TUTTI_ERR_DATA, "%s: weight_map is there twice", name);
        map = field;
    }
    if (!cJSON_IsObject(map) || !map->child)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: no weight_map of tensors and files: this is not an index", name);
    const size_t n = (size_t)cJSON_GetArraySize(map);
    x->tensors = tutti_alloc(sizeof *x->tensors * n);
    x->files = tutti_alloc(sizeof *x->files * (n + 1));
    tutti_status st = TUTTI_OK;
    for (const cJSON *entry = map->child; entry && !st; entry = entry->next) st = take_entry(x, name, entry, err);
    return st ? st : sort_entries(x, name, err);
}

tutti_status tutti_safetensors_index_parse(const char *name, const char *text, size_t nbytes,
                                           tutti_safetensors_index **out, tutti_failure *err)
{
    tutti_safetensors_index *x = tutti_alloc(sizeof *x);
    x->root = tutti_json_parse(text, nbytes);
    tutti_status st = cJSON_IsObject(x->root)
                          ? take_map(x, name, err)
                          : tutti_fail(err, TUTTI_ERR_DATA, "%s: is not a JSON object, or a NUL stands in it", name);
    if (st)
        tutti_safetensors_index_destroy(x);
    else
        *out = x;
    return st;
}

const char *tutti_safetensors_index_file(const tutti_safetensors_index *x, int i)
{
    return i < x->nfiles ? x->files[i] : NULL;
}

int tutti_safetensors_index_count(const tutti_safetensors_index *x)
{
    return x->n;
}

const char *tutti_safetensors_index_tensor(const tutti_safetensors_index *x, int i, const char **file)
{
    *file = x->tensors[i]->valuestring;
    return x->tensors[i]->string;
}

const char *tutti_safetensors_index_find(const tutti_safetensors_index *x, const char *tensor)
{
    for (int low = 0, high = x->n; low < high;) {
        const int middle = low + (high - low) / 2, order = strcmp(tensor, x->tensors[middle]->string);
        if (order == 0) return x->tensors[middle]->valuestring;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void tutti_safetensors_index_destroy(tutti_safetensors_index *x)
{
    if (!x) return;
    cJSON_Delete(x->root);
    free(x->tensors);
    free(x->files);
    free(x);
}
