-- The queue on PostgreSQL, version 1. The tables mean what they mean in SQLite (replay-v1.sql to replay-v4.sql); only
-- the differences are described here.
--
-- A held snapshot (a long transaction of anybody on the server) keeps the versions of changed rows, and their entries in
-- indexes, alive. So no statement of the hot path reads a range of an index in which dead entries pile up:
--   Jobs that have ended, and stop no later ones, leave `job` for `ended`.
--   A claim starts at a low-water mark: `turn` is the id of the transaction that has made the job ready, so that no job
--   appears below the oldest transaction that runs.
--   The job after a finished one in its line is searched from its id on (but see `is_behind`).
--   A heartbeat changes the row of an owner, never those of its jobs.
--   Counts are added to `tally`, and summed up later. No transaction waits for another one because of a count.
--
-- A transaction that changes which jobs are in a line first locks the key: pg_advisory_xact_lock('DiaK', hashtext(key)),
-- several keys in ascending order. Claims only lock rows, and skip locked ones.
--
-- All times are by the server's clock, in milliseconds since 1970.

CREATE SEQUENCE job_id AS bigint;

CREATE TABLE job (
    id              bigint   PRIMARY KEY,  -- in the order of enqueueing within each line; never reused
    state           smallint NOT NULL CHECK (state BETWEEN 0 AND 6),
    reason          text     NOT NULL,
    identity        text,
    ordering_key    text,
    is_strict       boolean  NOT NULL,
    is_head         boolean  NOT NULL,
    is_behind       boolean  NOT NULL DEFAULT false,  -- it came into its line although a later job was its head
    is_held         boolean  NOT NULL,
    priority        bigint   NOT NULL,
    turn            bigint   NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    run_at          bigint   NOT NULL,
    expires_at      bigint,
    enqueued_at     bigint   NOT NULL,
    changed_at      bigint   NOT NULL,
    attempts        bigint   NOT NULL,
    attempt_limit   bigint   NOT NULL,
    token           bigint   NOT NULL,
    owner           bigint,
    sent_at         bigint,
    unknown_at      bigint,
    may_have_acted  boolean  NOT NULL DEFAULT false,
    key_lifetime    bigint,
    is_idempotent   boolean  NOT NULL,
    unique_key      bytea,
    has_name        boolean  NOT NULL DEFAULT true,  -- false when another job has taken over the unique name
    status          bigint,
    failure         text,
    idempotency_key text,
    method          text     NOT NULL,
    url             text     NOT NULL,
    host            text     NOT NULL,
    lane            text     NOT NULL,
    kind            text,
    tags            text     NOT NULL,
    metadata        text     NOT NULL,
    digest          bigint   NOT NULL,
    creates         text     NOT NULL DEFAULT ''
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2);

-- The jobs that have ended, apart from those that stop later ones of their line.
CREATE TABLE ended (LIKE job INCLUDING DEFAULTS INCLUDING CONSTRAINTS);

-- Claiming.
CREATE INDEX job_by_turn ON job (priority, turn, id) WHERE state = 0 AND is_head;
CREATE INDEX job_of_identity ON job (identity, priority, turn, id)
    WHERE state = 0 AND is_head AND identity IS NOT NULL;
CREATE INDEX job_by_time ON job (run_at) WHERE state = 1;
CREATE INDEX job_by_expiry ON job (expires_at) WHERE expires_at IS NOT NULL AND state IN (0, 1, 3);
CREATE INDEX job_early ON job (failure, host, changed_at) WHERE state = 1 AND failure IS NOT NULL;
CREATE INDEX job_offline ON job (id) WHERE state = 1 AND reason = 'offline';

-- Lines.
CREATE INDEX job_in_line ON job (ordering_key, id) WHERE ordering_key IS NOT NULL;
CREATE INDEX job_behind ON job (ordering_key, id) WHERE is_behind;
CREATE UNIQUE INDEX job_head ON job (ordering_key) WHERE ordering_key IS NOT NULL AND is_head;
CREATE UNIQUE INDEX job_running ON job (ordering_key) WHERE ordering_key IS NOT NULL AND state = 2;

-- Others.
CREATE INDEX job_of_owner ON job (owner) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX job_unique ON job (unique_key) WHERE unique_key IS NOT NULL AND has_name AND state < 4;
CREATE INDEX job_creating ON job (creates, id) WHERE creates <> '';
CREATE UNIQUE INDEX ended_by_id ON ended (id);
CREATE INDEX ended_by_state ON ended (state, changed_at);
CREATE INDEX ended_creating ON ended (creates, id) WHERE creates <> '';

-- All jobs, for lists.
CREATE VIEW every_job AS SELECT * FROM job UNION ALL SELECT * FROM ended;

-- The priorities that jobs have or had. A claim searches each of them, the highest first.
CREATE TABLE priority (
    value           bigint   PRIMARY KEY
);

CREATE TABLE payload (
    job             bigint   PRIMARY KEY,
    call            text,
    request         bytea    NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE answer (
    job             bigint   PRIMARY KEY,
    status          bigint,               -- NULL before the answer
    content         bytea,
    received_at     bigint,
    taken_at        bigint                -- NULL until it is consumed
);

CREATE TABLE attempt (
    id              bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job             bigint   NOT NULL,
    number          bigint   NOT NULL,
    started_at      bigint   NOT NULL,
    ended_at        bigint   NOT NULL,
    code            text     NOT NULL,
    message         text     NOT NULL
);

CREATE INDEX attempt_of_job ON attempt (job, id);

CREATE TABLE edge (
    job             bigint   NOT NULL,
    name            text     NOT NULL,
    PRIMARY KEY (job, name)
);

CREATE INDEX edge_of_object ON edge (name, job);

-- An owner is alive while its lease lasts, and while its session holds pg_advisory_lock('DiaO', id). The lock is free at
-- once when its process or its machine's connection ends; the lease ends when the network is silent.
CREATE TABLE owner (
    id              integer  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    process         bigint   NOT NULL,
    program         text     NOT NULL,
    address         text,                 -- of the client, as the server sees it
    started_at      bigint   NOT NULL,
    lease_until     bigint   NOT NULL,
    is_suspended    boolean  NOT NULL,
    has_lock        boolean  NOT NULL DEFAULT false  -- false until its session has the lock
);

CREATE TABLE hold (
    kind            text     NOT NULL CHECK (kind IN ('engine', 'queue', 'key', 'identity', 'lane')),
    name            text     NOT NULL,
    reason          text     NOT NULL,
    since           bigint   NOT NULL,
    is_sign_out     boolean  NOT NULL DEFAULT false,
    PRIMARY KEY (kind, name)
);

-- The changes of counts since they were last added to `total`. The hour 0 has the number of jobs in each state.
CREATE TABLE tally (
    hour            bigint   NOT NULL,
    name            text     NOT NULL,    -- a verb; in the hour 0 the number of a state
    change          bigint   NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE total (
    hour            bigint   NOT NULL,
    name            text     NOT NULL,
    count           bigint   NOT NULL,
    PRIMARY KEY (hour, name)
);
