#ifndef DIAMOND_DISK_PEER_H
#define DIAMOND_DISK_PEER_H

#include "peers.h"

#include <sqlite3.h>

// The common part of reading and storing in C.

enum { digest_size = 32, chunk_size = 128 << 10, checksum_size = 8 };

/// Diamond's XXH3 (Stores/DiskGet.swift): both sides hash with the same code.
extern uint64_t diamond_xxh3(const void *bytes, size_t size);

/// The size of the column `body_digest`.
static inline size_t column_size(size_t body_size) {
    return 1 + (body_size + chunk_size - 1) / chunk_size * checksum_size;
}

/// Writes the column `body_digest`: the byte 4, and the checksum of each chunk.
void body_checksums(const unsigned char *body, size_t size, unsigned char *column);

/// The checksum of a row: the first 64 bits of SHA-256 over all columns that a hit reads.
int64_t row_checksum(const disk_peer_entry *entry, const unsigned char *column);

void sha256(const void *bytes, size_t size, unsigned char *digest);

/// Opens a connection with Diamond's settings.
sqlite3 *open_database(const char *path, bool is_read_only);

sqlite3_stmt *prepare(sqlite3 *database, const char *sql);

int64_t key_prefix(const unsigned char *key);

#endif
