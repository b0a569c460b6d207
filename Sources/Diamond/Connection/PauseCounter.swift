/// The record of whether a pause has been counted. One thread at a time counts; a thread that finds another one
/// counting leaves the count to it.
struct PauseCounter {
    private var token: ActivityToken?
    private var isCounting = false

    func isNew(_ isHeld: Bool) -> Bool { !isCounting && isHeld != (token != nil) }

    /// - Returns: what has ended; ``count(_:)`` follows.
    mutating func beginCounting() -> ActivityToken? {
        isCounting = true
        defer { token = nil }
        return token
    }

    mutating func count(_ token: ActivityToken?) { (self.token, isCounting) = (token, false) }
}
