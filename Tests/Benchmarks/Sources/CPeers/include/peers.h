#ifndef DIAMOND_PEERS_H
#define DIAMOND_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a good C programmer would write for the same work: the measure that Diamond is held to.

// --- Entries of the cache -------------------------------------------------------------------------------------------

/// An answer under its request. `headers` and `body` that a lookup found are the caller's to free; all else is lent.
typedef struct {
    const unsigned char *key, *request;
    size_t request_size;
    const char *url, *method;
    int64_t status, stored_at, initial_age, lifetime, flags, duration;
    bool has_lifetime, is_visited;
    size_t headers_size, body_size;
    unsigned char *headers, *body;
} disk_peer_entry;

typedef struct disk_peer disk_peer;

disk_peer *disk_peer_open(const char *path);
/// Finds the answer under the entry's key and request, checks both and every checksum, and hands out copies; `false`
/// where there is none.
bool disk_peer_get(disk_peer *peer, disk_peer_entry *entry);
void disk_peer_free(disk_peer_entry *entry);
void disk_peer_close(disk_peer *peer);

typedef struct store_peer store_peer;

/// Opens a file that has the schema, with a thread that writes where `is_handed`.
store_peer *store_peer_open(const char *path, bool is_handed);
/// Copies an entry to the end of those that will be stored.
void store_peer_prepare(store_peer *peer, const disk_peer_entry *entry);
/// Stores the next `count` of those, up to `group` in one transaction; `false` where something failed.
bool store_peer_store(store_peer *peer, size_t count, size_t group);
/// Hands the next one to the thread that writes, which waits for `group` of them, and goes on; `false` where there is none.
bool store_peer_add(store_peer *peer, size_t group);
/// Returns when all that was added is stored; `false` where something failed.
bool store_peer_flush(store_peer *peer);
void store_peer_close(store_peer *peer);

/// Fills an empty store that nobody has open with `count` used entries, bodies of `smallest` to `largest` bytes, 8 at
/// least; `false` where something failed.
bool fill_peer_fill(const char *path, int64_t count, size_t smallest, size_t largest);

// --- Jobs of the queue ----------------------------------------------------------------------------------------------

typedef struct queue_peer queue_peer;

/// Opens a file that has the schema.
queue_peer *queue_peer_open(const char *path);
/// Adds jobs, up to `group` in one transaction; `false` where something failed.
bool queue_peer_enqueue(queue_peer *peer, const char *request, size_t size, size_t number, size_t group);
/// Claims and finishes jobs, up to `group`, 1,024 at most, in each transaction; `false` where something failed.
bool queue_peer_replay(queue_peer *peer, size_t number, size_t group);
void queue_peer_close(queue_peer *peer);

// --- Requests over libcurl's multi interface ------------------------------------------------------------------------

typedef struct curl_peer curl_peer;

curl_peer *curl_peer_open(void);
/// Sends `count` requests for `url`, `width` at a time, on a thread of its own, or, where `is_handed`, from one thread to
/// another and back; returns how many were answered with 200 and `body_size` bytes.
int curl_peer_run(curl_peer *peer, const char *url, int count, int width, size_t body_size, bool is_handed);
void curl_peer_close(curl_peer *peer);

// --- Memory ---------------------------------------------------------------------------------------------------------

/// How often this thread has asked for memory; 0 forever where nothing counts (other systems than Linux with glibc).
long allocations(void);

/// Gives back to the system what was freed, so that it does not hide what comes, where the system's library can.
void give_back(void);

#endif
