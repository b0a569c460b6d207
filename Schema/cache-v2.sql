-- The cache, version 2.
--
-- Files of version 1 have several forms, because its script was changed in place before this version. Before this
-- script, a file gets the form of `cache-v1.sql`.

-- SHA-256 of the first `size` bytes of the part file. A row of version 1 has none, and its download is not continued.
ALTER TABLE download ADD COLUMN digest BLOB;
