/* SPDX-License-Identifier: Apache-2.0 */
/* submission.c: writes what is submitted to the job server: a resolved job with its model file, or a command with its
 * folder. Nothing that the user edits later changes it. */
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/host/program.h"
#include "../../base/text/json.h"
#include "../../job/job_fields.h"
#include "../../job/run/seat.h"
#include "../train/train_cmd.h"
#include "serve_cmd.h"

enum { MOST_BODY = 1 << 20, MOST_NAME = 128 }; /* the server takes no longer ones */

/* The name of the model file beside the job in the server's folder. The job names it relative to itself. */
static const char MODEL_OVERRIDE[] = "model=model.yaml";

/* The members that both kinds have. */
typedef struct {
    char *name; /* as the user says, or after the file */
    tutti_train_ranks ranks;
    long threads, priority, max_restarts;
} common;

/* Returns the name that the user gives, or the last part of a path without the ending, cut to what the server takes. */
static char *choose_name(const tutti_flags *f, const char *path, const char *ending)
{
    const char *given = tutti_cli_value(f, "name", NULL), *slash = strrchr(path, '/');
    const char *name = given ? given : slash ? slash + 1 : path;
    size_t n = strlen(name), m = given ? 0 : strlen(ending);
    tutti_strbuf out = {0};
    if (n > m && !strcmp(name + n - m, ending)) n -= m;
    if (n > MOST_NAME) n = MOST_NAME;
    while (n && ((unsigned char)name[n] & 0xc0) == 0x80) n--; /* a character of UTF-8 stays whole */
    tutti_strbuf_add(&out, name, n);
    return tutti_strbuf_detach(&out);
}

static tutti_status read_common(const tutti_flags *f, common *out, tutti_failure *err)
{
    const char *name = tutti_cli_value(f, "name", NULL);
    tutti_status st = tutti_cli_int(f, "priority", (tutti_cli_range){-1000, 1000}, 0, &out->priority, err);
    if (!st) st = tutti_train_max_restarts(f, &out->max_restarts, err);
    bool is_plain = true;
    for (const char *at = name ? name : ""; *at; at++) is_plain = is_plain && (unsigned char)*at >= ' ' && *at != 127;
    if (!st && name && (!*name || strlen(name) > MOST_NAME || !is_plain))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--name: a name has 1 to %d bytes, and no control characters", MOST_NAME);
    return st;
}

static void write_common(const common *c, const char *kind, tutti_json *j)
{
    tutti_json_text(j, "name", c->name);
    tutti_json_text(j, "kind", kind);
    tutti_json_open(j, "ranks", '{');
    tutti_json_int(j, "min", c->ranks.min);
    tutti_json_int(j, "max", c->ranks.max);
    tutti_json_close(j, '}');
    tutti_json_int(j, "threads", c->threads);
    tutti_json_int(j, "priority", c->priority);
    tutti_json_int(j, "max_restarts", c->max_restarts);
}

static tutti_status check_size(const tutti_strbuf *body, tutti_failure *err)
{
    if (body->length <= MOST_BODY) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "the submission has %zu bytes; the server takes at most %d", body->length,
                      MOST_BODY);
}

/* JSON can hold only UTF-8; another text would arrive changed. */
static tutti_status check_utf8(const char *what, const char *text, tutti_failure *err)
{
    return tutti_text_is_utf8(text) ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "%s '%s' is not UTF-8", what, text);
}

/* ---- a job ---- */

/* Loads the job with the largest number of ranks that it may have, as `tutti train` does. */
static tutti_status load_job(const tutti_flags *f, const char *path, common *c, tutti_job **out, tutti_failure *err)
{
    tutti_flags with = *f;
    const int row = tutti_cli_row(f, "ranks");
    char text[24];
    tutti_status st = tutti_train_range(f, 0, &c->ranks, err);
    if (st) return st;
    snprintf(text, sizeof text, "%ld", c->ranks.max);
    if (with.count[row]) with.value[row][0] = text;
    st = tutti_cli_load_job(&with, path, out, err);
    if (st) return st;
    if (!c->ranks.max) c->ranks.min = c->ranks.max = (long)(*out)->ranks;
    c->threads = (long)(*out)->threads;
    if (c->ranks.min == c->ranks.max || !tutti_seat_is_partitioned(*out)) return TUTTI_OK;
    st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: binds a fixed number of ranks; it cannot go with a range of ranks",
                    (*out)->said_partition);
    tutti_job_destroy(*out);
    return st;
}

