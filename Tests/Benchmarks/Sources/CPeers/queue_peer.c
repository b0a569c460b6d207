#include "disk_peer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// The statements are Diamond's, without the parts that these jobs do not need: unique names, ordering keys, earlier
// attempts.

enum { statement_count = 13 };

struct queue_peer {
    sqlite3 *database;
    union {
        struct {
            sqlite3_stmt *begin, *commit, *held, *census, *insert, *payload, *count, *due, *expired, *eligible, *request,
                *claim, *finish;
        };
        sqlite3_stmt *statements[statement_count];
    };
    int64_t ids[1024];
};

static bool run(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    return sqlite3_reset(statement) == SQLITE_OK && code == SQLITE_DONE;
}

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool count(queue_peer *peer, const char *verb, int64_t number) {
    sqlite3_bind_int64(peer->count, 1, milliseconds() / 3600000);
    sqlite3_bind_text(peer->count, 2, verb, -1, SQLITE_STATIC);
    sqlite3_bind_int64(peer->count, 3, number);
    return run(peer->count);
}

static bool insert(queue_peer *peer, const char *request, size_t size) {
    int64_t now = milliseconds();
    if (!run(peer->held) || !run(peer->census)) return false;
    sqlite3_bind_int64(peer->insert, 1, now);
    sqlite3_bind_int64(peer->insert, 2, now + 7 * 86400000LL);
    if (!run(peer->insert)) return false;
    sqlite3_bind_int64(peer->payload, 1, sqlite3_last_insert_rowid(peer->database));
    sqlite3_bind_blob(peer->payload, 2, request, (int)size, SQLITE_STATIC);
    return run(peer->payload);
}

bool queue_peer_enqueue(queue_peer *peer, const char *request, size_t size, size_t number, size_t group) {
    bool is_done = true;
    while (is_done && number > 0) {
        size_t part = number < group ? number : group;
        number -= part;
        is_done = run(peer->begin);
        for (size_t index = 0; is_done && index < part; index++) is_done = insert(peer, request, size);
        is_done = is_done && count(peer, "enqueue", (int64_t)part) && run(peer->commit);
    }
    return is_done;
}

bool queue_peer_replay(queue_peer *peer, size_t number, size_t group) {
    bool is_done = group <= sizeof peer->ids / sizeof *peer->ids;
    while (is_done && number > 0) {
        size_t found = 0;
        int64_t now = milliseconds();
        is_done = run(peer->begin);
        sqlite3_bind_int64(peer->due, 1, now);
        sqlite3_bind_int64(peer->expired, 1, now);
        is_done = is_done && run(peer->due) && run(peer->expired) && run(peer->held);
        sqlite3_bind_int64(peer->eligible, 1, (int64_t)(number < group ? number : group));
        while (sqlite3_step(peer->eligible) == SQLITE_ROW) peer->ids[found++] = sqlite3_column_int64(peer->eligible, 0);
        sqlite3_reset(peer->eligible);
        for (size_t index = 0; is_done && index < found; index++) {
            sqlite3_bind_int64(peer->claim, 1, peer->ids[index]);
            sqlite3_bind_int64(peer->claim, 2, now);
            sqlite3_bind_int64(peer->request, 1, peer->ids[index]);
            is_done = run(peer->claim) && run(peer->request);
        }
        is_done = is_done && found > 0 && count(peer, "claim", (int64_t)found) && run(peer->commit) && run(peer->begin);
        for (size_t index = 0; is_done && index < found; index++) {
            sqlite3_bind_int64(peer->finish, 1, peer->ids[index]);
            sqlite3_bind_int64(peer->finish, 2, now);
            is_done = run(peer->finish);
        }
        is_done = is_done && count(peer, "finish", (int64_t)found) && run(peer->commit);
        number -= found;
    }
    return is_done;
}

queue_peer *queue_peer_open(const char *path) {
    static const char *const sql[statement_count] = {
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SELECT 1 FROM hold WHERE (kind, name) IN (VALUES ('key', NULL), ('identity', NULL), ('lane', 'default'))",
        "SELECT state, count FROM census",
        "INSERT INTO job (state, method, url, host, tags, metadata, is_idempotent, idempotency_key, key_lifetime, reason,"
        " is_strict, is_head, priority, turn, run_at, expires_at, enqueued_at, changed_at, attempt_limit, lane, digest, checksum)"
        " VALUES (0, 'POST', 'https://api.example.com/notes', 'api.example.com', '[]', '{}', 0,"
        " '5F9E7A3C-4B1D-4F0E-9C55-1D2E3F4A5B6C', 86400000, 'enqueued', 0, 1, 0, (SELECT last FROM turn), ?1, ?2, ?1, ?1,"
        " 20, 'default', 0, 0)",
        "INSERT INTO payload (job, request) VALUES (?, ?)",
        "INSERT INTO hour (hour, verb, count) VALUES (?, ?, ?)"
        " ON CONFLICT (hour, verb) DO UPDATE SET count = count + excluded.count",
        "SELECT id FROM job WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT 500",
        "SELECT id FROM job WHERE expires_at IS NOT NULL AND state IN (0, 1, 3) AND expires_at <= ?1"
        " ORDER BY expires_at LIMIT 500",
        "SELECT id FROM job WHERE state = 0 AND is_head = 1 ORDER BY priority DESC, turn, id LIMIT ?",
        "SELECT request FROM payload WHERE job = ?",
        "UPDATE job SET state = 2, reason = 'claimed', token = token + 1, owner = 1, sent_at = NULL, changed_at = ?2"
        " WHERE id = ?1",
        "UPDATE job SET state = 4, reason = 'finished', owner = NULL, sent_at = NULL, status = 200, changed_at = ?2"
        " WHERE id = ?1",
    };
    queue_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    peer->database = open_database(path, false);
    bool is_open = peer->database &&
                   sqlite3_exec(peer->database, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", NULL, NULL, NULL) ==
                       SQLITE_OK;
    for (int index = 0; is_open && index < statement_count; index++) {
        peer->statements[index] = prepare(peer->database, sql[index]);
        is_open = peer->statements[index] != NULL;
    }
    if (is_open) return peer;
    queue_peer_close(peer);
    return NULL;
}

void queue_peer_close(queue_peer *peer) {
    for (int index = 0; index < statement_count; index++) sqlite3_finalize(peer->statements[index]);
    sqlite3_close_v2(peer->database);
    free(peer);
}
