-- Adds 100 jobs in a transaction, by the statements of the driver.
BEGIN;
SELECT array_agg(nextval('job_id')) AS ids FROM generate_series(1, 100) \gset
INSERT INTO job (id, state, reason, identity, ordering_key, is_strict, is_head, is_held, priority, run_at, expires_at,
        enqueued_at, changed_at, attempts, attempt_limit, token, owner, unknown_at, key_lifetime, is_idempotent,
        unique_key, idempotency_key, method, url, host, lane, kind, tags, metadata, digest, creates)
    SELECT id, 0, 'enqueued', NULL, NULL, false, true, false, 0, 1.8e12::bigint, 2.8e12::bigint, 1.8e12::bigint,
        1.8e12::bigint, 0, 20, 1, NULL, NULL, 86400000, false, NULL, gen_random_uuid()::text, 'POST',
        'https://api.example.com/notes', 'api.example.com', 'default', NULL, '', '{}', 7, ''
    FROM unnest(:ids::bigint[]) AS id;
INSERT INTO payload (job, call, request) SELECT id, NULL, convert_to(repeat('x', 300), 'UTF8') FROM unnest(:ids::bigint[]) AS id;
INSERT INTO priority SELECT 0 WHERE NOT EXISTS (SELECT FROM priority WHERE value = 0) ON CONFLICT DO NOTHING;
INSERT INTO tally (hour, name, change) VALUES (1, 'enqueue', 100), (0, '0', 100);
COMMIT;
