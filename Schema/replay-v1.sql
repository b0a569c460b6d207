-- The queue of requests to be sent later, version 1. A row is never lost once the caller knows of it: the file uses WAL
-- and synchronous = FULL, and each transition is one transaction.
--
-- Times are in milliseconds. The times of jobs are since 1970, by the queue's time (see `clock`). The end of a lease is
-- by the boot clock, which counts from the start of the machine.
--
-- States: 0 ready, 1 waiting (for its time), 2 running, 3 held, 4 done, 5 dead, 6 needs review.
--
-- The jobs of an ordering key form a line. A job is in the line in the states 0 to 3, and also in 5 and 6 if its order
-- is strict. Only the head of a line is sent. The head is the running job, or else the job that was added first. Heads
-- are marked (is_head), so that a claim reads only the jobs that it claims, however long the lines are. Searching for
-- the heads at each claim is slower by a factor of 300 with 100,000 jobs of two keys (measured by Graphile Worker,
-- src/sql/getJobs.ts). `turn` makes the order fair across keys: a new head is sent after all jobs of its priority that
-- are ready already.
--
-- A file may be damaged, but only requests that a program wrote may be sent. So each row has a checksum: 64 bits of
-- SHA-256 over everything that decides what is sent, for which identity, and whether it may be sent. It is verified
-- before each transition and each send.
--   Covered: id, state, reason, identity, ordering_key, is_strict, is_held, run_at, expires_at, attempts,
--   attempt_limit, token, owner, sent_at, unknown_at, may_have_acted, key_lifetime, is_idempotent, unique_key, method,
--   lane, and the digest of the request, which contains everything else that is sent.
--   Not covered, because they decide only when a job is sent: is_head, priority, turn, unique_states, failure. (Most
--   of them are updated in many rows at once.)
--   Not covered, because they are only displayed: url, host, kind, tags, metadata, idempotency_key (a copy), status,
--   enqueued_at, changed_at, and call in `payload`.
-- A damaged job keeps its checksum, and so stays damaged.

CREATE TABLE job (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of enqueueing; never reused
    state           INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),
    reason          TEXT    NOT NULL,     -- why it is in this state, one word
    identity        TEXT,                 -- the request's identity; NULL for none
    ordering_key    TEXT,                 -- NULL for no order
    is_strict       INTEGER NOT NULL CHECK (is_strict IN (0, 1)),
    is_head         INTEGER NOT NULL CHECK (is_head IN (0, 1)),  -- also 1 for a job without ordering key that has not ended
    is_held         INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),  -- this job alone, not by a hold
    priority        INTEGER NOT NULL,
    turn            INTEGER NOT NULL,     -- ready jobs of one priority are sent by ascending turn
    run_at          INTEGER NOT NULL,     -- the earliest time to send it
    expires_at      INTEGER,              -- the latest time to send it; NULL for no limit
    enqueued_at     INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,     -- the time of its last transition
    attempts        INTEGER NOT NULL DEFAULT 0,  -- those that count against attempt_limit
    attempt_limit   INTEGER NOT NULL,
    token           INTEGER NOT NULL DEFAULT 0,  -- counts claims and rescues; an owner with an older one lost the job
    owner           INTEGER,              -- the owner that runs it
    sent_at         INTEGER,              -- the start of the current attempt; NULL before it
    unknown_at      INTEGER,              -- the start of the first attempt whose outcome is unknown
    may_have_acted  INTEGER NOT NULL DEFAULT 0 CHECK (may_have_acted IN (0, 1)),  -- as unknown_at, for attempts before a redrive
    key_lifetime    INTEGER,              -- of the idempotency key; NULL for no key
    is_idempotent   INTEGER NOT NULL CHECK (is_idempotent IN (0, 1)),  -- whether its method is idempotent
    unique_key      BLOB,                 -- a digest of the unique name
    unique_states   INTEGER NOT NULL DEFAULT 15,  -- bit n: in state n no other job may have the unique name
    status          INTEGER,              -- the status code of the last response
    failure         TEXT,                 -- the code of the last failed attempt (see `attempt`); NULL for none
    idempotency_key TEXT,
    method          TEXT    NOT NULL,
    url             TEXT    NOT NULL,     -- for display, with secrets masked
    host            TEXT    NOT NULL,
    origin          TEXT    AS (substr(url, 1, instr(url, '://') + 2) || host) VIRTUAL,
    lane            TEXT    NOT NULL,
    kind            TEXT,                 -- the name of the typed call
    tags            TEXT    NOT NULL DEFAULT '[]',  -- a JSON array
    metadata        TEXT    NOT NULL DEFAULT '{}',  -- a JSON object, the app's own
    digest          INTEGER NOT NULL,     -- of the request in payload
    checksum        INTEGER NOT NULL      -- of this row: see above
) STRICT;

-- Claiming ready jobs.
CREATE INDEX job_by_turn ON job (priority DESC, turn, id) WHERE state = 0 AND is_head = 1;

-- Claiming the ready jobs of some identities only.
CREATE INDEX job_of_identity ON job (identity, priority DESC, turn, id) WHERE state = 0 AND is_head = 1;

-- Finding the waiting jobs whose time has come, and the time of the next one.
CREATE INDEX job_by_time ON job (run_at) WHERE state = 1;

-- Finding the jobs that wait for the network.
CREATE INDEX job_offline ON job (id) WHERE state = 1 AND reason = 'offline';

-- Finding the jobs to send before the end of their backoff, by the failure and the origin.
CREATE INDEX job_early ON job (failure, origin, changed_at) WHERE state = 1 AND is_head = 1 AND reason = 'backoff';

-- Finding the jobs of a line.
CREATE INDEX job_in_line ON job (ordering_key, id)
    WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4));

