-- The cache, version 1. The file may be deleted at any time.
--
-- Measurements that decided the layout, as ratios of time:
--   Bodies in the database: a read takes 0.7 of the time of a separate file at 1 to 10 KiB, about the same at 100 KiB,
--   and twice as long at 1 MiB. A body of up to 128 KiB is one row. A larger one is split into chunks of that size;
--   larger rows are no faster.
--   Pages of 8,192 bytes: reading an entry of 10 KiB takes 0.66, and storing it 0.8, of the time with pages of 4,096.
--   Pages of 16,384 bytes are faster only from 100 KiB on, and take 1.8 times the space for bodies of 8 KiB.
--   Indexes: replacing an entry changes each index over a column that the statement sets, which writes more pages to
--   the log, so the statement sets no URL that is unchanged. With a million entries, the index by size takes 0.26 of
--   the whole time, by URL 0.21, by age 0.17, and by expiry nothing measurable. Because of these indexes, not the
--   triggers, storing takes 3 to 6 times as long with a million entries as with a thousand. A larger page cache does
--   not help. Without the three, storing would take a third of the time, but every list and purge uses one of them.
--   Totals: counting entries and bytes by triggers would make a new entry take 1.27 times as long. Computing them from
--   the indexes takes 0.19 of the time that a scan of the rows takes: 50 ms with a million entries.
--
-- All tables but `tag` are rowid tables: WITHOUT ROWID is 3 to 10 times slower when rows need overflow pages. The index
-- over keys has only the first 64 bits of a key, because an integer index is smaller and faster than one over blobs of
-- 32 bytes. Every lookup compares the whole key and the canonical form. The metadata (entry) and the bytes (body) are
-- in different tables, so that listing never reads bodies.
--
-- In a sealed row, the URL, canonical form, headers and body are encrypted. Keyed digests replace the URL, identity and
-- tags in the columns that are searched. Checksums are computed over the stored bytes, sealed or not. Times are in
-- milliseconds since 1970.
--
-- A body that arrives in pieces is written as a partial entry. The whole entry of the same key stays until the last
-- piece is written: one transaction then replaces it by the new one. After each transaction a partial entry is valid:
-- its size, digest and checksum are those of the bytes received so far.

CREATE TABLE entry (
    id            INTEGER PRIMARY KEY,  -- in the order of insertion, which is the order of eviction
    key_prefix    INTEGER NOT NULL,     -- the key's first 8 bytes, big-endian
    variant       INTEGER NOT NULL DEFAULT 0,  -- always 0: a variant has a key of its own
    is_partial    INTEGER NOT NULL DEFAULT 0 CHECK (is_partial IN (0, 1)),  -- 1 if only a part of the body is stored
    key           BLOB    NOT NULL CHECK (length(key) = 32),
    seal          TEXT,                 -- the name of the key that sealed the row; NULL if in clear
    request       ANY     NOT NULL,     -- the canonical form, credentials as keyed digests; if sealed, a blob with the URL
    url           TEXT    NOT NULL,     -- with secrets masked; if sealed, 'host/URL', each a keyed digest
    method        TEXT    NOT NULL,
    identity      TEXT,                 -- the request's identity, NULL for none; if sealed, a keyed digest
    status        INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    headers       BLOB    NOT NULL,     -- "Name: value" lines, in the order received
    stored_at     INTEGER NOT NULL CHECK (stored_at >= 0),  -- when the response arrived, or was last validated;
                                        -- for a partial entry, when it was last written
    initial_age   INTEGER NOT NULL,     -- the corrected age at `stored_at` (RFC 9111 section 4.2.3)
    lifetime      INTEGER,              -- the freshness lifetime, explicit or heuristic; NULL if there is none
    flags         INTEGER NOT NULL,     -- 1 no-cache, 2 has a validator, 4 must-revalidate, 8 invalidated, 16 pinned,
                                        -- 32 each chunk of the body compressed by zlib, before it was sealed,
                                        -- 64 partial: as is_partial, but covered by checksum and seal,
                                        -- 128 the lifetime is heuristic, 256 stored by a shared cache,
                                        -- 512 no response, but the index of the variants under this key
    duration      INTEGER NOT NULL,     -- of the exchange: the time that a hit saves
    body_size     INTEGER NOT NULL,     -- after compression and sealing
    body_digest   BLOB    NOT NULL,     -- SHA-256 of the stored body; if it has several chunks, of their checksums
    checksum      INTEGER NOT NULL,     -- 64 bits of SHA-256 over the columns that a hit reads
    is_visited    INTEGER NOT NULL DEFAULT 0,  -- whether it was used since the hand of eviction last passed it
    expires_at    INTEGER GENERATED ALWAYS AS (stored_at - initial_age + lifetime) VIRTUAL
) STRICT;

