/// Who does a run, and what it waits for.
struct ConnectionWork {
    let runner: Runner?
    let claim: FlightClaim?
    let lanes: Lanes?

    func stop() {
        guard let claim else { return }
        runner?.cancel(claim)
        if let lanes { claim.drop(lanes) }
    }
}

extension Connection.Core {
    /// - Returns: what a run that counts no more has left.
    mutating func takeWork() -> ConnectionWork {
        defer { (runner, claim) = (nil, nil) }
        return ConnectionWork(runner: runner, claim: claim, lanes: home?.lanes)
    }
}
