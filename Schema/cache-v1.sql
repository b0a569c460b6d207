-- The cache, version 1. May be deleted at any time.
--
-- What was measured, as ratios, and decided the layout:
--   Bodies inside the file are read in 0.7 of the time that a file of its own takes at 1 to 10 KiB, in the same near
--   100 KiB, in twice as much at 1 MiB. Up to 128 KiB they are one row; in chunks beyond, larger rows gain nothing.
--   Pages of 8,192 bytes: an entry of 10 KiB is read in 0.66 and stored in 0.8 of the time that pages of 4,096 take; those
--   of 16,384 gain from 100 KiB on, and take 1.8 times the space for bodies of 8 KiB.
--   An entry that is stored anew moves in each index over a column that is set, to another page of the log. Among a million
--   that is, of the whole, 0.26 by size, 0.21 by URL (so that the statement leaves a URL that stays the same alone), 0.17
--   by age, and by expiry nothing that can be seen. This, and no trigger, is why storing takes 3 to 6 times as long among
--   a million as among a thousand, by SQLite itself as well, and with a larger page cache, too: without these three it
--   takes a third. They are afforded, because every list and every purge goes through one of them.
--   Counts of entries and bytes that triggers keep would cost each new entry 0.27 more; read from the indexes, they take
--   0.19 of the time that the rows take: 50 ms among a million.
--
-- Rowid tables: WITHOUT ROWID is 3 to 10 times slower once a row spills onto overflow pages. The first 64 bits of the
-- key are the index, because an integer index is smaller and faster than one over 32-byte blobs; the whole key and the
-- canonical form are compared on every hit. What is listed (entry) and what is served (body) are apart, so that listing
-- never reads bodies. A sealed row holds URL, canonical form, headers and body encrypted, and keyed digests in place of
-- URL, identity and tags; checksums are over what is stored, sealed or not. Times are milliseconds since 1970.
--
-- A body that comes in pieces is written as a partial entry beside the one that is there, and takes its place in one
-- transaction when it is whole. After each transaction a partial entry is as sound as any other: sizes, digest and
-- checksum are of what has arrived.

CREATE TABLE entry (
    id            INTEGER PRIMARY KEY,  -- in the order of insertion, along which eviction walks
    key_prefix    INTEGER NOT NULL,     -- the key's first 8 bytes, big-endian
    variant       INTEGER NOT NULL DEFAULT 0,  -- always 0: a variant has a key of its own
    is_partial    INTEGER NOT NULL DEFAULT 0 CHECK (is_partial IN (0, 1)),  -- what has arrived of a body
    key           BLOB    NOT NULL CHECK (length(key) = 32),
    seal          TEXT,                 -- the name of the key that sealed the row, NULL where it is in clear
    request       ANY     NOT NULL,     -- the canonical form; credentials only as keyed digests; sealed a blob, with URL
    url           TEXT    NOT NULL,     -- for people: secrets masked; sealed 'host/URL', a keyed digest of each
    method        TEXT    NOT NULL,
    identity      TEXT,                 -- on whose behalf, NULL where nobody's in particular; sealed a keyed digest
    status        INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    headers       BLOB    NOT NULL,     -- "Name: value" lines, in the order received
    stored_at     INTEGER NOT NULL CHECK (stored_at >= 0),  -- when the response arrived, or was last validated;
                                        -- of a partial one, when the last of it was written
    initial_age   INTEGER NOT NULL,     -- its corrected age at that moment (RFC 9111 section 4.2.3)
    lifetime      INTEGER,              -- its explicit freshness lifetime, NULL where the server gave none
    flags         INTEGER NOT NULL,     -- 1 no-cache, 2 has a validator, 4 must-revalidate, 8 invalidated, 16 pinned,
                                        -- 32 each chunk of the body compressed by zlib, before it was sealed,
                                        -- 64 the body is a part: is_partial, under the checksum and the seal,
                                        -- 128 the lifetime is heuristic, 256 of a shared cache,
                                        -- 512 no response, but the index of the variants of this key
    duration      INTEGER NOT NULL,     -- what the exchange took: the time that a hit saves
    body_size     INTEGER NOT NULL,     -- as stored
    body_digest   BLOB    NOT NULL,     -- SHA-256 of the body; of its chunks' checksums where it has several
    checksum      INTEGER NOT NULL,     -- 64 bits of SHA-256 over what a hit reads of this row
    is_visited    INTEGER NOT NULL DEFAULT 0,  -- used since eviction last came by
    expires_at    INTEGER GENERATED ALWAYS AS (stored_at - initial_age + lifetime) VIRTUAL
) STRICT;

-- Finding an entry by its request.
CREATE UNIQUE INDEX entry_by_key ON entry (key_prefix, variant, is_partial);

-- Listing by age, and removing what is older than a time.
CREATE INDEX entry_by_age ON entry (stored_at);

