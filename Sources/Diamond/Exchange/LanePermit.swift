/// The right to be on the wire: held while bytes move, and while interceptors adapt an attempt. Given back when it goes out of
/// scope.
struct LanePermit: ~Copyable {
    private let place: PermitScope
    private let lanes: Lanes
    private let waiter: any PriorityWaiter
    private var isHeld = true
    /// Whether it was not there at once: what was read before may have changed.
    let wasAwaited: Bool

    private init(_ place: PermitScope, _ lanes: Lanes, wasAwaited: Bool, for waiter: any PriorityWaiter) {
        self.place = place
        self.lanes = lanes
        self.wasAwaited = wasAwaited
        self.waiter = waiter
    }

    deinit { if isHeld { lanes.leave(place) } }

    /// Takes a permit where there is one at once; else `nil`.
    ///
    /// - Parameter waiter: who waits in ``retake(in:attempt:within:)``.
    static func atOnce(for place: PermitScope, of lanes: Lanes, as waiter: any PriorityWaiter) -> LanePermit? {
        guard lanes.enterAtOnce(place) else { return nil }
        return LanePermit(place, lanes, wasAwaited: false, for: waiter)
    }

    /// Waits for a permit.
    ///
    /// - Parameters:
    ///   - waiter: who waits, now and in ``retake(in:attempt:within:)``.
    ///   - scope: counts the wait; asked for when it begins.
    /// - Throws: `cancelled` with the waiting task.
    static func awaited(
        for place: PermitScope,
        of lanes: Lanes,
        as waiter: any PriorityWaiter,
        in scope: @autoclosure () -> ActivityScope
    ) async throws(ConnectionError) -> LanePermit {
        guard await lanes.enter(place, for: waiter, in: scope()) else { throw .cancelled }
        return LanePermit(place, lanes, wasAwaited: true, for: waiter)
    }

    /// Waits for a permit no longer than a limit.
    ///
    /// - Throws: `cancelled` with the waiting task, `timedOut` at the limit.
    // Not inlined: few waits are limited.
    @inline(never)
    static func awaited(
        for place: PermitScope,
        of lanes: Lanes,
        as waiter: any PriorityWaiter,
        in scope: @escaping @Sendable () -> ActivityScope,
        within limit: Limit
    ) async throws(ConnectionError) -> LanePermit {
        let wait = await limited(by: limit) { await lanes.enter(place, for: waiter, in: scope()) }
        guard wait.isAdmitted else {
            throw wait.isLate && !Task.isCancelled ? ConnectionError(outOfTime: true) : .cancelled
        }
        return LanePermit(place, lanes, wasAwaited: true, for: waiter)
    }

    private struct Wait: Sendable {
        var isAdmitted: Bool
        var isLate = false
    }

    /// The limit for the time of a wait, and its clock.
    struct Limit: Sendable {
        var time: Duration
        var clock: ExchangeClock
    }

    @inline(never)
    private static func limited(by limit: Limit, _ enter: @escaping @Sendable () async -> Bool) async -> Wait {
        // A permit that comes with the end of the time is there, to be given back as ever.
        let (isAdmitted, isLate) = await limit.clock.limit(limit.time, enter)
        return Wait(isAdmitted: isAdmitted, isLate: isLate)
    }

    /// Gives the permit back before the end: who waits for something else than the wire holds none.
    mutating func giveBack() {
        guard isHeld else { return }
        isHeld = false
        lanes.leave(place)
    }

    /// Takes another permit of the same kind, where there is one at once; the result gives it back.
    var spare: Spare { Self.spare(of: place, lanes) }

    typealias Spare = @Sendable () -> (@Sendable () -> Void)?

    private static func spare(of place: PermitScope, _ lanes: Lanes) -> Spare {
        {
            guard lanes.enterAtOnce(place) else { return nil }
            return { lanes.leave(place) }
        }
    }

    /// Waits for the permit again.
    ///
    /// - Parameter attempt: the attempt that it is for.
    /// - Returns: `false` where the time was up before.
    /// - Throws: `cancelled` with the waiting task.
    mutating func retake(
        in scope: ActivityScope,
        attempt: Int,
        within limit: Limit?
    ) async throws(ConnectionError) -> Bool {
        if !isHeld { isHeld = lanes.enterAtOnce(place) }
        guard !isHeld else { return true }
        let outcome: Wait
        if let limit {
            outcome = await Self.limited(by: limit) { [place, lanes, waiter] in
                await lanes.enter(place, for: waiter, in: scope, attempt: attempt)
            }
        } else {
            outcome = Wait(isAdmitted: await lanes.enter(place, for: waiter, in: scope, attempt: attempt))
        }
        isHeld = outcome.isAdmitted
        guard isHeld || outcome.isLate && !Task.isCancelled else { throw .cancelled }
        return isHeld
    }
}
