#include "disk_peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The statements are Diamond's.

static const char insert_sql[] =
    "INSERT INTO entry (key_prefix, key, request, url, method, identity, status, headers, stored_at, initial_age,\n"
    "    lifetime, flags, duration, body_size, body_digest, checksum)\n"
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)\n"
    "ON CONFLICT (key_prefix, variant, is_partial) DO NOTHING";

static const char replace_sql[] =
    "UPDATE entry SET request = ?3, method = ?5, status = ?7, headers = ?8, stored_at = ?9, initial_age = ?10,\n"
    "    lifetime = ?11, flags = ?12 | (flags & 16), duration = ?13, body_size = ?14, body_digest = ?15,\n"
    "    checksum = ?16, is_visited = 1\n"
    "WHERE key_prefix = ?1 AND variant = 0 AND is_partial = 0 AND key = ?2 AND url = ?4 AND identity IS ?6";

static const char count_sql[] =
    "UPDATE hour SET hits = hits + 0, stale_hits = stale_hits + 0, revalidations = revalidations + 0,\n"
    "    misses = misses + 0, stores = stores + ?, evictions = evictions + 0, bytes_served = bytes_served + 0,\n"
    "    time_saved = time_saved + 0\n"
    "WHERE hour = ?";

static const char insert_hour_sql[] = "INSERT INTO hour VALUES (?, 0, 0, 0, 0, ?, 0, 0, 0)";

static const char facts_sql[] =
    "SELECT (SELECT value FROM fact WHERE name = 'shift'), (SELECT value FROM fact WHERE name = 'capacity'),\n"
    "    EXISTS (SELECT 1 FROM fact WHERE name = 'recording')";

enum { statement_count = 12, checkpoint_length = 1000 };

struct store_peer {
    sqlite3 *database, *checkpointer;
    union {
        struct {
            sqlite3_stmt *begin, *commit, *rollback, *insert, *replace, *find, *delete_body, *delete_tags, *insert_body, *count,
                *insert_hour, *facts;
        };
        sqlite3_stmt *statements[statement_count];
    };
    int log_length;
    disk_peer_entry *entries;
    size_t prepared, capacity, group;

    bool is_handed, is_gathering, is_closing, has_failed;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news, done;
    size_t added, written;
};

static int watch_log(void *context, sqlite3 *database, const char *name, int pages) {
    (void)database, (void)name;
    ((store_peer *)context)->log_length = pages;
    return SQLITE_OK;
}

// --- One transaction ------------------------------------------------------------------------------------------------

static bool run(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    return sqlite3_reset(statement) == SQLITE_OK && code == SQLITE_DONE;
}

static int64_t integer(sqlite3_stmt *statement) {
    int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return value;
}

static bool run_with(sqlite3_stmt *statement, const disk_peer_entry *entry, const unsigned char *column) {
    sqlite3_bind_int64(statement, 1, key_prefix(entry->key));
    sqlite3_bind_blob(statement, 2, entry->key, digest_size, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, (const char *)entry->request, (int)entry->request_size, SQLITE_STATIC);
    sqlite3_bind_text(statement, 4, entry->url, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 5, entry->method, -1, SQLITE_STATIC);
    sqlite3_bind_null(statement, 6);
    sqlite3_bind_int64(statement, 7, entry->status);
    sqlite3_bind_blob(statement, 8, entry->headers, (int)entry->headers_size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 9, entry->stored_at);
    sqlite3_bind_int64(statement, 10, entry->initial_age);
    if (entry->has_lifetime)
        sqlite3_bind_int64(statement, 11, entry->lifetime);
    else
        sqlite3_bind_null(statement, 11);
    sqlite3_bind_int64(statement, 12, entry->flags);
    sqlite3_bind_int64(statement, 13, entry->duration);
    sqlite3_bind_int64(statement, 14, (int64_t)entry->body_size);
    sqlite3_bind_blob(statement, 15, column, (int)column_size(entry->body_size), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 16, row_checksum(entry, column));
    return run(statement);
}

static bool upsert(store_peer *peer, const disk_peer_entry *entry, const unsigned char *column, int64_t *id,
                   bool *is_new) {
    bool is_done = run_with(peer->insert, entry, column);
    *is_new = sqlite3_changes64(peer->database) > 0;
    *id = sqlite3_last_insert_rowid(peer->database);
    if (!is_done || *is_new) return is_done;
    if (!run_with(peer->replace, entry, column)) return false;
    sqlite3_bind_int64(peer->find, 1, key_prefix(entry->key));
    *id = integer(peer->find);
    return *id != 0;
}

