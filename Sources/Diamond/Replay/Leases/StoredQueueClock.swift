import DiamondSQLite

/// The clock of a queue, whose record (``QueueClock``) is in the queue's file. It is the same for all processes that
/// use the queue.
final class StoredQueueClock: Sendable {
    private let clock: ReplayClock
    private let known = Guarded<QueueClock?>(nil)

    init(_ clock: ReplayClock) { self.clock = clock }

    /// Returns the current moment in a transaction, and updates the stored record if needed.
    func now(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayMoment {
        let reading = clock.reading
        if let moment = knownMoment(at: reading) { return moment }
        let stored = try ReplayTable.queueClock(on: connection)
        let record = stored?.updated(by: reading) ?? QueueClock(reading)
        if record != stored { try ReplayTable.save(record, on: connection) }
        known.withLock { $0 = record }
        return record.moment(at: reading)
    }

    /// Returns the current moment, without a transaction and without writing.
    func now(of database: SQLiteDatabase) throws(SQLiteError) -> ReplayMoment {
        let reading = clock.reading
        if let moment = knownMoment(at: reading) { return moment }
        let record = try database.read(ReplayTable.queueClock)?.updated(by: reading) ?? QueueClock(reading)
        return record.moment(at: reading)
    }

    private func knownMoment(at reading: QueueClock.Reading) -> ReplayMoment? {
        guard let record = known.withLock({ $0 }), !record.needsUpdate(for: reading) else { return nil }
        return record.moment(at: reading)
    }
}

extension ReplayClock {
    package var reading: QueueClock.Reading { QueueClock.Reading(boot: boot, uptime: uptime(), wall: now()) }
}
