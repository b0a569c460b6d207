import DiamondSQLite

/// The attempts that depend on the lease: they end before it does.
extension ReplayOwner {
    /// An attempt that runs.
    struct RunningAttempt {
        /// The owner on whose lease the attempt depends; `nil` if there is none, and no exchange begins.
        let owner: Int64?
        let cancel: @Sendable () -> Void
        /// Waits until the attempt is over.
        let end: @Sendable () async -> Void
        /// Whether the owner has ended the attempt.
        var isEndedByOwner = false
        /// Whether the caller that waits for the attempt has canceled.
        var isCanceledByCaller = false
    }

    /// Ends the attempts that depend on a lease, unless it was renewed meanwhile.
    func endAttempts(of owner: Int64, leasedUntil leaseEnd: Uptime) {
        let cancels = state.withLock { state in
            state.id == owner && state.leaseEnd <= leaseEnd ? state.endAttempts(of: owner) : []
        }
        for cancel in cancels { cancel() }
    }

    /// Waits for the attempts to end, even if the task is canceled. A job given back while it is sent would be sent
    /// again by another owner.
    func waitForAttempts() async {
        let ends = state.withLock { $0.attempts.values.map(\.end) }
        guard !ends.isEmpty else { return }
        _ = await TimeLimit(clock.endTimeout).value { for end in ends { await end() } }
    }

    /// Whether the lease lasts long enough to begin an attempt.
    var mayBegin: Bool { state.withLock { $0.id != nil && clock.uptime() < $0.leaseEnd - Self.margin } }

    /// Runs an attempt until its result is written. Cancels it before the lease ends, or when the owner retires.
    ///
    /// - Parameter body: makes the attempt, and writes its result. Its argument returns whether the owner has ended the
    ///   attempt, and the caller has not canceled it.
    func runAttempt<Value: Sendable>(
        _ body: @escaping @Sendable (_ isEndedByOwner: @escaping @Sendable () -> Bool) async -> Value
    ) async -> Value {
        let (number, task) = state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            let task = Task { await body { self.isEndedByOwner(number) } }
            state.attempts[number] = RunningAttempt(
                owner: state.id, cancel: { task.cancel() }, end: { _ = await task.value })
            return (number, task)
        }
        defer { state.withLock { $0.attempts[number] = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            state.withLock { $0.attempts[number]?.isCanceledByCaller = true }
            task.cancel()
        }
    }

    private func isEndedByOwner(_ number: Int) -> Bool {
        state.withLock { state in
            state.attempts[number].map { $0.isEndedByOwner && !$0.isCanceledByCaller } ?? false
        }
    }

    /// Waits before an outcome is written again, even if the task is canceled. The wait is short once the owner has
    /// retired.
    func pause(for duration: Duration) async {
        let signal = Signal()
        let (number, isRetired) = state.withLock { state in
            state.lastNumber += 1
            if !state.isRetired { state.pauses[state.lastNumber] = signal }
            return (state.lastNumber, state.isRetired)
        }
        let pause = isRetired ? Self.lastPause : duration
        await Task { [clock] in await signal.wait(within: TimeLimit(pause, by: clock.sleep)) }.value
        state.withLock { $0.pauses[number] = nil }
    }

    /// The pause once the owner has retired, because the caller of ``retire()`` waits.
    private static let lastPause = Duration.milliseconds(200)
}