-- Finding an entry by its request.
CREATE UNIQUE INDEX entry_by_key ON entry (key_prefix, variant, is_partial);

-- Listing by age, and removing the entries that are older than a time.
CREATE INDEX entry_by_age ON entry (stored_at);

-- Listing by size, the largest first.
CREATE INDEX entry_by_size ON entry (body_size);

-- Listing by URL, and removing entries by URL, URL prefix or host. Sealed rows are found by digests of the host and the
-- URL.
CREATE INDEX entry_by_url ON entry (url);

-- Evicting first the entries that have expired, have no validator and are not pinned.
CREATE INDEX entry_by_expiry ON entry (expires_at) WHERE lifetime IS NOT NULL AND flags & 18 = 0;

-- Finding the partial entries of transfers that ended early. It costs nothing for whole entries.
CREATE INDEX entry_by_leaving ON entry (stored_at) WHERE is_partial = 1;

-- Removing the entries of an identity.
CREATE INDEX entry_by_identity ON entry (identity) WHERE identity IS NOT NULL;

-- The chunks of bodies. Chunk n of entry e has the id e * 1048576 + n, so that a body is one range of rowids.
--
-- Each entry has its own body, even if another entry has an equal one. Sharing bodies by digest was measured with 5,790
-- responses of an API for cities (lists, details, searches, errors): 41 % had the body of another response, but these
-- were empty lists and errors, 4.5 % of the bytes. With bodies of 1 KiB, the index of digests and a reference count
-- made storing take 1.16 times and evicting twice the processor time (30,000 entries, 64 in each transaction). Besides,
-- a sealed body can be opened only under the key of its own entry.
CREATE TABLE body (
    id            INTEGER PRIMARY KEY,
    checksum      BLOB,                 -- SHA-256 of the bytes; may be NULL if it is the only chunk
    bytes         BLOB    NOT NULL
) STRICT;

-- The names by which entries are invalidated: the app's tags, and names that Diamond adds. For a sealed entry, all
-- names are keyed digests.
--   If the key leaves out a part of the URL: the byte 1 and the URL without its query, because an unsafe request to any
--   URL of that path makes the entry stale.
--   If the entry is a variant: the byte 2 and the key of its request.
--   For each group of the server (RFC 9875): two bytes 1, the origin, a space and the group.
CREATE TABLE tag (
    entry         INTEGER NOT NULL,
    name          TEXT    NOT NULL,
    PRIMARY KEY (entry, name)
) STRICT, WITHOUT ROWID;

-- Finding the entries of a tag.
CREATE INDEX tag_by_name ON tag (name, entry);

CREATE TRIGGER entry_takes_its_body AFTER DELETE ON entry BEGIN
    DELETE FROM body WHERE id BETWEEN old.id << 20 AND (old.id << 20) + 1048575;
    DELETE FROM tag WHERE entry = old.id;
END;

