-- The queue, version 2.
--
-- Files of version 1 have several forms, because its script was changed in place before this version. Before this
-- script, a file gets the form of `replay-v1.sql`, and its jobs get their checksums.
--
-- The triggers count from a damaged number, too. A sum that overflows would fail each transition of a job.

DROP TRIGGER census_enqueue;

CREATE TRIGGER census_enqueue AFTER INSERT ON job BEGIN
    UPDATE census SET count = max(0, min(count, 1 << 53)) + 1 WHERE state = new.state;
END;

DROP TRIGGER census_change;

CREATE TRIGGER census_change AFTER UPDATE OF state ON job WHEN new.state <> old.state BEGIN
    UPDATE census SET count = max(1, min(count, 1 << 53)) - 1 WHERE state = old.state;
    UPDATE census SET count = max(0, min(count, 1 << 53)) + 1 WHERE state = new.state;
END;

DROP TRIGGER census_removal;

CREATE TRIGGER census_removal AFTER DELETE ON job BEGIN
    UPDATE census SET count = max(1, min(count, 1 << 53)) - 1 WHERE state = old.state;
END;
