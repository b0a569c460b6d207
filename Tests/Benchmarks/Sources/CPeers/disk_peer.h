#ifndef DIAMOND_DISK_PEER_H
#define DIAMOND_DISK_PEER_H

#include "peers.h"

#include <sqlite3.h>

// The common part of reading and storing in C.

enum { digest_size = 32, chunk_size = 128 << 10 };

/// The checksum of a row: the first 64 bits of SHA-256 over all columns that a hit reads.
int64_t row_checksum(const disk_peer_entry *entry, const unsigned char *digest);

void sha256(const void *bytes, size_t size, unsigned char *digest);

/// Opens a connection with Diamond's settings.
sqlite3 *open_database(const char *path, bool is_read_only);

sqlite3_stmt *prepare(sqlite3 *database, const char *sql);

int64_t key_prefix(const unsigned char *key);

#endif