/* Returns the text of the job with another model file. */
static tutti_status print_with_model(const tutti_job *job, const char *path, char **out, tutti_failure *err)
{
    const char *const overrides[] = {MODEL_OVERRIDE};
    char *text = tutti_job_print(job);
    tutti_job *changed = NULL;
    const tutti_status st = tutti_job_parse(path, text, strlen(text), overrides, 1, &changed, err);
    free(text);
    if (st) return st;
    *out = tutti_job_print(changed);
    tutti_job_destroy(changed);
    return TUTTI_OK;
}

/* Reads the job's text, and its model's if that is a file: *model is NULL otherwise. */
static tutti_status read_texts(const tutti_job *job, const char *path, char **text, char **model, tutti_failure *err)
{
    size_t nbytes;
    *model = NULL;
    if (!strchr(job->model, '/')) { /* a model that comes with the program; paths are absolute here */
        *text = tutti_job_print(job);
        return TUTTI_OK;
    }
    tutti_status st = tutti_file_read(job->model, MOST_BODY, TUTTI_ERR_USAGE, model, &nbytes, err);
    if (!st) st = print_with_model(job, path, text, err);
    if (st) free(*model);
    return st;
}

tutti_status tutti_submission_of_job(const tutti_flags *f, const char *path, tutti_strbuf *body, tutti_failure *err)
{
    common c = {0};
    tutti_job *job = NULL;
    tutti_json j = {body, false};
    char *text, *model;
    if (tutti_cli_has(f, "threads"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--threads is for commands; a job has the key threads: --set threads=N");
    tutti_status st = read_common(f, &c, err);
    if (!st) st = load_job(f, path, &c, &job, err);
    if (st) return st;
    st = read_texts(job, path, &text, &model, err);
    tutti_job_destroy(job);
    if (st) return st;
    c.name = choose_name(f, path, ".yaml");
    st = check_utf8("the name", c.name, err);
    if (!st) st = check_utf8("the job", text, err);
    if (!st && model) st = check_utf8("the model file", model, err);
    if (!st) {
        tutti_json_open(&j, NULL, '{');
        write_common(&c, "train", &j);
        tutti_json_text(&j, "job", text);
        if (model) tutti_json_text(&j, "model", model);
        tutti_json_close(&j, '}');
        st = check_size(body, err);
    }
    free(c.name);
    free(text);
    free(model);
    return st;
}

/* ---- a command ---- */

static tutti_status write_command(const common *c, char *const *argv, const char *folder, tutti_strbuf *body,
                                  tutti_failure *err)
{
    tutti_json j = {body, false};
    /* found here, so that it means the same in the server's environment */
    char *program = tutti_program_find(argv[0]);
    if (!program) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: no such program, or it may not be run", argv[0]);
    tutti_status st = check_utf8("the program", program, err);
    if (!st) st = check_utf8("the folder", folder, err);
    for (int i = 1; argv[i] && !st; i++) st = check_utf8("the argument", argv[i], err);
    tutti_json_open(&j, NULL, '{');
    write_common(c, "command", &j);
    tutti_json_open(&j, "argv", '[');
    tutti_json_text(&j, NULL, program);
    for (int i = 1; argv[i]; i++) tutti_json_text(&j, NULL, argv[i]);
    tutti_json_close(&j, ']');
    tutti_json_text(&j, "folder", folder);
    tutti_json_close(&j, '}');
    free(program);
    return st ? st : check_size(body, err);
}

tutti_status tutti_submission_of_command(const tutti_flags *f, char *const *argv, tutti_strbuf *body,
                                         tutti_failure *err)
{
    static const char *const of_jobs[] = {"set", "max-restarts", NULL};
    common c = {0};
    const char *other = tutti_cli_first(f, of_jobs);
    char *folder = realpath(".", NULL);
    tutti_status st = TUTTI_OK;
    if (other) st = tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for jobs; it cannot go with a command", other);
    if (!st && !folder) st = tutti_fail(err, TUTTI_ERR_FAILED, "the working folder is gone");
    if (!st) st = read_common(f, &c, err);
    if (!st) st = tutti_train_range(f, 1, &c.ranks, err);
    if (!st && c.ranks.min != c.ranks.max)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--ranks: a command takes one number, no range");
    if (!st) st = tutti_cli_int(f, "threads", (tutti_cli_range){1, TUTTI_JOB_MAX_THREADS}, 1, &c.threads, err);
    c.name = choose_name(f, argv[0], "");
    if (!st) st = check_utf8("the name", c.name, err);
    if (!st) st = write_command(&c, argv, folder, body, err);
    free(c.name);
    free(folder);
    return st;
}
