/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec.c: reads submissions from JSON, checks each field, and prints them again. */
#include "job_spec.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum { MOST_NAME = 128, MOST_ARGUMENTS = 4096, MOST_RANKS = 4096, MOST_PRIORITY = 1000000 };

static const char *const KEYS[] = {"name",   "kind",  "job",     "model",    "argv",
                                   "folder", "ranks", "threads", "priority", "max_restarts"};

static bool is_known(const char *key)
{
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (!strcmp(KEYS[i], key)) return true;
    return false;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Reads a text. Absent or null: *out is unchanged. */
static tutti_status read_text(const cJSON *root, const char *key, tutti_arena *arena, const char **out,
                              tutti_failure *err)
{
    const cJSON *item = get(root, key);
    if (!item || cJSON_IsNull(item)) return TUTTI_OK;
    if (!cJSON_IsString(item)) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a text is wanted", key);
    *out = tutti_arena_strdup(arena, item->valuestring);
    return TUTTI_OK;
}

static tutti_status read_int(const cJSON *root, const char *key, int lo, int hi, int *out, tutti_failure *err)
{
    const cJSON *item = get(root, key);
    if (!item || cJSON_IsNull(item)) return TUTTI_OK;
    const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (!(value >= lo && value <= hi && value == floor(value)))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a whole number from %d to %d is wanted", key, lo, hi);
    *out = (int)value;
    return TUTTI_OK;
}

static tutti_status read_ranks(const cJSON *root, tutti_job_spec *out, tutti_failure *err)
{
    const cJSON *ranks = get(root, "ranks");
    if (!ranks || cJSON_IsNull(ranks)) return TUTTI_OK;
    if (!cJSON_IsObject(ranks)) return tutti_fail(err, TUTTI_ERR_USAGE, "ranks: {\"min\":N,\"max\":M} is wanted");
    tutti_status st = read_int(ranks, "min", 1, MOST_RANKS, &out->least, err);
    out->most = out->least;
    if (!st) st = read_int(ranks, "max", 1, MOST_RANKS, &out->most, err);
    if (st) return tutti_fail_at(err, "ranks");
    return out->most >= out->least ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "ranks: max is less than min");
}

static tutti_status read_argv(const cJSON *root, tutti_arena *arena, tutti_job_spec *out, tutti_failure *err)
{
    const cJSON *list = get(root, "argv"), *item;
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (n < 1 || n > MOST_ARGUMENTS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "argv: a list of 1 to %d texts is wanted", MOST_ARGUMENTS);
    const char **argv = TUTTI_ARENA_NEW(arena, const char *, n + 1);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item)) return tutti_fail(err, TUTTI_ERR_USAGE, "argv: each item is a text");
        argv[out->nargv++] = tutti_arena_strdup(arena, item->valuestring);
    }
    out->argv = argv;
    if (!*argv[0]) return tutti_fail(err, TUTTI_ERR_USAGE, "argv: the program's name is empty");
    return TUTTI_OK;
}

static tutti_status check_name(const char *name, tutti_failure *err)
{
    const size_t n = strlen(name);
    if (n < 1 || n > MOST_NAME) return tutti_fail(err, TUTTI_ERR_USAGE, "name: 1 to %d bytes are wanted", MOST_NAME);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return tutti_fail(err, TUTTI_ERR_USAGE, "name: control characters are not allowed");
    return TUTTI_OK;
}

/* Reads the keys that only one of the two kinds of jobs has, and refuses those of the other kind. */
static tutti_status read_kind(const cJSON *root, const char *kind, tutti_arena *arena, tutti_job_spec *out,
                              tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    out->is_train = !strcmp(kind, "train");
    if (!out->is_train && strcmp(kind, "command"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "kind: \"train\" or \"command\" is wanted");
    const char *const foreign[2][2] = {{"job", "model"}, {"argv", "folder"}};
    for (int i = 0; i < 2; i++) {
        const cJSON *item = get(root, foreign[out->is_train][i]);
        if (item && !cJSON_IsNull(item))
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: not for the kind \"%s\"", item->string, kind);
    }
    if (out->is_train) {
        st = read_text(root, "job", arena, &out->job, err);
        if (!st && (!out->job || !*out->job)) st = tutti_fail(err, TUTTI_ERR_USAGE, "job: the job's YAML is wanted");
        if (!st) st = read_text(root, "model", arena, &out->model, err);
        return st;
    }
    st = read_argv(root, arena, out, err);
    if (!st) st = read_text(root, "folder", arena, &out->folder, err);
    if (!st && (!out->folder || *out->folder != '/'))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "folder: an absolute path is wanted");
    return st;
}

static tutti_status read_root(const cJSON *root, tutti_arena *arena, tutti_job_spec *out, tutti_failure *err)
{
    const cJSON *item;
    const char *kind = "";
    *out = (tutti_job_spec){.name = "job", .least = 1, .most = 1, .threads = 1};
    if (!cJSON_IsObject(root)) return tutti_fail(err, TUTTI_ERR_USAGE, "the body is no JSON object");
    cJSON_ArrayForEach(item, root)
    {
        if (!is_known(item->string)) return tutti_fail(err, TUTTI_ERR_USAGE, "%.60s: unknown key", item->string);
    }
    tutti_status st = read_text(root, "kind", arena, &kind, err);
    if (!st) st = read_kind(root, kind, arena, out, err);
    if (!st) st = read_text(root, "name", arena, &out->name, err);
    if (!st) st = check_name(out->name, err);
    if (!st) st = read_ranks(root, out, err);
    if (!st) st = read_int(root, "threads", 1, MOST_RANKS, &out->threads, err);
    if (!st) st = read_int(root, "priority", -MOST_PRIORITY, MOST_PRIORITY, &out->priority, err);
    if (!st) st = read_int(root, "max_restarts", 0, MOST_PRIORITY, &out->max_restarts, err);
    return st;
}

tutti_status tutti_job_spec_read(const char *text, size_t nbytes, tutti_arena *arena, tutti_job_spec *out,
                                 tutti_failure *err)
{
    cJSON *root = tutti_json_parse(text, nbytes);
    tutti_status st =
        root ? read_root(root, arena, out, err) : tutti_fail(err, TUTTI_ERR_USAGE, "the body is no valid JSON");
    cJSON_Delete(root);
    return st;
}

const char *tutti_job_spec_kind(const tutti_job_spec *spec)
{
    return spec->is_train ? "train" : "command";
}

void tutti_job_spec_print(const tutti_job_spec *spec, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "name", spec->name);
    tutti_json_text(&j, "kind", tutti_job_spec_kind(spec));
    if (spec->is_train) tutti_json_text(&j, "job", spec->job);
    if (spec->model) tutti_json_text(&j, "model", spec->model);
    if (!spec->is_train) {
        tutti_json_open(&j, "argv", '[');
        for (int i = 0; i < spec->nargv; i++) tutti_json_text(&j, NULL, spec->argv[i]);
        tutti_json_close(&j, ']');
        tutti_json_text(&j, "folder", spec->folder);
    }
    tutti_json_open(&j, "ranks", '{');
    tutti_json_int(&j, "min", spec->least);
    tutti_json_int(&j, "max", spec->most);
    tutti_json_close(&j, '}');
    tutti_json_int(&j, "threads", spec->threads);
    tutti_json_int(&j, "priority", spec->priority);
    tutti_json_int(&j, "max_restarts", spec->max_restarts);
    tutti_json_close(&j, '}');
}
