/// Whether a pause has been counted: by one thread at a time, and whoever finds another at it leaves it to that one.
struct ConnectionHold {
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
