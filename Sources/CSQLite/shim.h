#ifndef CDIAMOND_SQLITE_SHIM_H
#define CDIAMOND_SQLITE_SHIM_H

#include <sqlite3.h>

// Swift cannot call C variadics, and imports neither function-pointer casts nor variadic macros.

/// Turns checkpointing at the last close off (or on), so that closing never touches the database file.
static inline int diamond_sqlite3_no_checkpoint_on_close(sqlite3 *database, int on) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on, (int *)0);
}

/// Refuses SQL that could corrupt the file (`writable_schema`, shadow-table writes).
static inline int diamond_sqlite3_defensive(sqlite3 *database, int on) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, on, (int *)0);
}

/// Plans statements without regard to the bound values (SQLite's query planner stability guarantee).
static inline int diamond_sqlite3_stable_plans(sqlite3 *database, int on) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_QPSG, on, (int *)0);
}

/// Binds bytes that stay valid until the statement's bindings are cleared: no copy is made.
static inline int diamond_sqlite3_bind_blob_static(sqlite3_stmt *s, int index, const void *bytes, sqlite3_uint64 n) {
    return sqlite3_bind_blob64(s, index, bytes, n, SQLITE_STATIC);
}

/// Binds bytes that SQLite copies.
static inline int diamond_sqlite3_bind_blob_copy(sqlite3_stmt *s, int index, const void *bytes, sqlite3_uint64 n) {
    return sqlite3_bind_blob64(s, index, bytes, n, SQLITE_TRANSIENT);
}

/// Binds UTF-8 text that stays valid until the statement's bindings are cleared: no copy is made.
static inline int diamond_sqlite3_bind_text_static(sqlite3_stmt *s, int index, const void *text, sqlite3_uint64 n) {
    return sqlite3_bind_text64(s, index, (const char *)text, n, SQLITE_STATIC, SQLITE_UTF8);
}

/// Binds UTF-8 text that SQLite copies.
static inline int diamond_sqlite3_bind_text_copy(sqlite3_stmt *s, int index, const void *text, sqlite3_uint64 n) {
    return sqlite3_bind_text64(s, index, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

#endif
