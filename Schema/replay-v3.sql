-- The queue, version 3.
--
-- A queue may be sealed. Then `secret` has a row, and these columns have other values than the comments of version 1
-- say:
--   identity, ordering_key, unique_key, host, tags, and the names of holds on keys and identities: keyed digests, so
--   that equal values are found, but not guessed.
--   url: the scheme, so that `origin` is the scheme and the digest of the host. idempotency_key, kind, metadata, and
--   call, location, headers and message: empty, or NULL.
--   details: the sealed values that have no digest, or are shown by their names.
--   request, and the body of an answer: sealed. The body contains the headers.
-- Each sealed value begins with the length of the name of its key in two bytes, and that name. Digests and checksums
-- are those of the sealed values, so that they can be verified without the key.

ALTER TABLE job ADD COLUMN details BLOB;      -- NULL in a queue that is not sealed

ALTER TABLE attempt ADD COLUMN details BLOB;  -- NULL in a queue that is not sealed

ALTER TABLE hold ADD COLUMN details BLOB;     -- NULL in a queue that is not sealed

-- Whether the identity has signed out. Lists of jobs leave out the jobs of such an identity.
ALTER TABLE hold ADD COLUMN is_sign_out INTEGER NOT NULL DEFAULT 0 CHECK (is_sign_out IN (0, 1));

-- The stored header fields of the answer, as lines; NULL for none. They are in the checksum, too.
ALTER TABLE answer ADD COLUMN headers BLOB;

-- The queue's secret, sealed. The keyed digests are made with it. No rows in a queue that is not sealed. A row with an
-- empty value names a key that has sealed the secret before, and was replaced.
CREATE TABLE secret (
    key_id          TEXT    PRIMARY KEY,  -- the name of the key that has sealed it
    value           BLOB    NOT NULL,
    -- Whether the file was rewritten after the values were sealed, so that it has none in clear.
    is_overwritten  INTEGER NOT NULL DEFAULT 0 CHECK (is_overwritten IN (0, 1))
) STRICT;
