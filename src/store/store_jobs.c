/* SPDX-License-Identifier: Apache-2.0 */
/* store_jobs.c: adds, reads, lists, moves and removes jobs and attempts in the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_impl.h"

/* The columns of a job; SPEC: "spec", or "NULL" where nobody reads it. */
#define COLUMNS(SPEC)                                                                                                  \
    "id, key, name, kind, " SPEC ", priority, stops, gone, state, live, attempt, code, cause, numbers, created, "      \
    "started, ended, (SELECT handle FROM attempts WHERE job = jobs.id AND number = jobs.attempt)"

static void read_job(sqlite3_stmt *row, tutti_arena *arena, tutti_stored_job *out)
{
    *out = (tutti_stored_job){
        .id = sqlite3_column_int64(row, 0),
        .key = tutti_store_text(row, 1, arena),
        .name = tutti_store_text(row, 2, arena),
        .kind = tutti_store_text(row, 3, arena),
        .spec = tutti_store_text(row, 4, arena),
        .priority = sqlite3_column_int(row, 5),
        .stops = sqlite3_column_int(row, 6),
        .is_gone = sqlite3_column_int(row, 7),
        .state = tutti_store_text(row, 8, arena),
        .is_live = sqlite3_column_int(row, 9),
        .attempt = sqlite3_column_int(row, 10),
        .has_code = sqlite3_column_type(row, 11) != SQLITE_NULL,
        .code = sqlite3_column_int(row, 11),
        .cause = tutti_store_text(row, 12, arena),
        .numbers = tutti_store_text(row, 13, arena),
        .created = sqlite3_column_double(row, 14),
        .started = sqlite3_column_double(row, 15),
        .ended = sqlite3_column_double(row, 16),
        .handle = tutti_store_text(row, 17, arena),
    };
}

/* Reads all rows of a statement that answers COLUMNS, and finalises it. */
static tutti_status read_jobs(tutti_store *s, sqlite3_stmt *statement, tutti_arena *arena, tutti_stored_job **out,
                              int *n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_stored_job *jobs = NULL;
    int count = 0, capacity = 0;
    if (!statement) return TUTTI_ERR_FAILED;
    while (tutti_store_next(s, statement, &st, err)) {
        jobs = tutti_grow(jobs, count, &capacity, sizeof *jobs);
        read_job(statement, arena, &jobs[count++]);
    }
    sqlite3_finalize(statement);
    *n = count;
    *out = TUTTI_ARENA_NEW(arena, tutti_stored_job, count + 1);
    if (count) memcpy(*out, jobs, sizeof *jobs * (size_t)count);
    free(jobs);
    return st;
}

static tutti_status tell_state(tutti_store *s, int64_t job, double at, const char *state, tutti_failure *err)
{
    return tutti_store_add_event(s, &(tutti_stored_event){.job = job, .at = at, .kind = "state", .text = state}, err);
}

/* ---- adding and reading ---- */

static tutti_status find_key(tutti_store *s, const char *key, int64_t *id, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    *id = 0;
    if (!key) return TUTTI_OK;
    sqlite3_stmt *found = tutti_store_prepare(s, err, "SELECT id FROM jobs WHERE key = ?1", "t", key);
    if (!found) return TUTTI_ERR_FAILED;
    if (tutti_store_next(s, found, &st, err)) *id = sqlite3_column_int64(found, 0);
    sqlite3_finalize(found);
    return st;
}

tutti_status tutti_store_add(tutti_store *s, const tutti_stored_job *from, int64_t *id, bool *is_new,
                             tutti_failure *err)
{
    int64_t found = 0;
    tutti_status st = tutti_store_begin(s, err);
    if (st) return st;
    st = find_key(s, from->key, &found, err);
    if (!st && !found)
        st = TUTTI_STORE_RUN(s, err,
                             "INSERT INTO jobs(key, name, kind, spec, priority, created, state, live)"
                             " VALUES(?1, ?2, ?3, ?4, ?5, ?6, 'queued', 1)",
                             "ttttid", from->key, from->name, from->kind, from->spec, (int64_t)from->priority,
                             from->created);
    const int64_t added = sqlite3_last_insert_rowid(s->db);
    if (!st && !found) st = tell_state(s, added, from->created, "queued", err);
    st = tutti_store_end(s, st, err);
    if (st) return st;
    *id = found ? found : added;
    *is_new = !found;
    return TUTTI_OK;
}