static bool delete_old(store_peer *peer, int64_t id) {
    sqlite3_bind_int64(peer->delete_body, 1, id << 20);
    sqlite3_bind_int64(peer->delete_body, 2, ((id + 1) << 20) - 1);
    sqlite3_bind_int64(peer->delete_tags, 1, id);
    return run(peer->delete_body) && run(peer->delete_tags);
}

static bool insert_body(sqlite3_stmt *statement, const disk_peer_entry *entry, int64_t id) {
    bool is_done = true;
    for (size_t start = 0; is_done && start < entry->body_size; start += chunk_size) {
        size_t size = entry->body_size - start < chunk_size ? entry->body_size - start : chunk_size;
        sqlite3_bind_int64(statement, 1, (id << 20) + (int64_t)(start / chunk_size));
        sqlite3_bind_blob(statement, 2, entry->body + start, (int)size, SQLITE_STATIC);
        is_done = run(statement);
    }
    return is_done;
}

static bool store(store_peer *peer, const disk_peer_entry *entry) {
    unsigned char column[column_size(entry->body_size)];
    body_checksums(entry->body, entry->body_size, column);
    int64_t id = 0;
    bool is_new = false;
    return upsert(peer, entry, column, &id, &is_new) && (is_new || delete_old(peer, id)) &&
           insert_body(peer->insert_body, entry, id);
}

/// Before SQLite 3.51.3, a checkpoint must exclude every commit. See SQLiteDatabase.swift.
static bool checkpoint(store_peer *peer) {
    if (!run(peer->begin)) return false;
    int code = sqlite3_wal_checkpoint_v2(peer->checkpointer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    peer->log_length = 0;
    return run(peer->rollback) && code == SQLITE_OK;
}

/// Updates the counts of the hour.
static bool count_stores(store_peer *peer, size_t count) {
    int64_t hour = time(NULL) / 3600;
    sqlite3_bind_int64(peer->count, 1, (int64_t)count);
    sqlite3_bind_int64(peer->count, 2, hour);
    if (!run(peer->count)) return false;
    if (sqlite3_changes64(peer->database) > 0) return true;
    sqlite3_bind_int64(peer->insert_hour, 1, hour);
    sqlite3_bind_int64(peer->insert_hour, 2, (int64_t)count);
    return run(peer->insert_hour);
}

/// Stores up to a group of entries, and updates the counts of the hour. Diamond also checks the bound of the file,
/// but only after many more writes.
static bool store_group(store_peer *peer, size_t first, size_t count) {
    bool is_done = run(peer->begin);
    for (size_t index = 0; is_done && index < count; index++) is_done = store(peer, &peer->entries[first + index]);
    is_done = is_done && count_stores(peer, count) && run(peer->facts) && run(peer->commit);
    if (is_done && peer->log_length >= checkpoint_length) is_done = checkpoint(peer);
    return is_done;
}

// --- With a writing thread ------------------------------------------------------------------------------------------

static bool is_due(const store_peer *peer) {
    return peer->added - peer->written >= (peer->is_gathering ? peer->group : 1);
}

static void *write_what_is_added(void *context) {
    store_peer *peer = context;
    pthread_mutex_lock(&peer->lock);
    while (true) {
        while (!is_due(peer) && !peer->is_closing) pthread_cond_wait(&peer->news, &peer->lock);
        if (peer->added == peer->written) break;
        size_t first = peer->written, count = peer->added - first;
        if (count > peer->group) count = peer->group;
        pthread_mutex_unlock(&peer->lock);
        bool is_done = store_group(peer, first, count);
        pthread_mutex_lock(&peer->lock);
        peer->has_failed = peer->has_failed || !is_done;
        peer->written += count;
        if (peer->added == peer->written) pthread_cond_signal(&peer->done);
    }
    pthread_mutex_unlock(&peer->lock);
    return NULL;
}

static bool hand(store_peer *peer, size_t count, size_t group) {
    for (size_t index = 0; index < count; index++) {
        pthread_mutex_lock(&peer->lock);
        peer->group = group;
        bool is_idle = peer->added == peer->written;
        peer->added += 1;
        if (is_idle) pthread_cond_signal(&peer->news);
        bool waits = group == 1 || index + 1 == count;
        while (waits && peer->written < peer->added) pthread_cond_wait(&peer->done, &peer->lock);
        pthread_mutex_unlock(&peer->lock);
    }
    return !peer->has_failed;
}

bool store_peer_add(store_peer *peer, size_t group) {
    pthread_mutex_lock(&peer->lock);
    bool is_there = peer->added < peer->prepared;
    peer->group = group;
    peer->is_gathering = true;
    if (is_there) peer->added += 1;
    if (is_due(peer)) pthread_cond_signal(&peer->news);
    pthread_mutex_unlock(&peer->lock);
    return is_there;
}

bool store_peer_flush(store_peer *peer) {
    pthread_mutex_lock(&peer->lock);
    peer->is_gathering = false;
    pthread_cond_signal(&peer->news);
    while (peer->written < peer->added) pthread_cond_wait(&peer->done, &peer->lock);
    pthread_mutex_unlock(&peer->lock);
    return !peer->has_failed;
}

bool store_peer_store(store_peer *peer, size_t count, size_t group) {
    if (peer->added + count > peer->prepared) return false;
    if (peer->is_handed) return hand(peer, count, group);
    bool is_done = true;
    for (size_t end = peer->added + count; is_done && peer->added < end; ) {
        size_t size = end - peer->added < group ? end - peer->added : group;
        is_done = store_group(peer, peer->added, size);
        peer->added += size;
    }
    return is_done;
}

// --- Opening and closing --------------------------------------------------------------------------------------------

store_peer *store_peer_open(const char *path, bool is_handed) {
    static const char *const sql[statement_count] = {
        "BEGIN IMMEDIATE",
        "COMMIT",
        "ROLLBACK",
        insert_sql,
        replace_sql,
        "SELECT id FROM entry WHERE key_prefix = ? AND variant = 0 AND is_partial = 0",
        "DELETE FROM body WHERE id BETWEEN ? AND ?",
        "DELETE FROM tag WHERE entry = ?",
        "INSERT INTO body (id, bytes) VALUES (?, ?)",
        count_sql,
        insert_hour_sql,
        facts_sql,
    };
    store_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->news, NULL);
    pthread_cond_init(&peer->done, NULL);
    peer->database = open_database(path, false);
    peer->checkpointer = open_database(path, false);
    bool is_open = peer->database && peer->checkpointer;
    for (int index = 0; is_open && index < statement_count; index++) {
        peer->statements[index] = prepare(peer->database, sql[index]);
        is_open = peer->statements[index] != NULL;
    }
    if (is_open) sqlite3_exec(peer->database, "PRAGMA journal_size_limit = 16777216", NULL, NULL, NULL);
    if (is_open) sqlite3_wal_hook(peer->database, watch_log, peer);
    peer->is_handed = is_open && is_handed && !pthread_create(&peer->thread, NULL, write_what_is_added, peer);
    if (is_open && peer->is_handed == is_handed) return peer;
    store_peer_close(peer);
    return NULL;
}

