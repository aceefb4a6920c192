/* SPDX-License-Identifier: Apache-2.0 */
/* store_impl.h: what the files of the store share: statements with values, and transactions. */
#ifndef TUTTI_STORE_IMPL_H
#define TUTTI_STORE_IMPL_H

#include <sqlite3.h>

#include "store.h"

struct tutti_store {
    sqlite3 *db;
    int64_t last_event, new_event; /* new_event: of the transaction at hand, which may be taken back */
    tutti_store_times times;
    double begun; /* when the transaction at hand began */
};

/* Prepares a statement and binds the values that follow `kinds`, one letter each: 'i' int64_t, 'd' double, 't' text or
 * NULL. Texts must live as long as the statement. NULL and a failure: it could not be prepared. */
sqlite3_stmt *tutti_store_prepare(tutti_store *s, tutti_failure *err, const char *sql, const char *kinds, ...);
/* Takes the next row. False at the end, and after a failure, which is in *st. */
bool tutti_store_next(tutti_store *s, sqlite3_stmt *statement, tutti_status *st, tutti_failure *err);
/* Runs a prepared statement to its end and finalises it; NULL: it could not be prepared. Outside tutti_store_begin and
 * tutti_store_end it is a transaction of its own. */
tutti_status tutti_store_finish(tutti_store *s, sqlite3_stmt *statement, tutti_failure *err);
#define TUTTI_STORE_RUN(s, err, ...) tutti_store_finish((s), tutti_store_prepare((s), (err), __VA_ARGS__), (err))

tutti_status tutti_store_begin(tutti_store *s, tutti_failure *err);
/* Ends a transaction: commits it if st is TUTTI_OK, else takes everything back. Returns st, or the commit's failure. */
tutti_status tutti_store_end(tutti_store *s, tutti_status st, tutti_failure *err);
/* Adds an event inside a transaction. */
tutti_status tutti_store_add_event(tutti_store *s, const tutti_stored_event *event, tutti_failure *err);

const char *tutti_store_text(sqlite3_stmt *statement, int column, tutti_arena *arena); /* a copy; NULL stays NULL */

#endif
