/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: opens the file of the store, runs statements with values, and ends transactions. */
#include "store.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/file.h"
#include "store_impl.h"

enum { SCHEMA = 1 };

/* Ids of jobs and events are never used a second time (AUTOINCREMENT): clients keep them. */
static const char TABLES[] =
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, name TEXT NOT NULL, kind TEXT NOT NULL,"
    " spec TEXT NOT NULL, priority INTEGER NOT NULL, stops INTEGER NOT NULL DEFAULT 0, gone INTEGER NOT NULL DEFAULT 0,"
    " state TEXT NOT NULL, live INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, code INTEGER, cause TEXT, "
    "numbers TEXT,"
    " created REAL NOT NULL, started REAL NOT NULL DEFAULT 0, ended REAL NOT NULL DEFAULT 0);"
    "CREATE INDEX jobs_live ON jobs(priority DESC, id) WHERE live OR gone;"
    "CREATE TABLE attempts(job INTEGER NOT NULL, number INTEGER NOT NULL, engine TEXT NOT NULL, handle TEXT,"
    " started REAL NOT NULL, ended REAL NOT NULL DEFAULT 0, code INTEGER, cause TEXT, PRIMARY KEY(job, number));"
    "CREATE TABLE events(id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, at REAL NOT NULL,"
    " kind TEXT NOT NULL, text TEXT NOT NULL);"
    "PRAGMA user_version = 1;";

static tutti_status fail(tutti_store *s, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "store: %.80s: %s", what, sqlite3_errmsg(s->db));
}

static tutti_status execute(tutti_store *s, const char *sql, tutti_failure *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TUTTI_OK : fail(s, sql, err);
}

/* Counts a transaction that began then. */
static void count(tutti_store *s, double begin)
{
    s->times.ntransactions++;
    s->times.seconds += tutti_clock_s() - begin;
}

