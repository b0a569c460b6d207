#include "disk_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fills a file with entries, as fast as SQLite can: without indexes, which are created at the end.

static bool execute(sqlite3 *database, const char *sql) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/// Drops all indexes of `entry`, and returns their definitions. The caller frees the text.
static char *take_indexes(sqlite3 *database) {
    char *definitions = sqlite3_mprintf(""), *drops = sqlite3_mprintf("");
    sqlite3_stmt *row = prepare(
        database, "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'entry' AND sql IS NOT NULL");
    while (sqlite3_step(row) == SQLITE_ROW) {
        char *more = sqlite3_mprintf("%s%s;", definitions, sqlite3_column_text(row, 1));
        char *drop = sqlite3_mprintf("%sDROP INDEX %s;", drops, sqlite3_column_text(row, 0));
        sqlite3_free(definitions), sqlite3_free(drops);
        definitions = more, drops = drop;
    }
    sqlite3_finalize(row);
    bool is_done = execute(database, drops);
    sqlite3_free(drops);
    return is_done ? definitions : (sqlite3_free(definitions), NULL);
}

/// Creates the entry of a number, with the same key, request and URL as `Entries`.
static bool insert(sqlite3_stmt *row, sqlite3_stmt *body_row, int64_t number, size_t body_size, unsigned char *body) {
    char url[128], request[256], headers[256];
    int url_size = snprintf(
        url, sizeof url, "https://api.example.com/v1/cities?country=DE&page=%lld&perPage=50", (long long)number);
    int request_size = snprintf(request, sizeof request, "GET\n%s\naccept: application/json\n", url);
    int headers_size = snprintf(
        headers, sizeof headers, "Server: nginx\nContent-Type: application/json\nContent-Length: %zu\nETag: \"%lld\"\n",
        body_size, (long long)number);
    unsigned char key[digest_size], column[column_size(body_size)];
    memcpy(body, &number, sizeof number);
    sha256(request, (size_t)request_size, key);
    body_checksums(body, body_size, column);
    disk_peer_entry entry = {
        .key = key, .request = (unsigned char *)request, .request_size = (size_t)request_size, .status = 200,
        .stored_at = 1736236800000 + number, .has_lifetime = true, .lifetime = 3600000, .flags = 2, .duration = 20,
        .headers = (unsigned char *)headers, .headers_size = (size_t)headers_size, .body_size = body_size,
    };
    sqlite3_bind_int64(row, 1, number + 1);
    sqlite3_bind_int64(row, 2, key_prefix(key));
    sqlite3_bind_blob(row, 3, key, digest_size, SQLITE_STATIC);
    sqlite3_bind_text(row, 4, request, request_size, SQLITE_STATIC);
    sqlite3_bind_text(row, 5, url, url_size, SQLITE_STATIC);
    sqlite3_bind_blob(row, 6, headers, headers_size, SQLITE_STATIC);
    sqlite3_bind_int64(row, 7, entry.stored_at);
    sqlite3_bind_int64(row, 8, (int64_t)body_size);
    sqlite3_bind_blob(row, 9, column, (int)sizeof column, SQLITE_STATIC);
    sqlite3_bind_int64(row, 10, row_checksum(&entry, column));
    sqlite3_bind_int64(body_row, 1, (number + 1) << 20);
    sqlite3_bind_blob(body_row, 2, body, (int)body_size, SQLITE_STATIC);
    bool is_done = sqlite3_step(row) == SQLITE_DONE && sqlite3_step(body_row) == SQLITE_DONE;
    sqlite3_reset(row), sqlite3_reset(body_row);
    return is_done;
}

static bool insert_all(sqlite3 *database, int64_t count, size_t smallest, size_t largest) {
    sqlite3_stmt *row = prepare(
        database,
        "INSERT INTO entry (id, key_prefix, key, request, url, method, status, headers, stored_at, initial_age, lifetime, "
        "flags, duration, body_size, body_digest, checksum, is_visited) "
        "VALUES (?, ?, ?, ?, ?, 'GET', 200, ?, ?, 0, 3600000, 2, 20, ?, ?, ?, 1)");
    sqlite3_stmt *body_row = prepare(database, "INSERT INTO body (id, bytes) VALUES (?, ?)");
    unsigned char *body = calloc(1, largest + sizeof(int64_t));
    bool is_done = row && body_row && body;
    // Sizes in random order, so that the index over them has work to do.
    for (int64_t number = 0; is_done && number < count; number++) {
        size_t spread = (size_t)((uint64_t)number * 0x9E3779B97F4A7C15u >> 32) % (largest - smallest + 1);
        is_done = insert(row, body_row, number, smallest + spread, body);
    }
    free(body);
    sqlite3_finalize(row), sqlite3_finalize(body_row);
    return is_done;
}

bool fill_peer_fill(const char *path, int64_t count, size_t smallest, size_t largest) {
    sqlite3 *database = open_database(path, false);
    if (!database) return false;
    bool is_set = execute(
        database, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
                  "PRAGMA cache_size = -400000; PRAGMA secure_delete = OFF; BEGIN");
    char *indexes = is_set ? take_indexes(database) : NULL;
    bool is_done = indexes && insert_all(database, count, smallest, largest) && execute(database, indexes) &&
                   execute(database, "COMMIT; PRAGMA journal_mode = WAL");
    sqlite3_free(indexes);
    sqlite3_close_v2(database);
    return is_done;
}
