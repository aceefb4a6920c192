/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c: prints and reads MANIFEST.json, the file that makes a folder a checkpoint. It is one line of JSON; its
 * last key is the hash of all bytes before it, so that a flipped bit in the manifest itself is noticed too. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/file.h"
#include "../../../base/hash.h"
#include "../../../base/text/json.h"
#include "../../../device/device_row.h"
#include "checkpoint_impl.h"

enum { FORMAT = 1, MAX_MANIFEST_BYTES = 1 << 18, SEAL_BYTES = 30 };

static const char *const devices[TUTTI_NDEVICE_KINDS] = {"cpu", "cuda"};

/* The last 30 bytes, ,"sealed":"0123456789abcdef"} and a newline, are written by hand: the hash covers all bytes before
 * them. */
static void seal_text(const char *body, size_t nbytes, char out[64])
{
    char hash[17];
    tutti_hash_text(tutti_hash(body, nbytes), hash);
    snprintf(out, 64, ",\"sealed\":\"%s\"}\n", hash);
}

static void add_hash(tutti_json *j, const char *key, uint64_t hash)
{
    char text[17];
    tutti_hash_text(hash, text);
    tutti_json_text(j, key, text);
}

char *tutti_manifest_print(const tutti_manifest *m)
{
    tutti_strbuf sb = {0};
    tutti_json j = {.out = &sb};
    tutti_json_open(&j, NULL, '{');
    tutti_json_int(&j, "format", FORMAT);
    tutti_json_int(&j, "step", m->step);
    tutti_json_int(&j, "cursor", m->cursor);
    tutti_json_int(&j, "ranks", m->nranks);
    tutti_json_real(&j, "loss", m->loss);
    tutti_json_real(&j, "loss_scale", m->scale.scale);
    tutti_json_int(&j, "clean_steps", m->scale.clean_steps);
    tutti_json_int(&j, "skipped", m->scale.skipped);
    if (m->earlier_updates) tutti_json_int(&j, "earlier_updates", m->earlier_updates);
    if (m->skips[0]) tutti_json_text(&j, "skips", m->skips);
    if (m->device) tutti_json_text(&j, "device", devices[m->device]);
    add_hash(&j, "plan", m->plan_hash);
    add_hash(&j, "weights", m->weights_hash);
    tutti_json_open(&j, "files", '[');
    for (int i = 0; i < m->nfiles; i++) {
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "name", m->files[i].name);
        tutti_json_int(&j, "bytes", m->files[i].nbytes);
        add_hash(&j, "xxh3", m->files[i].hash);
        tutti_json_close(&j, '}');
    }
    tutti_json_close(&j, ']');
    char seal[64];
    seal_text(sb.text, sb.length, seal);
    tutti_strbuf_puts(&sb, seal);
    return tutti_strbuf_detach(&sb);
}

static bool get_int(const cJSON *object, const char *key, int64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 9e15) return false;
    *out = (int64_t)item->valuedouble;
    return true;
}

static bool get_hash(const cJSON *object, const char *key, uint64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(item) || strlen(item->valuestring) != 16) return false;
    char *end;
    *out = strtoull(item->valuestring, &end, 16);
    return !*end;
}

/* True if the name is that of a rule's state, of a vector that is kept beside a centre, or of a rank's own vector:
 * "exp_avg", "exp_avg@3", "weights@12". */
static bool is_vector(const char *name, size_t n)
{
    const char *at = memchr(name, '@', n);
    if (!at) return tutti_rule_has_state(name, n) || tutti_method_has_state(name, n);
    const size_t before = (size_t)(at - name), digits = strspn(at + 1, "0123456789");
    if (digits == 0 || digits > 6 || before + 1 + digits != n) return false;
    return tutti_rule_has_state(name, before) || (before == 7 && !strncmp(name, "weights", before));
}

/* True only for names that this program writes, each once: a name that is a path could lead out of the checkpoint. */
static bool is_ours(const char *name, const tutti_manifest *m)
{
    static const char *const ours[] = {TUTTI_WEIGHTS_FILE, "job.yaml", "model.yaml", TUTTI_DATA_FILE, TUTTI_COSTS_FILE};
    const char *dot = strchr(name, '.');
    bool found = dot && !strcmp(dot, ".safetensors") && is_vector(name, (size_t)(dot - name));
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) found = found || !strcmp(name, ours[i]);
    for (int i = 0; i < m->nfiles; i++) found = found && strcmp(name, m->files[i].name) != 0;
    return found;
}