-- Listing by size, the largest first.
CREATE INDEX entry_by_size ON entry (body_size);

-- Listing by URL, and removing what a prefix, a host or a whole URL names; sealed rows by the digests of the last two.
CREATE INDEX entry_by_url ON entry (url);

-- Evicting first what is past its lifetime and cannot be revalidated.
CREATE INDEX entry_by_expiry ON entry (expires_at) WHERE lifetime IS NOT NULL AND flags & 18 = 0;

-- Finding what transfers have left. Costs the others nothing.
CREATE INDEX entry_by_leaving ON entry (stored_at) WHERE is_partial = 1;

-- Forgetting all that one identity has.
CREATE INDEX entry_by_identity ON entry (identity) WHERE identity IS NOT NULL;

-- Each entry has its own body, also where two are alike. Sharing them by digest was measured: of 5,790 answers of an API
-- of cities (lists, details, searches, errors) 41 % had a body that another had, but these were empty lists and errors,
-- 4.5 % of the bytes. For that, with bodies of 1 KiB, an index of digests and a count of uses made a store 1.16 times and
-- an eviction 2 times as dear (processor time, 30,000 entries, 64 in a transaction); and a seal binds a body to its key.
--
-- A body in chunks; chunk n of entry e has the id e * 1048576 + n, so that one range of rowids is one body.
CREATE TABLE body (
    id            INTEGER PRIMARY KEY,
    checksum      BLOB,                 -- SHA-256 of the bytes; may be NULL where the body is this chunk alone
    bytes         BLOB    NOT NULL
) STRICT;

-- The app's own names for entries, to invalidate them by; of a sealed entry keyed digests. Where the key leaves out
-- something of the URL, also the URL without its query behind a byte of 1: what changes a URL makes stale what has either.
-- Of a variant also the key of its request behind a byte of 2.
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

-- The newest changes of what other processes may have in memory: of a key, of a URL, whatever its query, or, where both
-- are NULL, of everything.
CREATE TABLE change (
    id            INTEGER PRIMARY KEY,
    key_prefix    INTEGER,
    url           INTEGER               -- 64 bits of SHA-256 over it; sealed over what stands in its place
) STRICT;

-- Evicting is no change: what another process has in memory stays as right as it was. A partial entry is in no memory.
CREATE TRIGGER entry_was_changed AFTER UPDATE OF headers, flags, stored_at ON entry WHEN new.is_partial = 0 BEGIN
    INSERT INTO change (key_prefix) VALUES (new.key_prefix);
END;

CREATE TRIGGER change_takes_the_oldest AFTER INSERT ON change BEGIN
    DELETE FROM change WHERE id <= new.id - 1000;
END;

-- What happened, by the hour, for plots. An hour is the number of whole hours since 1970.
CREATE TABLE hour (
    hour          INTEGER PRIMARY KEY,
    hits          INTEGER NOT NULL,
    stale_hits    INTEGER NOT NULL,
    revalidations INTEGER NOT NULL,
    misses        INTEGER NOT NULL,
    stores        INTEGER NOT NULL,
    evictions     INTEGER NOT NULL,
    bytes_served  INTEGER NOT NULL,     -- of bodies, from the cache
    time_saved    INTEGER NOT NULL      -- milliseconds that the exchanges in their place took
) STRICT;

-- The newest accesses, to be replayed at other sizes: of the keys whose first bits are 0, the more bits the more keys
-- there are. A ring of 65,536 rows, fewer where the bound is below 256 MiB; about 40 bytes each, 2.5 MiB.
CREATE TABLE access (
    id            INTEGER PRIMARY KEY,  -- in the order of writing; the oldest go when there are too many
    key_prefix    INTEGER NOT NULL,     -- nothing else of the request
    body_size     INTEGER NOT NULL,
    entry_size    INTEGER NOT NULL,     -- with headers and rows
    second        INTEGER NOT NULL,     -- since 1970
    kind          INTEGER NOT NULL,     -- 0 answered from here, 1 newly stored, 2 stored in the place of another answer
    uses          INTEGER NOT NULL,     -- with those of the same key within the second
    shift         INTEGER NOT NULL,     -- the first bits that were 0 in every key of the sample
    passed_uses   INTEGER NOT NULL,     -- of keys not in the sample, since the row before
    passed_bytes  INTEGER NOT NULL      -- of bodies
) STRICT;

-- The store's own facts: 'secret' is the key of its keyed digests, 'secret ID' the one that the key ID has sealed, 'hand'
-- the entry at which eviction goes on, 'recording' is there where accesses are recorded, 'shift' how many bits of a key
-- are 0 in the sample of accesses, 'capacity' the bound of the cache that was used last.
CREATE TABLE fact (
    name          TEXT    PRIMARY KEY,
    value         BLOB    NOT NULL
) STRICT;
