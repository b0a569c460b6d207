-- The queue on PostgreSQL, version 2: nothing that a statement reads grows with the number of jobs of an ordering key
-- that have ended.
--
-- While somebody holds a snapshot, the dead entries of a key pile up in the indexes. A unique index reads all of them
-- with each insertion, so none is on ordering keys. A line is searched from the newest job in `ended` on that was its
-- head: `is_head` stays true there. All jobs that are in the line now have higher ids, except those that are behind:
-- they came into the line after a job with a higher id (`is_behind`, which stays true while they are in it).
DROP INDEX job_head;
DROP INDEX job_running;
CREATE INDEX ended_of_line ON ended (ordering_key, id) WHERE ordering_key IS NOT NULL AND is_head;