/* Returns the first number that a statement without values answers; -1 = it failed. */
static int64_t number_of(tutti_store *s, const char *sql, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    int64_t number = -1;
    sqlite3_stmt *statement = tutti_store_prepare(s, err, sql, "");
    if (!statement) return -1;
    if (tutti_store_next(s, statement, &st, err)) number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static tutti_status set_up(tutti_store *s, const char *path, tutti_failure *err)
{
    sqlite3_busy_timeout(s->db, 5000);
    tutti_status st = execute(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", err);
    if (st) return st;
    const int64_t schema = number_of(s, "PRAGMA user_version", err);
    if (schema < 0) return TUTTI_ERR_FAILED;
    if (schema > SCHEMA)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: a newer version of this program made it (schema %d, this one knows %d)", path,
                          (int)schema, SCHEMA);
    if (schema == 0) {
        st = tutti_store_begin(s, err);
        if (!st) st = tutti_store_end(s, execute(s, TABLES, err), err);
    }
    if (!st)
        s->last_event = number_of(s, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'", err);
    return st || s->last_event >= 0 ? st : TUTTI_ERR_FAILED;
}

tutti_status tutti_store_open(const char *path, tutti_store **out, tutti_failure *err)
{
    int fd; /* SQLite would make the file readable to others */
    tutti_status st = tutti_file_open_to_write(path, O_CREAT | O_NOFOLLOW, &fd, err);
    if (st) return st;
    const int refused = fchmod(fd, 0600);
    close(fd);
    if (refused) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: its mode cannot be changed", path);
    tutti_store *s = tutti_alloc(sizeof *s);
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        st = fail(s, path, err);
    if (!st) st = set_up(s, path, err);
    if (st) {
        tutti_store_close(s);
        return st;
    }
    *out = s;
    return TUTTI_OK;
}

void tutti_store_close(tutti_store *s)
{
    if (!s) return;
    sqlite3_close(s->db);
    free(s);
}

/* ---- statements ---- */

sqlite3_stmt *tutti_store_prepare(tutti_store *s, tutti_failure *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(s, sql, err);
        return NULL;
    }
    va_list args;
    va_start(args, kinds);
    for (int i = 1; kinds[i - 1]; i++) {
        if (kinds[i - 1] == 'i') sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
        if (kinds[i - 1] == 'd') sqlite3_bind_double(statement, i, va_arg(args, double));
        if (kinds[i - 1] == 't') sqlite3_bind_text(statement, i, va_arg(args, const char *), -1, SQLITE_STATIC);
    }
    va_end(args);
    return statement;
}

bool tutti_store_next(tutti_store *s, sqlite3_stmt *statement, tutti_status *st, tutti_failure *err)
{
    const int got = sqlite3_step(statement);
    if (got != SQLITE_ROW && got != SQLITE_DONE) *st = fail(s, sqlite3_sql(statement), err);
    return got == SQLITE_ROW;
}

tutti_status tutti_store_finish(tutti_store *s, sqlite3_stmt *statement, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    const double begin = tutti_clock_s();
    const bool is_alone = sqlite3_get_autocommit(s->db);
    if (!statement) return TUTTI_ERR_FAILED;
    while (tutti_store_next(s, statement, &st, err)) continue;
    sqlite3_finalize(statement);
    if (is_alone) count(s, begin);
    return st;
}

const char *tutti_store_text(sqlite3_stmt *statement, int column, tutti_arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? tutti_arena_strdup(arena, text) : NULL;
}

/* ---- transactions ---- */

tutti_status tutti_store_begin(tutti_store *s, tutti_failure *err)
{
    s->begun = tutti_clock_s();
    s->new_event = s->last_event;
    return execute(s, "BEGIN IMMEDIATE", err);
}

tutti_status tutti_store_end(tutti_store *s, tutti_status st, tutti_failure *err)
{
    if (!st) st = execute(s, "COMMIT", err);
    if (st) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (!st) s->last_event = s->new_event;
    count(s, s->begun);
    return st;
}

tutti_store_times tutti_store_told(const tutti_store *s)
{
    return s->times;
}

/* ---- events ---- */

tutti_status tutti_store_add_event(tutti_store *s, const tutti_stored_event *event, tutti_failure *err)
{
    tutti_status st = TUTTI_STORE_RUN(s, err, "INSERT INTO events(job, at, kind, text) VALUES(?1, ?2, ?3, ?4)", "idtt",
                                      event->job, event->at, event->kind, event->text);
    if (st) return st;
    s->new_event = sqlite3_last_insert_rowid(s->db);
    if (s->new_event % 1024) return TUTTI_OK;
    return TUTTI_STORE_RUN(s, err, "DELETE FROM events WHERE id <= ?1", "i", s->new_event - TUTTI_STORE_EVENTS);
}

int64_t tutti_store_last_event(const tutti_store *s)
{
    return s->last_event;
}

tutti_status tutti_store_events(tutti_store *s, int64_t after, tutti_arena *arena, tutti_stored_event **out, int *n,
                                tutti_failure *err)
{
    const int limit = *n;
    tutti_status st = TUTTI_OK;
    sqlite3_stmt *statement =
        tutti_store_prepare(s, err, "SELECT id, job, at, kind, text FROM events WHERE id > ?1 ORDER BY id LIMIT ?2",
                            "ii", after, (int64_t)limit);
    if (!statement) return TUTTI_ERR_FAILED;
    tutti_stored_event *events = TUTTI_ARENA_NEW(arena, tutti_stored_event, limit + 1);
    int count = 0;
    while (count < limit && tutti_store_next(s, statement, &st, err))
        events[count++] = (tutti_stored_event){.id = sqlite3_column_int64(statement, 0),
                                               .job = sqlite3_column_int64(statement, 1),
                                               .at = sqlite3_column_double(statement, 2),
                                               .kind = tutti_store_text(statement, 3, arena),
                                               .text = tutti_store_text(statement, 4, arena)};
    sqlite3_finalize(statement);
    *out = events;
    *n = count;
    return st;
}