-- At most one head in each line.
CREATE UNIQUE INDEX job_head ON job (ordering_key) WHERE ordering_key IS NOT NULL AND is_head = 1;

-- At most one running job in each line.
CREATE UNIQUE INDEX job_running ON job (ordering_key) WHERE ordering_key IS NOT NULL AND state = 2;

-- Finding the jobs of an owner, for example after its process died.
CREATE INDEX job_of_owner ON job (owner) WHERE owner IS NOT NULL;

-- At most one job with a unique name, counting only jobs in the states of unique_states. By default a job that is done,
-- dead or in review does not count.
CREATE UNIQUE INDEX job_unique ON job (unique_key) WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1;

-- Finding the jobs that have expired.
CREATE INDEX job_by_expiry ON job (expires_at) WHERE expires_at IS NOT NULL AND state IN (0, 1, 3);

-- Listing by state, and deleting jobs that ended long ago.
CREATE INDEX job_by_state ON job (state, changed_at);

-- The encoded requests, with names in place of secrets. They are in a table of their own, because a transition rewrites
-- the whole row of a job.
CREATE TABLE payload (
    job             INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    call            TEXT,                 -- the JSON of the typed call, a copy for reading it alone; NULL if not stored
    request         BLOB    NOT NULL
) STRICT;

-- The answers of jobs whose requests store them. The row is inserted with the job, so that jobs without an answer yet
-- are found, too. A job that ended is not deleted before its answer was consumed, nor while other jobs of its ordering
-- key wait for an id in its answer.
CREATE TABLE answer (
    job             INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    status          INTEGER,              -- NULL before the answer
    location        TEXT,                 -- the path of the Location field, without its query
    body            BLOB,                 -- NULL if it could not be read
    received_at     INTEGER,
    taken_at        INTEGER,              -- NULL until it is consumed
    checksum        INTEGER               -- over status, location and body
) STRICT;

-- The last failed attempts of each job.
CREATE TABLE attempt (
    id              INTEGER PRIMARY KEY,
    job             INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    code            TEXT    NOT NULL,     -- one word: for a status, an error, or the death of the process
    message         TEXT    NOT NULL
) STRICT;

CREATE INDEX attempt_of_job ON attempt (job, id);

-- The owners, which claim jobs. A process has one or several. While an owner is alive, it holds a lock on a file of its
-- own and renews its lease.
CREATE TABLE owner (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,  -- a fresh UUID, and the name of the lock's file
    boot            TEXT    NOT NULL,     -- the boot that its clock counts from
    process         INTEGER NOT NULL,
    program         TEXT    NOT NULL,
    started_at      INTEGER NOT NULL,
    lease_until     INTEGER NOT NULL,     -- by the boot clock
    is_suspended    INTEGER NOT NULL DEFAULT 0 CHECK (is_suspended IN (0, 1))  -- whether the system may end it at any time
) STRICT;

-- The holds on sending. The jobs of a held key, identity or lane are in the state held. Holds of the kinds queue and
-- engine change no job's state, but no job is sent while they last. Holds of the kinds lane and engine also apply to
-- connections and calls.
CREATE TABLE hold (
    kind            TEXT    NOT NULL CHECK (kind IN ('engine', 'queue', 'key', 'identity', 'lane')),
    name            TEXT    NOT NULL,     -- empty for the queue and the engines
    reason          TEXT    NOT NULL,
    since           INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

-- The number of jobs in each state. Triggers maintain it, because counting a million jobs takes a tenth of a second.
CREATE TABLE census (
    state           INTEGER PRIMARY KEY,
    count           INTEGER NOT NULL
) STRICT;

INSERT INTO census VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0);

CREATE TRIGGER census_enqueue AFTER INSERT ON job BEGIN
    UPDATE census SET count = count + 1 WHERE state = new.state;
END;

CREATE TRIGGER census_change AFTER UPDATE OF state ON job WHEN new.state <> old.state BEGIN
    UPDATE census SET count = count - 1 WHERE state = old.state;
    UPDATE census SET count = count + 1 WHERE state = new.state;
END;

CREATE TRIGGER census_removal AFTER DELETE ON job BEGIN
    UPDATE census SET count = count - 1 WHERE state = old.state;
END;

-- The number of transitions in each hour, by verb.
CREATE TABLE hour (
    hour            INTEGER NOT NULL,     -- the number of whole hours since 1970
    verb            TEXT    NOT NULL,     -- enqueue, claim, finish, fail, …
    count           INTEGER NOT NULL,
    PRIMARY KEY (hour, verb)
) STRICT;

-- The last turn that was assigned, in one row.
CREATE TABLE turn (
    last            INTEGER NOT NULL
) STRICT;

INSERT INTO turn VALUES (0);

-- The record of the queue's time, in one row. A wall clock may be wrong, and may be set later. A job must not wait
-- longer, expire, be deleted or go to review because of that. So the queue's time is the wall clock while it is within
-- a minute of zero + the boot clock, and otherwise zero + the boot clock. After a restart of the machine, the queue's
-- time continues from the last reading and adds the time that passed by the wall clock. It never goes back. More than a
-- day is added only after the wall clock and the boot clock have advanced together for an hour.
CREATE TABLE clock (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    boot            TEXT    NOT NULL,     -- the boot to which the other values belong
    zero            INTEGER NOT NULL,     -- the queue's time at the start of that boot
    uptime          INTEGER NOT NULL,     -- the time of the last reading, by the boot clock
    wall            INTEGER NOT NULL,     -- the time of the last reading, by the wall clock
    doubt           INTEGER NOT NULL,     -- the time the machine was off, if not confirmed yet; otherwise 0
    since           INTEGER NOT NULL      -- since when the clocks advance together, by the boot clock; used if doubt > 0
) STRICT;
