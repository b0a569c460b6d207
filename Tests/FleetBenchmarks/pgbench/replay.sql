-- Claims and finishes 100 jobs in two transactions, by the statements of the driver.
BEGIN;
SELECT array_agg(id) AS ids, coalesce(max(turn), 0) AS mark, sum(length(request)) AS size FROM (
    SELECT id, turn, (SELECT request FROM payload WHERE payload.job = job.id) AS request FROM job
    WHERE state = 0 AND is_head AND priority = 0 AND turn >= :mark::bigint
    ORDER BY priority, turn, id LIMIT 100 FOR UPDATE SKIP LOCKED) AS ready \gset
UPDATE job SET state = 2, reason = 'claimed', token = token + 1, owner = 1, changed_at = 1.8e12::bigint, turn = -7
    WHERE id = ANY(:ids::bigint[]);
INSERT INTO tally (hour, name, change) VALUES (1, 'claim', 100), (0, '0', -100), (0, '2', 100);
COMMIT;
BEGIN;
SELECT count(*) AS count FROM (
    SELECT id FROM job WHERE id = ANY(:ids::bigint[]) ORDER BY id FOR UPDATE) AS running \gset
WITH gone AS (DELETE FROM job WHERE id = ANY(:ids::bigint[]) RETURNING *)
    INSERT INTO ended (id, state, reason, identity, ordering_key, is_strict, is_head, is_held, priority, turn, run_at,
        expires_at, enqueued_at, changed_at, attempts, attempt_limit, token, owner, sent_at, unknown_at, may_have_acted,
        key_lifetime, is_idempotent, unique_key, has_name, status, failure, idempotency_key, method, url, host, lane,
        kind, tags, metadata, digest, creates)
    SELECT id, 4, 'finished', identity, ordering_key, is_strict, false, is_held, priority, turn, run_at, expires_at,
        enqueued_at, 1.8e12::bigint, attempts, attempt_limit, token, NULL, sent_at, unknown_at, may_have_acted,
        key_lifetime, is_idempotent, unique_key, has_name, 200, failure, idempotency_key, method, url, host, lane, kind,
        tags, metadata, digest, creates FROM gone;
INSERT INTO tally (hour, name, change) VALUES (1, 'finish', 100), (0, '2', -100), (0, '4', 100);
COMMIT;