tutti_status tutti_store_get(tutti_store *s, int64_t id, tutti_arena *arena, tutti_stored_job *out, bool *found,
                             tutti_failure *err)
{
    tutti_stored_job *jobs;
    int n;
    tutti_status st =
        read_jobs(s, tutti_store_prepare(s, err, "SELECT " COLUMNS("spec") " FROM jobs WHERE id = ?1", "i", id), arena,
                  &jobs, &n, err);
    if (st) return st;
    *found = n == 1;
    if (n) *out = jobs[0];
    return TUTTI_OK;
}

tutti_status tutti_store_list(tutti_store *s, const tutti_store_filter *filter, tutti_arena *arena,
                              tutti_stored_job **out, int *n, tutti_failure *err)
{
    const int64_t before = filter->after > 0 ? filter->after : INT64_MAX;
    sqlite3_stmt *statement =
        tutti_store_prepare(s, err,
                            "SELECT " COLUMNS("spec") " FROM jobs WHERE id < ?1 AND NOT gone AND "
                                                      "(?2 IS NULL OR state = ?2) ORDER BY id DESC LIMIT ?3",
                            "iti", before, filter->state, (int64_t)filter->limit);
    return read_jobs(s, statement, arena, out, n, err);
}

tutti_status tutti_store_list_live(tutti_store *s, tutti_arena *arena, tutti_stored_job **out, int *n,
                                   tutti_failure *err)
{
    sqlite3_stmt *statement = tutti_store_prepare(
        s, err, "SELECT " COLUMNS("NULL") " FROM jobs WHERE live OR gone ORDER BY priority DESC, id", "");
    return read_jobs(s, statement, arena, out, n, err);
}

tutti_status tutti_store_attempts(tutti_store *s, int64_t job, tutti_arena *arena, tutti_stored_attempt **out, int *n,
                                  tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_stored_attempt *attempts = NULL;
    int count = 0, capacity = 0;
    sqlite3_stmt *row = tutti_store_prepare(s, err,
                                            "SELECT number, engine, handle, cause, code, started, ended FROM attempts "
                                            "WHERE job = ?1 ORDER BY number",
                                            "i", job);
    if (!row) return TUTTI_ERR_FAILED;
    while (tutti_store_next(s, row, &st, err)) {
        attempts = tutti_grow(attempts, count, &capacity, sizeof *attempts);
        attempts[count++] = (tutti_stored_attempt){
            .number = sqlite3_column_int(row, 0),
            .engine = tutti_store_text(row, 1, arena),
            .handle = tutti_store_text(row, 2, arena),
            .cause = tutti_store_text(row, 3, arena),
            .has_code = sqlite3_column_type(row, 4) != SQLITE_NULL,
            .code = sqlite3_column_int(row, 4),
            .started = sqlite3_column_double(row, 5),
            .ended = sqlite3_column_double(row, 6),
        };
    }
    sqlite3_finalize(row);
    *n = count;
    *out = TUTTI_ARENA_NEW(arena, tutti_stored_attempt, count + 1);
    if (count) memcpy(*out, attempts, sizeof *attempts * (size_t)count);
    free(attempts);
    return st;
}

tutti_status tutti_store_count(tutti_store *s, void (*take)(void *arg, const char *state, int64_t n), void *arg,
                               tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    sqlite3_stmt *row = tutti_store_prepare(s, err, "SELECT state, count(*) FROM jobs GROUP BY state", "");
    if (!row) return TUTTI_ERR_FAILED;
    while (tutti_store_next(s, row, &st, err))
        take(arg, (const char *)sqlite3_column_text(row, 0), sqlite3_column_int64(row, 1));
    sqlite3_finalize(row);
    return st;
}

/* ---- changing ---- */

tutti_status tutti_store_begin_attempt(tutti_store *s, int64_t job, const char *engine, double at, int *number,
                                       tutti_failure *err)
{
    tutti_status st = tutti_store_begin(s, err);
    if (st) return st;
    st = TUTTI_STORE_RUN(s, err,
                         "UPDATE jobs SET attempt = attempt + 1, state = 'placing', started = ?2, code = NULL, "
                         "cause = NULL, ended = 0 WHERE id = ?1 AND state = 'queued' AND NOT gone",
                         "id", job, at);
    if (!st && sqlite3_changes(s->db) != 1)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "job %lld is not in the queue", (long long)job);
    if (!st)
        st = TUTTI_STORE_RUN(s, err,
                             "INSERT INTO attempts(job, number, engine, started) "
                             "SELECT id, attempt, ?2, ?3 FROM jobs WHERE id = ?1",
                             "itd", job, engine, at);
    if (!st) st = tell_state(s, job, at, "placing", err);
    sqlite3_stmt *row = st ? NULL : tutti_store_prepare(s, err, "SELECT attempt FROM jobs WHERE id = ?1", "i", job);
    if (row && tutti_store_next(s, row, &st, err)) *number = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return tutti_store_end(s, st ? st : row ? TUTTI_OK : TUTTI_ERR_FAILED, err);
}

