import DiamondSQLite

/// The time that a queue's jobs go by, the same for all who use the queue (``QueueClock``).
package final class QueueTime: Sendable {
    private let clock: ReplayClock
    private let known = Guarded<QueueClock?>(nil)

    init(_ clock: ReplayClock) { self.clock = clock }

    /// Milliseconds since 1970, in a transaction: what the clocks have done since the last one is written down.
    func now(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Moment {
        let look = clock.look
        if let reckoning = known.withLock({ $0 }), !reckoning.needs(look) { return Moment(reckoning, look) }
        let written = try ReplayTable.reckoning(on: connection)
        let reckoning = written?.after(look) ?? QueueClock(look)
        if reckoning != written { try ReplayTable.save(reckoning, on: connection) }
        known.withLock { $0 = reckoning }
        return Moment(reckoning, look)
    }

    /// Returns the current moment, without a transaction and without writing.
    func now(of database: SQLiteDatabase) throws(SQLiteError) -> Moment {
        let look = clock.look
        if let reckoning = known.withLock({ $0 }), !reckoning.needs(look) { return Moment(reckoning, look) }
        return Moment(try database.read(ReplayTable.reckoning)?.after(look) ?? QueueClock(look), look)
    }

    /// A moment by the queue's time.
    package struct Moment: Hashable, Sendable {
        /// Milliseconds since 1970.
        package let time: Int64
        /// The lead of the wall clock over the queue's time, in milliseconds; 0 if the wall clock was not set.
        package let lead: Int64

        package init(_ reckoning: QueueClock, _ look: QueueClock.Look) {
            time = reckoning.time(look)
            lead = look.wall - time
        }

        /// A time of the wall clock, as the queue would have it.
        func time(ofWall wall: Int64) -> Int64 { wall.subtractedAtMost(lead) }
    }
}

extension ReplayClock {
    package var look: QueueClock.Look { QueueClock.Look(boot: boot, uptime: uptime(), wall: now()) }
}

extension Int64 {
    fileprivate func subtractedAtMost(_ other: Int64) -> Int64 {
        let (difference, isTooFar) = subtractingReportingOverflow(other)
        return isTooFar ? self : difference
    }
}
