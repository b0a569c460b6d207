#include "disk_peer.h"

#include <stdlib.h>
#include <string.h>

// The SHA-256 that swift-crypto links into this program (BoringSSL's, with the processor's instructions): both sides
// hash with the same code.
typedef struct {
    uint32_t state[8], low, high;
    uint8_t data[64];
    unsigned count, length;
} sha256_state;

extern unsigned char *CCryptoBoringSSL_SHA256(const unsigned char *data, size_t size, unsigned char *digest);
extern int CCryptoBoringSSL_SHA256_Init(sha256_state *state);
extern int CCryptoBoringSSL_SHA256_Update(sha256_state *state, const void *data, size_t size);
extern int CCryptoBoringSSL_SHA256_Final(unsigned char *digest, sha256_state *state);

void sha256(const void *bytes, size_t size, unsigned char *digest) { CCryptoBoringSSL_SHA256(bytes, size, digest); }

void body_checksums(const unsigned char *body, size_t size, unsigned char *column) {
    *column++ = 4;
    for (size_t start = 0; start < size; start += chunk_size, column += checksum_size) {
        uint64_t checksum = diamond_xxh3(body + start, size - start < chunk_size ? size - start : chunk_size);
        memcpy(column, &checksum, checksum_size);
    }
}

int64_t row_checksum(const disk_peer_entry *entry, const unsigned char *column) {
    const int64_t numbers[] = {
        (int64_t)entry->request_size, (int64_t)entry->headers_size, entry->status, entry->stored_at,
        entry->initial_age, entry->has_lifetime ? entry->lifetime : -1, entry->flags & 7,
        entry->duration, (int64_t)entry->body_size,
    };
    sha256_state state;
    CCryptoBoringSSL_SHA256_Init(&state);
    CCryptoBoringSSL_SHA256_Update(&state, entry->key, digest_size);
    CCryptoBoringSSL_SHA256_Update(&state, entry->request, entry->request_size);
    CCryptoBoringSSL_SHA256_Update(&state, entry->headers, entry->headers_size);
    CCryptoBoringSSL_SHA256_Update(&state, column, column_size(entry->body_size));
    CCryptoBoringSSL_SHA256_Update(&state, numbers, sizeof numbers);
    unsigned char digest[digest_size];
    CCryptoBoringSSL_SHA256_Final(digest, &state);
    int64_t checksum;
    memcpy(&checksum, digest, sizeof checksum);
    return checksum;
}

int64_t key_prefix(const unsigned char *key) {
    uint64_t value;
    memcpy(&value, key, sizeof value);
    return (int64_t)__builtin_bswap64(value);
}

// --- Connections ----------------------------------------------------------------------------------------------------

static const char settings[] =
    "PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0; PRAGMA synchronous = NORMAL; "
    "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;";

sqlite3 *open_database(const char *path, bool is_read_only) {
    sqlite3 *database = NULL;
    int mode = is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (sqlite3_open_v2(path, &database, mode | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(database, 5000) == SQLITE_OK &&
        sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
        sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
        sqlite3_exec(database, settings, NULL, NULL, NULL) == SQLITE_OK)
        return database;
    sqlite3_close_v2(database);
    return NULL;
}

sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    return statement;
}

// --- Reading --------------------------------------------------------------------------------------------------------

struct disk_peer {
    sqlite3 *database;
    sqlite3_stmt *find;
    bool is_checked;
};

static const char find_sql[] =
    "SELECT key, request, status, headers, stored_at, initial_age, lifetime, flags, duration, body_size,\n"
    "    iif(body.id & 1048575, NULL, body_digest), entry.checksum, is_visited, body.checksum, bytes\n"
    "FROM entry LEFT JOIN body ON body.id BETWEEN entry.id << 20 AND (entry.id << 20) + 1048575\n"
    "WHERE key_prefix = ? AND variant = 0 AND is_partial = 0 ORDER BY body.id";

disk_peer *disk_peer_open(const char *path, bool is_checked) {
    disk_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    peer->is_checked = is_checked;
    peer->database = open_database(path, true);
    if (peer->database) peer->find = prepare(peer->database, find_sql);
    if (peer->find) return peer;
    disk_peer_close(peer);
    return NULL;
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

static bool is_same(sqlite3_stmt *row, int column, const void *bytes, size_t size) {
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

/// Appends the chunks of a body after the first `count` bytes.
static bool read_chunks(sqlite3_stmt *row, disk_peer_entry *entry, size_t count) {
    unsigned char *grown = realloc(entry->body, entry->body_size);
    if (!grown) return false;
    entry->body = grown;
    while (count < entry->body_size && sqlite3_step(row) == SQLITE_ROW) {
        const void *chunk = sqlite3_column_blob(row, 14);
        size_t more = (size_t)sqlite3_column_bytes(row, 14);
        if (more > entry->body_size - count) return false;
        memcpy(grown + count, chunk, more);
        count += more;
    }
    return count == entry->body_size;
}

static bool read_body(sqlite3_stmt *row, disk_peer_entry *entry) {
    size_t count = 0;
    entry->body = copy(row, 14, &count);
    if (!entry->body) return false;
    return count < entry->body_size ? read_chunks(row, entry, count) : count == entry->body_size;
}

static bool is_sound(const disk_peer_entry *entry, const unsigned char *column) {
    unsigned char own[column_size(entry->body_size)];
    body_checksums(entry->body, entry->body_size, own);
    return memcmp(own, column, sizeof own) == 0;
}

static bool read_entry(sqlite3_stmt *row, disk_peer_entry *entry, bool is_checked) {
    entry->status = sqlite3_column_int64(row, 2);
    entry->stored_at = sqlite3_column_int64(row, 4);
    entry->initial_age = sqlite3_column_int64(row, 5);
    entry->has_lifetime = sqlite3_column_type(row, 6) != SQLITE_NULL;
    entry->lifetime = sqlite3_column_int64(row, 6);
    entry->flags = sqlite3_column_int64(row, 7);
    entry->duration = sqlite3_column_int64(row, 8);
    entry->body_size = (size_t)sqlite3_column_int64(row, 9);
    entry->is_visited = sqlite3_column_int64(row, 12) != 0;
    entry->headers = copy(row, 3, &entry->headers_size);
    // Copied, because the next step of the statement overwrites it.
    size_t size;
    unsigned char *column = copy(row, 10, &size);
    bool is_right = entry->headers && column && size == column_size(entry->body_size);
    if (is_right && is_checked) is_right = row_checksum(entry, column) == sqlite3_column_int64(row, 11);
    is_right = is_right && read_body(row, entry) && (!is_checked || is_sound(entry, column));
    free(column);
    if (!is_right) disk_peer_free(entry);
    return is_right;
}

bool disk_peer_get(disk_peer *peer, disk_peer_entry *entry) {
    sqlite3_bind_int64(peer->find, 1, key_prefix(entry->key));
    bool found = sqlite3_step(peer->find) == SQLITE_ROW && is_same(peer->find, 0, entry->key, digest_size) &&
                 is_same(peer->find, 1, entry->request, entry->request_size) &&
                 read_entry(peer->find, entry, peer->is_checked);
    sqlite3_reset(peer->find);
    return found;
}
