#include "peers.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// The SHA-256 that swift-crypto links into this program (BoringSSL's, with the processor's instructions): both sides
// hash with the same code.
extern unsigned char *CCryptoBoringSSL_SHA256(const unsigned char *data, size_t size, unsigned char *digest);

struct disk_peer {
    sqlite3 *database;
    sqlite3_stmt *find;
};

static const char find_sql[] =
    "SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, body_size, body_digest, bytes "
    "FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575 "
    "WHERE key_prefix = ? ORDER BY body.id";

static const char settings[] =
    "PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0; PRAGMA synchronous = NORMAL; "
    "PRAGMA temp_store = MEMORY;";

disk_peer *disk_peer_open(const char *path) {
    disk_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    if (sqlite3_open_v2(path, &peer->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(peer->database, 5000) != SQLITE_OK ||
        sqlite3_db_config(peer->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(peer->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_exec(peer->database, settings, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v3(peer->database, find_sql, sizeof find_sql, SQLITE_PREPARE_PERSISTENT, &peer->find, NULL) !=
            SQLITE_OK) {
        disk_peer_close(peer);
        return NULL;
    }
    return peer;
}

void disk_peer_close(disk_peer *peer) {
    sqlite3_finalize(peer->find);
    sqlite3_close_v2(peer->database);
    free(peer);
}

void disk_peer_free(disk_peer_entry *entry) {
    free(entry->headers);
    free(entry->body);
}

static bool is_same(sqlite3_stmt *row, int column, const unsigned char *bytes, size_t size) {
    const void *stored = sqlite3_column_blob(row, column);
    return (size_t)sqlite3_column_bytes(row, column) == size && memcmp(stored, bytes, size) == 0;
}

static unsigned char *copy(sqlite3_stmt *row, int column, size_t *size) {
    const void *stored = sqlite3_column_blob(row, column);
    *size = (size_t)sqlite3_column_bytes(row, column);
    unsigned char *bytes = malloc(*size ? *size : 1);
    if (bytes && *size) memcpy(bytes, stored, *size);
    return bytes;
}

static int64_t prefix(const unsigned char *key) {
    uint64_t value;
    memcpy(&value, key, sizeof value);
    return (int64_t)__builtin_bswap64(value);
}

/// The whole body from its chunks, the first of which is in the row.
static unsigned char *body(sqlite3_stmt *row, size_t size) {
    size_t count = 0;
    unsigned char *bytes = copy(row, 10, &count);
    if (!bytes || count >= size) return count == size ? bytes : (free(bytes), NULL);
    unsigned char *grown = realloc(bytes, size);
    if (!grown) return free(bytes), NULL;
    while (sqlite3_step(row) == SQLITE_ROW) {
        const void *chunk = sqlite3_column_blob(row, 10);
        size_t more = (size_t)sqlite3_column_bytes(row, 10);
        if (more > size - count) break;
        memcpy(grown + count, chunk, more);
        count += more;
    }
    return count == size ? grown : (free(grown), NULL);
}

static bool read_entry(sqlite3_stmt *row, disk_peer_entry *entry) {
    unsigned char digest[32], stored_digest[32];
    if (sqlite3_column_bytes(row, 9) != sizeof digest) return false;
    memcpy(stored_digest, sqlite3_column_blob(row, 9), sizeof digest);
    entry->status = sqlite3_column_int64(row, 2);
    entry->headers = copy(row, 3, &entry->headers_size);
    entry->stored_at = sqlite3_column_int64(row, 4);
    entry->initial_age = sqlite3_column_int64(row, 5);
    entry->has_lifetime = sqlite3_column_type(row, 6) != SQLITE_NULL;
    entry->lifetime = sqlite3_column_int64(row, 6);
    entry->flags = sqlite3_column_int64(row, 7);
    entry->body_size = (size_t)sqlite3_column_int64(row, 8);
    entry->body = body(row, entry->body_size);
    if (!entry->body) return disk_peer_free(entry), false;
    CCryptoBoringSSL_SHA256(entry->body, entry->body_size, digest);
    if (memcmp(digest, stored_digest, sizeof digest) == 0) return true;
    return disk_peer_free(entry), false;
}

bool disk_peer_get(disk_peer *peer, const unsigned char *key, const unsigned char *request, size_t request_size,
                   disk_peer_entry *entry) {
    sqlite3_bind_int64(peer->find, 1, prefix(key));
    bool found = sqlite3_step(peer->find) == SQLITE_ROW && is_same(peer->find, 0, key, 32) &&
                 is_same(peer->find, 1, request, request_size) && read_entry(peer->find, entry);
    sqlite3_reset(peer->find);
    return found;
}
