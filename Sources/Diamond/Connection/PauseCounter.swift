/// The record of whether a pause has been counted. One thread counts at a time. A thread that finds another one
/// counting leaves the count to it.
struct PauseCounter {
    private var token: ActivityToken?
    private var isCounting = false

    /// Whether the count differs from the pause, and no thread is changing it.
    func needsCounting(_ isHeld: Bool) -> Bool { !isCounting && isHeld != (token != nil) }

    /// Begins a change of the count, which ``endCounting(_:)`` ends.
    ///
    /// - Returns: the token of the pause that has ended; `nil` if none was counted.
    mutating func beginCounting() -> ActivityToken? {
        isCounting = true
        defer { token = nil }
        return token
    }

    mutating func endCounting(_ token: ActivityToken?) {
        self.token = token
        isCounting = false
    }
}