static bool get_file(const cJSON *item, tutti_manifest *m)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    if (m->nfiles == TUTTI_CHECKPOINT_MAX_FILES || !cJSON_IsString(name) || !is_ours(name->valuestring, m))
        return false;
    memcpy(m->files[m->nfiles].name, name->valuestring, strlen(name->valuestring) + 1);
    bool good = get_int(item, "bytes", &m->files[m->nfiles].nbytes);
    good = get_hash(item, "xxh3", &m->files[m->nfiles].hash) && good;
    m->nfiles++;
    return good;
}

/* Reads the text that says in which passes layers skip zeros; it is "" if none does. False: the text is not valid. */
static bool get_skips(const cJSON *root, char out[TUTTI_CHECKPOINT_SKIPS])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "skips");
    out[0] = '\0';
    if (!item) return true;
    const size_t n = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
    if (n == 0 || n >= TUTTI_CHECKPOINT_SKIPS || strspn(item->valuestring, "0123456789abcdef") != n) return false;
    memcpy(out, item->valuestring, n + 1);
    return true;
}

/* Reads the kind of device; false: it is not valid. A manifest without a device was written by the cpu. */
static bool get_device(const cJSON *root, int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "device");
    *out = TUTTI_DEVICE_CPU;
    if (!item) return true;
    for (int i = 0; i < TUTTI_NDEVICE_KINDS; i++) {
        if (!cJSON_IsString(item) || strcmp(item->valuestring, devices[i]) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

static bool get_manifest(const cJSON *root, tutti_manifest *m)
{
    int64_t nranks = 0;
    *m = (tutti_manifest){0};
    bool good = get_int(root, "step", &m->step) && get_int(root, "cursor", &m->cursor) &&
                get_int(root, "ranks", &nranks) && nranks <= INT32_MAX &&
                get_int(root, "clean_steps", &m->scale.clean_steps) && get_int(root, "skipped", &m->scale.skipped) &&
                get_hash(root, "plan", &m->plan_hash) && get_hash(root, "weights", &m->weights_hash);
    if (cJSON_HasObjectItem(root, "earlier_updates"))
        good = good && get_int(root, "earlier_updates", &m->earlier_updates);
    good = good && get_skips(root, m->skips) && get_device(root, &m->device);
    const cJSON *loss = cJSON_GetObjectItemCaseSensitive(root, "loss");
    m->loss = cJSON_IsNumber(loss) ? loss->valuedouble : (double)NAN;
    const cJSON *scale = cJSON_GetObjectItemCaseSensitive(root, "loss_scale");
    m->scale.scale = cJSON_IsNumber(scale) ? scale->valuedouble : 0;
    good = good && isfinite(m->scale.scale) && m->scale.scale > 0;
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(root, "files"), *item;
    good = good && cJSON_IsArray(files);
    if (good) cJSON_ArrayForEach(item, files) good = good && get_file(item, m);
    m->nranks = (int)nranks;
    return good;
}

static bool is_sealed(const char *text, size_t nbytes)
{
    char seal[64];
    if (nbytes < SEAL_BYTES) return false;
    seal_text(text, nbytes - SEAL_BYTES, seal);
    return strlen(seal) == SEAL_BYTES && !memcmp(text + nbytes - SEAL_BYTES, seal, SEAL_BYTES);
}

tutti_status tutti_manifest_read(const char *path, tutti_manifest *out, tutti_failure *err)
{
    char *text, *file;
    size_t nbytes;
    file = tutti_checkpoint_path("%s/" TUTTI_MANIFEST_FILE, path);
    tutti_status st = tutti_file_read(file, MAX_MANIFEST_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (!st) {
        int64_t format = 0;
        cJSON *root = is_sealed(text, nbytes) ? tutti_json_parse(text, nbytes) : NULL;
        if (!root || !get_int(root, "format", &format))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: torn or changed: its seal does not fit", file);
        else if (format != FORMAT)
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: of format %" PRId64 "; this version of tutti reads format %d",
                            file, format, FORMAT);
        else if (!get_manifest(root, out))
            st = tutti_fail(err, TUTTI_ERR_DATA, "%s: sealed, but no manifest of ours", file);
        cJSON_Delete(root);
        free(text);
    }
    free(file);
    return st;
}
