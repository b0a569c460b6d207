-- The queue, version 4.
--
-- A request may refer to an object that has no id yet, because another job creates it. It contains the object's local
-- id. Such a job is held, and has a row in `edge` for each of these objects. The transaction that writes the answer to
-- the creating job puts the id into the waiting requests and deletes these rows. So a claim never looks for edges.
--
-- Several jobs may create the same object, one after another: a new one after a refused one.

-- The local id of the object that the job creates; empty for none. A keyed digest in a sealed queue. NULL in a row of
-- an earlier version, until a program opens the queue. Not in the checksum, because the request contains it, too.
ALTER TABLE job ADD COLUMN creates TEXT;

-- Finding the jobs that create an object.
CREATE INDEX job_creating ON job (creates, id) WHERE creates <> '';

-- Finding the rows of earlier versions.
CREATE INDEX job_unlinked ON job (id) WHERE creates IS NULL;

CREATE TABLE edge (
    job             INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    name            TEXT    NOT NULL,     -- the local id of an object whose id the job needs, as in `job.creates`
    PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

-- Finding the jobs that need the id of an object.
CREATE INDEX edge_of_object ON edge (name, job);
