#ifndef DIAMOND_PEERS_H
#define DIAMOND_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a good C programmer would write for the same work: the measure that Diamond is held to.

// --- An entry of the cache by its key -------------------------------------------------------------------------------

typedef struct disk_peer disk_peer;

/// An answer as the caller owns it: `headers` and `body` are his to free.
typedef struct {
    int64_t status, stored_at, initial_age, lifetime, flags;
    bool has_lifetime;
    size_t headers_size, body_size;
    unsigned char *headers, *body;
} disk_peer_entry;

disk_peer *disk_peer_open(const char *path);
/// Finds an entry, checks key, canonical form and checksum, and hands out copies; `false` where there is none.
bool disk_peer_get(disk_peer *peer, const unsigned char *key, const unsigned char *request, size_t request_size,
                   disk_peer_entry *entry);
void disk_peer_free(disk_peer_entry *entry);
void disk_peer_close(disk_peer *peer);

// --- Requests over libcurl's multi interface ------------------------------------------------------------------------

typedef struct curl_peer curl_peer;

curl_peer *curl_peer_open(void);
/// Sends `count` requests for `url`, `width` at a time, on a thread of its own, or, where `is_handed`, from one thread to
/// another and back; returns how many were answered with 200 and `body_size` bytes.
int curl_peer_run(curl_peer *peer, const char *url, int count, int width, size_t body_size, bool is_handed);
void curl_peer_close(curl_peer *peer);

// --- Memory ---------------------------------------------------------------------------------------------------------

/// How often this thread has asked for memory; 0 for ever where nothing counts (other systems than Linux with glibc).
long allocations(void);

#endif