-- The downloads into files that a later process may continue: one row for each part file, which is in the directory of
-- its target. The first `size` bytes of the part file were on the disk before the row was written. The process that
-- writes the file has a lock on it. Version 3 has the rows of sealed stores.
CREATE TABLE download (
    id            INTEGER PRIMARY KEY,
    key_prefix    INTEGER NOT NULL,     -- the key's first 8 bytes, big-endian
    key           BLOB    NOT NULL CHECK (length(key) = 32),
    request       TEXT    NOT NULL,     -- the canonical form, credentials as keyed digests
    url           TEXT    NOT NULL,     -- with secrets masked
    method        TEXT    NOT NULL,
    identity      TEXT,                 -- the request's identity, NULL for none
    status        INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    headers       BLOB    NOT NULL,     -- "Name: value" lines, in the order received
    received_at   INTEGER NOT NULL CHECK (received_at >= 0),  -- when the headers arrived
    target        TEXT    NOT NULL,     -- the absolute path of the complete file
    part          TEXT    NOT NULL,     -- the name of the part file
    size          INTEGER NOT NULL CHECK (size >= 0),
    written_at    INTEGER NOT NULL CHECK (written_at >= 0),
    checksum      INTEGER NOT NULL      -- 64 bits of SHA-256 over the other columns but the id and the prefix
) STRICT;

-- Finding the part files of a request.
CREATE INDEX download_by_key ON download (key_prefix);

-- The newest changes that other processes have to apply to their memory tiers. A change names a key, or a URL (whatever
-- its query). If both are NULL, any entry may have changed.
CREATE TABLE change (
    id            INTEGER PRIMARY KEY,
    key_prefix    INTEGER,
    url           INTEGER               -- 64 bits of SHA-256 over the URL; if sealed, over its digest
) STRICT;

-- An eviction is not recorded: copies in the memory of other processes stay valid. Partial entries are never in memory.
CREATE TRIGGER entry_was_changed AFTER UPDATE OF headers, flags, stored_at ON entry WHEN new.is_partial = 0 BEGIN
    INSERT INTO change (key_prefix) VALUES (new.key_prefix);
END;

CREATE TRIGGER change_takes_the_oldest AFTER INSERT ON change BEGIN
    DELETE FROM change WHERE id <= new.id - 1000;
END;

-- Counts of each hour, for plots. `hour` is the number of whole hours since 1970.
CREATE TABLE hour (
    hour          INTEGER PRIMARY KEY,
    hits          INTEGER NOT NULL,
    stale_hits    INTEGER NOT NULL,
    revalidations INTEGER NOT NULL,
    misses        INTEGER NOT NULL,
    stores        INTEGER NOT NULL,
    evictions     INTEGER NOT NULL,
    bytes_served  INTEGER NOT NULL,     -- of bodies served from the cache
    time_saved    INTEGER NOT NULL      -- milliseconds: the durations of the exchanges that hits replaced
) STRICT;

-- The newest accesses, for simulating the cache at other capacities. They are a sample: the accesses of the keys whose
-- first `shift` bits are 0. The more keys a store has, the larger is `shift`. The table is a ring of 65,536 rows of
-- about 40 bytes, 2.5 MiB; it has fewer rows if the capacity is below 256 MiB.
CREATE TABLE access (
    id            INTEGER PRIMARY KEY,  -- in the order of writing; the oldest rows are deleted
    key_prefix    INTEGER NOT NULL,     -- the only part of the request
    body_size     INTEGER NOT NULL,
    entry_size    INTEGER NOT NULL,     -- with headers and rows
    second        INTEGER NOT NULL,     -- since 1970
    kind          INTEGER NOT NULL,     -- 0 a hit, 1 a stored response after a miss, 2 a response that replaced an outdated one
    uses          INTEGER NOT NULL,     -- accesses of the key within the second, this one included
    shift         INTEGER NOT NULL,     -- the number of zero bits that defined the sample
    passed_uses   INTEGER NOT NULL,     -- accesses outside the sample since the previous row
    passed_bytes  INTEGER NOT NULL      -- the bytes of their bodies
) STRICT;

-- The store's own values, by name:
--   'secret'     the key of the keyed digests
--   'secret ID'  the same in a sealed store, sealed by the key named ID
--   'hand'       the entry at which eviction continues
--   'recording'  present if accesses are recorded
--   'shift'      the number of zero bits that defines the sample of accesses
--   'capacity'   the capacity of the cache that wrote last
--   'erased'     present if rows of an identity were erased, and the file was not rewritten since: '1' after the
--                identity has signed out, otherwise '0'
CREATE TABLE fact (
    name          TEXT    PRIMARY KEY,
    value         BLOB    NOT NULL
) STRICT;
