-- The queue of requests to be sent later, version 1. Never loses a row that somebody was told of: WAL and
-- synchronous = FULL, and each transition is one transaction.
--
-- Times are milliseconds. Those of jobs are since 1970 by the queue's own time, which is the wall clock's as long as that
-- keeps step with the clock that counts from the boot of the machine: where it is set, the queue's time goes on as before, and
-- people are told what the wall clock makes of it (see clock). A lease ends by the time since the boot. States: 0 ready, 1 waiting (for its time), 2 running, 3 held,
-- 4 done, 5 dead, 6 needs review.
--
-- A job stands in line for its ordering key while it is not done and has not left it: in the states 0 to 3, and where its
-- order is strict in 5 and 6 as well. Of each line one is the head, and only heads are sent: the one that is running, else
-- the one that was added first. The head is marked, so that a claim reads what it takes and nothing else, however many
-- stand behind: looked for at each claim, 100,000 jobs behind two keys slow claims by a factor of 300 (Graphile Worker's
-- measurements, src/sql/getJobs.ts). Fairness is `turn`: who becomes the head of a line goes behind all that are ready.

-- A file may be damaged, and what is sent must be what somebody wrote. So each row has 64 bits of SHA-256 over all that
-- decides what is sent, on whose behalf, and whether it may be: id, state, reason, identity, ordering_key, is_strict, is_held,
-- run_at, expires_at, attempts, attempt_limit, token, owner, sent_at, unknown_at, may_have_acted, key_lifetime,
-- is_idempotent, unique_key, method, lane, and the digest of the request, in which everything else stands that goes out. It is
-- held against the row before each transition and each send. Not in it: what decides when a job is sent (is_head, priority,
-- turn, unique_states), which is written for many at a time, and what is shown to people alone (the masked url, host, kind, tags,
-- metadata, the copy of the idempotency key, the last status, enqueued_at, changed_at). A job that is damaged keeps its sum, and
-- so stays damaged.

CREATE TABLE job (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of enqueueing; none is used twice
    state           INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),
    reason          TEXT    NOT NULL,     -- why it is in this state, one word
    identity        TEXT,                 -- on whose behalf, NULL where nobody's in particular
    ordering_key    TEXT,                 -- NULL for no order
    is_strict       INTEGER NOT NULL CHECK (is_strict IN (0, 1)),
    is_head         INTEGER NOT NULL CHECK (is_head IN (0, 1)),  -- 1 too for what has no ordering key and is not at its end
    is_held         INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),  -- by itself, whatever its key and identity
    priority        INTEGER NOT NULL,
    turn            INTEGER NOT NULL,     -- of what is ready, the lowest is sent first
    run_at          INTEGER NOT NULL,     -- not before
    expires_at      INTEGER,              -- not after; NULL for ever
    enqueued_at     INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,     -- its last transition
    attempts        INTEGER NOT NULL DEFAULT 0,  -- that count
    attempt_limit   INTEGER NOT NULL,
    token           INTEGER NOT NULL DEFAULT 0,  -- counts claims and rescues: who has an older one has lost the job
    owner           INTEGER,              -- who runs it
    sent_at         INTEGER,              -- when the attempt that goes on began; NULL while it has not
    unknown_at      INTEGER,              -- the first attempt that may have been processed unseen
    may_have_acted  INTEGER NOT NULL DEFAULT 0 CHECK (may_have_acted IN (0, 1)),  -- so it was, and was redriven since
    key_lifetime    INTEGER,              -- of the idempotency key; NULL where there is none
    is_idempotent   INTEGER NOT NULL CHECK (is_idempotent IN (0, 1)),  -- by its method
    unique_key      BLOB,                 -- a digest
    unique_states   INTEGER NOT NULL DEFAULT 15,  -- bit n: in state n nobody else may have the digest
    status          INTEGER,              -- of the last answer
    idempotency_key TEXT,
    method          TEXT    NOT NULL,
    url             TEXT    NOT NULL,     -- for people: secrets masked
    host            TEXT    NOT NULL,
    lane            TEXT    NOT NULL,
    kind            TEXT,                 -- the name of the typed call
    tags            TEXT    NOT NULL DEFAULT '[]',  -- a JSON array
    metadata        TEXT    NOT NULL DEFAULT '{}',  -- a JSON object, the app's own
    digest          INTEGER NOT NULL,     -- of the request in payload
    checksum        INTEGER NOT NULL      -- of this row: see below
) STRICT;

-- Claiming what is ready.
CREATE INDEX job_by_turn ON job (priority DESC, turn, id) WHERE state = 0 AND is_head = 1;

-- The same for some identities only.
CREATE INDEX job_of_identity ON job (identity, priority DESC, turn, id) WHERE state = 0 AND is_head = 1;

-- Finding whose time has come, and when the next one's comes.
CREATE INDEX job_by_time ON job (run_at) WHERE state = 1;

-- Finding who waits for the network.
CREATE INDEX job_offline ON job (id) WHERE state = 1 AND reason = 'offline';