tutti_status tutti_store_keep_handle(tutti_store *s, int64_t job, int number, const char *handle, tutti_failure *err)
{
    return TUTTI_STORE_RUN(s, err, "UPDATE attempts SET handle = ?3 WHERE job = ?1 AND number = ?2", "iit", job,
                           (int64_t)number, handle);
}

static tutti_status write_change(tutti_store *s, const tutti_store_change *c, bool *changed, tutti_failure *err)
{
    char code[24];
    snprintf(code, sizeof code, "%d", c->code); /* as a text, it may be NULL; the column makes a number of it */
    const char *kept = c->has_code ? code : NULL;
    const double ended = c->is_live ? 0 : c->at;
    tutti_status st = TUTTI_STORE_RUN(
        s, err,
        "UPDATE jobs SET state = ?3, live = ?4, code = ?5, cause = ?6, ended = ?7, "
        "numbers = coalesce(?8, numbers) WHERE id = ?1 AND (?2 = 0 OR attempt = ?2) AND live",
        "iitittdt", c->job, (int64_t)c->attempt, c->state, (int64_t)c->is_live, kept, c->cause, ended, c->numbers);
    *changed = !st && sqlite3_changes(s->db) == 1;
    if (!*changed) return st;
    if (c->attempt && !c->is_live)
        st = TUTTI_STORE_RUN(s, err,
                             "UPDATE attempts SET ended = ?3, code = ?4, cause = ?5 WHERE job = ?1 AND number = ?2",
                             "iidtt", c->job, (int64_t)c->attempt, ended, kept, c->cause);
    return st ? st : tell_state(s, c->job, c->at, c->state, err);
}

tutti_status tutti_store_move(tutti_store *s, const tutti_store_change *change, bool *changed, tutti_failure *err)
{
    *changed = false;
    tutti_status st = tutti_store_begin(s, err);
    if (st) return st;
    return tutti_store_end(s, write_change(s, change, changed, err), err);
}

tutti_status tutti_store_ask_stop(tutti_store *s, int64_t job, int stops, tutti_failure *err)
{
    return TUTTI_STORE_RUN(s, err, "UPDATE jobs SET stops = max(stops, ?2) WHERE id = ?1 AND live", "ii", job,
                           (int64_t)stops);
}

tutti_status tutti_store_requeue(tutti_store *s, int64_t job, double at, tutti_failure *err)
{
    tutti_status st = tutti_store_begin(s, err);
    if (st) return st;
    st = TUTTI_STORE_RUN(s, err,
                         "UPDATE jobs SET state = 'queued', live = 1, stops = 0, code = NULL, cause = NULL, "
                         "ended = 0 WHERE id = ?1 AND NOT live AND NOT gone",
                         "i", job);
    if (!st && sqlite3_changes(s->db) == 1) st = tell_state(s, job, at, "queued", err);
    return tutti_store_end(s, st, err);
}

tutti_status tutti_store_mark_gone(tutti_store *s, int64_t job, tutti_failure *err)
{
    return TUTTI_STORE_RUN(s, err, "UPDATE jobs SET gone = 1, key = NULL WHERE id = ?1 AND NOT live", "i", job);
}

tutti_status tutti_store_remove(tutti_store *s, int64_t job, double at, tutti_failure *err)
{
    tutti_status st = tutti_store_begin(s, err);
    if (st) return st;
    st = TUTTI_STORE_RUN(s, err, "DELETE FROM attempts WHERE job = ?1", "i", job);
    if (!st) st = TUTTI_STORE_RUN(s, err, "DELETE FROM jobs WHERE id = ?1", "i", job);
    const tutti_stored_event event = {.job = job, .at = at, .kind = "state", .text = "removed"};
    if (!st) st = tutti_store_add_event(s, &event, err);
    return tutti_store_end(s, st, err);
}
