import DiamondSQLite

/// The time by which a queue's jobs wait and expire. It is the same for all processes that use the queue
/// (``QueueClock``).
package final class QueueTime: Sendable {
    private let clock: ReplayClock
    private let known = Guarded<QueueClock?>(nil)

    init(_ clock: ReplayClock) { self.clock = clock }

    /// Returns the current moment in a transaction, and updates the stored record if needed.
    func now(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Moment {
        let reading = clock.reading
        if let moment = knownMoment(at: reading) { return moment }
        let stored = try ReplayTable.queueClock(on: connection)
        let record = stored?.updated(by: reading) ?? QueueClock(reading)
        if record != stored { try ReplayTable.save(record, on: connection) }
        known.withLock { $0 = record }
        return Moment(record, at: reading)
    }

    /// Returns the current moment, without a transaction and without writing.
    func now(of database: SQLiteDatabase) throws(SQLiteError) -> Moment {
        let reading = clock.reading
        if let moment = knownMoment(at: reading) { return moment }
        let record = try database.read(ReplayTable.queueClock)?.updated(by: reading) ?? QueueClock(reading)
        return Moment(record, at: reading)
    }

    private func knownMoment(at reading: QueueClock.Reading) -> Moment? {
        guard let record = known.withLock({ $0 }), !record.needsUpdate(for: reading) else { return nil }
        return Moment(record, at: reading)
    }

    /// The current time by the queue's clock, and its difference from the wall clock.
    package struct Moment: Hashable, Sendable {
        /// Milliseconds since 1970.
        package let time: Int64
        /// The lead of the wall clock over the queue's time, in milliseconds; 0 while the wall clock counts as right
        /// (``QueueClock/tolerance``).
        package let lead: Int64

        package init(_ record: QueueClock, at reading: QueueClock.Reading) {
            time = record.time(at: reading)
            lead = reading.wall - time
        }

        /// Converts a time of the wall clock to the queue's time.
        func time(ofWall wall: Int64) -> Int64 { wall.subtractingUnlessOverflow(lead) }
    }
}

extension ReplayClock {
    package var reading: QueueClock.Reading { QueueClock.Reading(boot: boot, uptime: uptime(), wall: now()) }
}

extension Int64 {
    fileprivate func subtractingUnlessOverflow(_ other: Int64) -> Int64 {
        let (difference, isTooFar) = subtractingReportingOverflow(other)
        return isTooFar ? self : difference
    }
}