-- Finding who stands in a line.
CREATE INDEX job_in_line ON job (ordering_key, id)
    WHERE ordering_key IS NOT NULL AND (state < 4 OR (is_strict = 1 AND state > 4));

-- One head in each line,
CREATE UNIQUE INDEX job_head ON job (ordering_key) WHERE ordering_key IS NOT NULL AND is_head = 1;

-- and one running.
CREATE UNIQUE INDEX job_running ON job (ordering_key) WHERE ordering_key IS NOT NULL AND state = 2;

-- What an owner runs, who may have died.
CREATE INDEX job_of_owner ON job (owner) WHERE owner IS NOT NULL;

-- One job of a unique name, in the states that count for it: what is done, dead or in review keeps no newer one out.
CREATE UNIQUE INDEX job_unique ON job (unique_key) WHERE unique_key IS NOT NULL AND (unique_states >> state) & 1;

-- Ending what has expired.
CREATE INDEX job_by_expiry ON job (expires_at) WHERE expires_at IS NOT NULL AND state IN (0, 1, 3);

-- Listing by state, and forgetting what ended long ago.
CREATE INDEX job_by_state ON job (state, changed_at);

-- The request as it is sent: the written form, secrets by name. Apart, because a transition rewrites the whole row.
CREATE TABLE payload (
    job             INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    request         BLOB    NOT NULL
) STRICT;

-- The answer to a job whose request asks for it to be kept: from the time the job is added, so that a job that was never
-- answered is found, too. A job is not forgotten before its answer was taken, nor while its answer has an id that others of
-- its line wait for.
CREATE TABLE answer (
    job             INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    status          INTEGER,              -- NULL where none has come, or not yet
    location        TEXT,                 -- the field of an answer to a POST
    body            BLOB,                 -- NULL where it could not be read
    received_at     INTEGER,
    taken_at        INTEGER,              -- NULL while somebody has to take it
    checksum        INTEGER               -- over status, location and body
) STRICT;

-- The last attempts of a job that came to nothing.
CREATE TABLE attempt (
    id              INTEGER PRIMARY KEY,
    job             INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    code            TEXT    NOT NULL,     -- a word: of the answer's status, the error, or that its process died
    message         TEXT    NOT NULL
) STRICT;

CREATE INDEX attempt_of_job ON attempt (job, id);

-- Who claims jobs: a process, or one of several parts of it. Holds a lock on a file of its own while it lives, and renews
-- its lease.
CREATE TABLE owner (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT    NOT NULL UNIQUE,  -- a fresh UUID, and the name of the lock's file
    boot            TEXT    NOT NULL,     -- which start of the machine its clock counts from
    process         INTEGER NOT NULL,
    program         TEXT    NOT NULL,
    started_at      INTEGER NOT NULL,
    lease_until     INTEGER NOT NULL,     -- by the clock that counts from the boot
    is_suspended    INTEGER NOT NULL DEFAULT 0 CHECK (is_suspended IN (0, 1))  -- the system may end it at any time
) STRICT;

-- What is not to be sent for now. Jobs that one of them names are in the state held; holds of the queue and of the engines
-- change none. Those of lanes and of the engines are for what engines send beside jobs, too.
CREATE TABLE hold (
    kind            TEXT    NOT NULL CHECK (kind IN ('engine', 'queue', 'key', 'identity', 'lane')),
    name            TEXT    NOT NULL,     -- empty for the queue and the engines
    reason          TEXT    NOT NULL,
    since           INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

-- How many jobs are in each state. Kept by triggers, because to count a million takes a tenth of a second.
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

-- What happened in each hour, counted.
CREATE TABLE hour (
    hour            INTEGER NOT NULL,     -- since 1970
    verb            TEXT    NOT NULL,     -- enqueue, claim, finish, fail, …
    count           INTEGER NOT NULL,
    PRIMARY KEY (hour, verb)
) STRICT;

-- The last turn that was given, in one row.
CREATE TABLE turn (
    last            INTEGER NOT NULL
) STRICT;

INSERT INTO turn VALUES (0);

-- The queue's time, in one row. A wall clock may be wrong and be set, and no job may be sent late, expire, be forgotten or go
-- to review for that. Within one start of the machine the queue's time is zero + what the boot clock says. When the machine was
-- off, it goes on from the last look: by what the wall clock says has passed, but not back, and by more than a day only when the
-- wall clock has kept step with the boot clock for an hour.
CREATE TABLE clock (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    boot            TEXT    NOT NULL,     -- which start of the machine the others are of
    zero            INTEGER NOT NULL,     -- the queue's time when that boot's clock stood at 0
    uptime          INTEGER NOT NULL,     -- by the boot's clock, the last look
    wall            INTEGER NOT NULL,     -- by the wall clock, the same
    doubt           INTEGER NOT NULL,     -- how much time off is not believed yet
    since           INTEGER NOT NULL      -- since when the wall clock keeps step, where there is a doubt; by the boot's clock
) STRICT;
