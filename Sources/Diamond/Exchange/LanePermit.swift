/// The right to be on the wire, held while bytes move and while interceptors adapt an attempt. It is released at the
/// latest when it goes out of scope.
struct LanePermit: ~Copyable {
    private let scope: PermitScope
    private let lanes: Lanes
    private let waiter: any PriorityWaiter
    private var isHeld = true
    /// Whether the permit was waited for. Values that were read before may have changed.
    let wasAwaited: Bool

    deinit { if isHeld { lanes.release(scope) } }

    /// Acquires a permit if one is available without a wait; otherwise returns `nil`.
    ///
    /// - Parameter waiter: the waiter of ``reacquire(countedIn:attempt:within:)``.
    static func acquireIfAvailable(
        for scope: PermitScope,
        of lanes: Lanes,
        as waiter: any PriorityWaiter
    ) -> LanePermit? {
        guard lanes.acquireIfAvailable(scope) else { return nil }
        return LanePermit(scope: scope, lanes: lanes, waiter: waiter, wasAwaited: false)
    }

    /// Waits for a permit, no longer than a limit if there is one.
    ///
    /// - Parameters:
    ///   - waiter: the waiter, now and in ``reacquire(countedIn:attempt:within:)``.
    ///   - activityScope: the scope that counts the wait; evaluated when the wait begins.
    /// - Throws: `cancelled` with the waiting task, `timedOut` at the limit.
    static func acquire(
        for scope: PermitScope,
        of lanes: Lanes,
        as waiter: any PriorityWaiter,
        countedIn activityScope: () -> ActivityScope,
        within limit: TimeLimit? = nil
    ) async throws(ConnectionError) -> LanePermit {
        guard await lanes.acquire(scope, for: waiter, countedIn: activityScope(), within: limit) else {
            throw limit == nil || Task.isCancelled ? .cancelled : ConnectionError(outOfTime: true)
        }
        return LanePermit(scope: scope, lanes: lanes, waiter: waiter, wasAwaited: true)
    }

    /// Releases the permit early, because the exchange waits for something other than the wire.
    mutating func release() {
        guard isHeld else { return }
        isHeld = false
        lanes.release(scope)
    }

    /// A function that acquires another permit of the same scope, if one is available without a wait. The function that
    /// it returns releases that permit.
    var spare: Spare {
        { [scope, lanes] in
            guard lanes.acquireIfAvailable(scope) else { return nil }
            return { lanes.release(scope) }
        }
    }

    typealias Spare = @Sendable () -> (@Sendable () -> Void)?

    /// Waits for the permit again.
    ///
    /// - Parameters:
    ///   - activityScope: the scope that counts the wait.
    ///   - attempt: the number of the attempt that it is for.
    ///   - limit: the limit for the wait; `nil` for none.
    /// - Returns: `false` if the limit was reached.
    /// - Throws: `cancelled` with the waiting task.
    mutating func reacquire(
        countedIn activityScope: ActivityScope,
        attempt: Int,
        within limit: TimeLimit?
    ) async throws(ConnectionError) -> Bool {
        if !isHeld { isHeld = lanes.acquireIfAvailable(scope) }
        guard !isHeld else { return true }
        isHeld = await lanes.acquire(scope, for: waiter, countedIn: activityScope, attempt: attempt, within: limit)
        guard isHeld || limit != nil && !Task.isCancelled else { throw .cancelled }
        return isHeld
    }
}
