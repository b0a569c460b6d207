-- The cache, version 1. May be deleted at any time.
--
-- Rowid tables: WITHOUT ROWID is 3 to 10 times slower once a row spills onto overflow pages. The first 64 bits of the
-- key are the index, because an integer index is smaller and faster than one over 32-byte blobs; the whole key and the
-- canonical form are compared on every hit. What is listed (entry) and what is served (body) are apart, so that
-- listing never reads bodies. Times are milliseconds since 1970.

CREATE TABLE entry (
    id            INTEGER PRIMARY KEY,
    key_prefix    INTEGER NOT NULL,     -- the key's first 8 bytes, big-endian
    key           BLOB    NOT NULL CHECK (length(key) = 32),
    request       TEXT    NOT NULL,     -- the canonical form; credentials only as keyed digests
    url           TEXT    NOT NULL,     -- for people: secrets masked
    method        TEXT    NOT NULL,
    identity      TEXT,                 -- on whose behalf, NULL where nobody's in particular
    status        INTEGER NOT NULL CHECK (status BETWEEN 100 AND 999),
    headers       BLOB    NOT NULL,     -- "Name: value" lines, in the order received
    stored_at     INTEGER NOT NULL CHECK (stored_at >= 0),  -- when the response arrived, or was last validated
    initial_age   INTEGER NOT NULL,     -- its corrected age at that moment (RFC 9111 section 4.2.3)
    lifetime      INTEGER,              -- its explicit freshness lifetime, NULL where the server gave none
    flags         INTEGER NOT NULL,     -- 1 no-cache, 2 has a validator, 4 must-revalidate, 8 invalidated
    body_size     INTEGER NOT NULL,
    body_digest   BLOB    NOT NULL      -- SHA-256 of the body
) STRICT;

-- Finding an entry by its request.
CREATE UNIQUE INDEX entry_by_key ON entry (key_prefix);

-- Listing, and evicting the oldest.
CREATE INDEX entry_by_age ON entry (stored_at);

-- Forgetting all that one identity has.
CREATE INDEX entry_by_identity ON entry (identity) WHERE identity IS NOT NULL;

-- A body in chunks; chunk n of entry e has the id e * 1048576 + n, so that one range of rowids is one body.
CREATE TABLE body (
    id            INTEGER PRIMARY KEY,
    bytes         BLOB    NOT NULL
) STRICT;

CREATE TRIGGER entry_takes_its_body AFTER DELETE ON entry BEGIN
    DELETE FROM body WHERE id BETWEEN old.id << 20 AND (old.id << 20) + 1048575;
END;

-- The store's own facts: 'secret' is the key of its keyed digests.
CREATE TABLE fact (
    name          TEXT    PRIMARY KEY,
    value         BLOB    NOT NULL
) STRICT;
