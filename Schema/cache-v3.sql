-- The cache, version 3.

-- The name of the key that sealed the row of a download; NULL if in clear. In a sealed row, `headers` is one encrypted
-- value: the URL, the target, the id of the part file's contents, the identity, the headers and the canonical
-- form. `request` and
-- `url` are empty, `identity` is empty if there is one, and `target` is the path of the part file. Its contents are
-- encrypted in chunks. There is no digest, because each chunk is authenticated.
ALTER TABLE download ADD COLUMN seal TEXT;