static void *copy(const void *bytes, size_t size) {
    void *new = malloc(size ? size : 1);
    if (new && size) memcpy(new, bytes, size);
    return new;
}

void store_peer_prepare(store_peer *peer, const disk_peer_entry *entry) {
    if (peer->prepared == peer->capacity) {
        peer->capacity = peer->capacity ? peer->capacity * 2 : 1024;
        peer->entries = realloc(peer->entries, peer->capacity * sizeof *entry);
    }
    disk_peer_entry *new = &peer->entries[peer->prepared++];
    *new = *entry;
    new->key = copy(entry->key, digest_size);
    new->request = copy(entry->request, entry->request_size);
    new->url = copy(entry->url, strlen(entry->url) + 1);
    new->method = copy(entry->method, strlen(entry->method) + 1);
    new->headers = copy(entry->headers, entry->headers_size);
    new->body = copy(entry->body, entry->body_size);
}

void store_peer_close(store_peer *peer) {
    if (peer->is_handed) {
        pthread_mutex_lock(&peer->lock);
        peer->is_closing = true;
        pthread_cond_signal(&peer->news);
        pthread_mutex_unlock(&peer->lock);
        pthread_join(peer->thread, NULL);
    }
    for (size_t index = 0; index < peer->prepared; index++) {
        disk_peer_entry *entry = &peer->entries[index];
        free((void *)entry->key), free((void *)entry->request), free((void *)entry->url), free((void *)entry->method);
        disk_peer_free(entry);
    }
    free(peer->entries);
    for (int index = 0; index < statement_count; index++) sqlite3_finalize(peer->statements[index]);
    sqlite3_close_v2(peer->checkpointer);
    sqlite3_close_v2(peer->database);
    pthread_mutex_destroy(&peer->lock);
    pthread_cond_destroy(&peer->news);
    pthread_cond_destroy(&peer->done);
    free(peer);
}
