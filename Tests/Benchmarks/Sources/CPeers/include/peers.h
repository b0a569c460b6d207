#ifndef DIAMOND_PEERS_H
#define DIAMOND_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The same work in good C, as the measure for Diamond.

// --- Entries of the cache -------------------------------------------------------------------------------------------

/// A stored response and its request. The caller frees the `headers` and `body` of a lookup, and nothing else.
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

/// Without checksums if not `is_checked`: neither of the row nor of the body.
disk_peer *disk_peer_open(const char *path, bool is_checked);
/// Finds the response by the entry's key and request, checks both and every checksum, and returns copies; `false` if
/// there is none.
bool disk_peer_get(disk_peer *peer, disk_peer_entry *entry);
void disk_peer_free(disk_peer_entry *entry);
void disk_peer_close(disk_peer *peer);

typedef struct store_peer store_peer;

/// Opens a file with the schema; with a writing thread if `is_handed`.
store_peer *store_peer_open(const char *path, bool is_handed);
/// Copies an entry to the end of the entries to store.
void store_peer_prepare(store_peer *peer, const disk_peer_entry *entry);
/// Stores the next `count` entries, up to `group` in one transaction; `false` for an error.
bool store_peer_store(store_peer *peer, size_t count, size_t group);
/// Passes the next entry to the writing thread, which waits for `group` entries; `false` if there is none.
bool store_peer_add(store_peer *peer, size_t group);
/// Returns when all added entries are stored; `false` for an error.
bool store_peer_flush(store_peer *peer);
void store_peer_close(store_peer *peer);

/// Fills an empty store that is not open with `count` used entries, with bodies of `smallest` (8 or more) to `largest`
/// bytes; `false` for an error.
bool fill_peer_fill(const char *path, int64_t count, size_t smallest, size_t largest);

// --- Jobs of the queue ----------------------------------------------------------------------------------------------

typedef struct queue_peer queue_peer;

/// Opens a file with the schema.
queue_peer *queue_peer_open(const char *path);
/// Adds jobs, up to `group` in one transaction; `false` for an error.
bool queue_peer_enqueue(queue_peer *peer, const char *request, size_t size, size_t number, size_t group);
/// Claims and finishes jobs, up to `group` (1,024 at most) in each transaction; `false` for an error.
bool queue_peer_replay(queue_peer *peer, size_t number, size_t group);
void queue_peer_close(queue_peer *peer);

// --- Requests over libcurl's multi interface ------------------------------------------------------------------------

typedef struct curl_peer curl_peer;

curl_peer *curl_peer_open(void);
/// Sends `count` requests for `url`, `width` at a time, in a separate thread. If `is_handed`, requests and responses
/// pass between two threads. Returns the number of responses with the status 200 and `body_size` bytes.
int curl_peer_run(curl_peer *peer, const char *url, int count, int width, size_t body_size, bool is_handed);
void curl_peer_close(curl_peer *peer);

// --- Memory ---------------------------------------------------------------------------------------------------------

/// Returns the number of this thread's allocations; always 0 except on Linux with glibc.
long allocations(void);

/// Returns freed memory to the system if the C library can, so that it does not hide later allocations.
void give_back(void);

/// Returns the number of allocated bytes, with the overhead of the allocator; always 0 except on Linux with glibc.
long allocated_bytes(void);

#endif
