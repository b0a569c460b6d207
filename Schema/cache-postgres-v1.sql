-- The cache on PostgreSQL, version 1.
--
-- All tables are unlogged: a write is not in the server's log, and waits for no disk. After a crash of the server, and on
-- a replica that is promoted, they are empty, all of them together: every lookup is a miss.
--
-- An invalidation or erasure by name writes one row of `cache_stamp`, however many records it concerns. Each has a
-- position, which is that of its row in `cache_change`. Each record has the newest position that its write has seen, and
-- is stale or gone if one of its names was changed later. So a record that is written while a name is changed, without
-- seeing that, is stale or gone, too.
--
-- A transaction that adds to `cache_change` first locks pg_advisory_xact_lock('DiaC', 1): positions become visible in
-- their order. All other transactions take no locks but those of their rows, in the order of the keys.
--
-- All times are in milliseconds since 1970.

CREATE SEQUENCE cache_position AS bigint;

CREATE UNLOGGED TABLE cache_record (
    key             bytea    PRIMARY KEY,
    request_key     bytea    NOT NULL,    -- of a variant, the key of its request; otherwise the key
    prefix          bigint   NOT NULL,    -- the first 64 bits of the key; orders records with equal values in lists
    version         bigint   NOT NULL,
    position        bigint   NOT NULL,
    names           bigint[] NOT NULL,    -- hashes of the tags, groups, URL, host and identity, and 0 for all records
    url             text     COLLATE "C" NOT NULL,
    is_response     boolean  NOT NULL,    -- false for the index of variants
    is_stale        boolean  NOT NULL,    -- marked by itself, not by a name
    is_pinned       boolean  NOT NULL DEFAULT false,
    is_replacement  boolean  NOT NULL DEFAULT false,  -- it has taken the place of another one
    stored_at       bigint   NOT NULL,
    origin_time     bigint   NOT NULL,
    sent_at         bigint   NOT NULL,
    expiry          bigint,               -- when it is stale; NULL if a validator can confirm it
    retention       bigint   NOT NULL,    -- when it is dropped
    body_id         bigint   NOT NULL,    -- a hash of the checksums of the chunks
    body_size       bigint   NOT NULL,
    size            bigint   NOT NULL,    -- of head and body
    head            bytea    NOT NULL,
    body            bytea                 -- the only chunk of a small body; NULL if the chunks are in cache_chunk
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05);

-- Bodies are compressed by Diamond if at all, and may be sealed.
ALTER TABLE cache_record ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE INDEX cache_of_request ON cache_record (request_key) WHERE request_key <> key;
CREATE INDEX cache_by_name ON cache_record USING gin (names);
CREATE INDEX cache_by_retention ON cache_record (retention) WHERE NOT is_pinned;
-- Eviction, and the sum of the sizes.
CREATE INDEX cache_by_age ON cache_record (stored_at) INCLUDE (size, is_pinned);
CREATE INDEX cache_by_expiry ON cache_record (expiry) WHERE expiry IS NOT NULL;

CREATE UNLOGGED TABLE cache_chunk (
    key             bytea    NOT NULL,
    body            bigint   NOT NULL,
    number          bigint   NOT NULL,
    data            bytea    NOT NULL,
    PRIMARY KEY (key, body, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE cache_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

-- The last changes of names. A name without a row was never changed while records have it.
CREATE UNLOGGED TABLE cache_stamp (
    name            bigint   PRIMARY KEY,
    invalidated     bigint   NOT NULL,    -- the position of the last invalidation or erasure
    erased          bigint   NOT NULL,    -- the position of the last erasure; 0 for none
    changer         bigint   NOT NULL,    -- the process of the last one
    changed_at      timestamptz NOT NULL DEFAULT now()
);

-- The announcements to the memory tiers of all processes. They are kept for a minute, and the newest one always.
CREATE UNLOGGED TABLE cache_change (
    position        bigint   PRIMARY KEY,
    process         bigint   NOT NULL,
    names           bytea,                -- keys and URLs (ChangedNames); NULL if anything may have changed
    stamps          bytea    NOT NULL,    -- the changed names, in the same form as keys
    announced_at    timestamptz NOT NULL DEFAULT now()
);

-- The records that lookups find.
CREATE VIEW cached AS
SELECT record.*, record.is_stale OR coalesce(stamp.invalidated > record.position, false) AS stale
FROM cache_record AS record LEFT JOIN LATERAL (
    SELECT max(invalidated) AS invalidated, max(erased) AS erased FROM cache_stamp WHERE name = ANY (record.names)
) AS stamp ON true
WHERE coalesce(stamp.erased <= record.position, true);
