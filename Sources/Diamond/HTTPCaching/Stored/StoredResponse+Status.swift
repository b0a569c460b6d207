/// A request that was sent before a stored response was served.
struct CacheForwarding {
    let reason: CacheStatus.ForwardReason?
    /// The status of the server's response; `nil` if there was none.
    let status: Int?
}

extension CacheStatus {
    /// Creates the status of a response that is served from the cache.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - maxAge: the app's lifetime if the server gives none.
    ///   - forwarding: the request that was sent before; `nil` for a hit (RFC 9211 section 2.1).
    init(serving stored: StoredResponse, at now: WallTime, maxAge: Int64?, after forwarding: CacheForwarding?) {
        self.init(forwardReason: forwarding?.reason)
        timeToLive = stored.timeToLive(at: now, maxAge: maxAge)
        forwardStatus = forwarding?.status
        isHit = forwarding == nil
    }

    /// Creates the status of a response that was stored when it arrived.
    ///
    /// - Parameter forwardStatus: the server's status, if the response has another one.
    init(storing stored: StoredResponse, maxAge: Int64?, forwardStatus: Int?) {
        self.init()
        self.forwardStatus = forwardStatus
        timeToLive = stored.timeToLive(at: stored.storedAt, maxAge: maxAge)
        isStored = true
    }

    /// The status of a response that the cache generates, because nothing that may be served is stored.
    static var nothingStored: CacheStatus {
        var status = CacheStatus()
        status.detail = "nothing that may be served is stored"
        return status
    }
}

extension StoredResponse {
    /// Returns the whole seconds until the response is stale, rounded down; negative if it is stale.
    fileprivate func timeToLive(at now: WallTime, maxAge: Int64?) -> Int {
        let rest = remainingLifetime(at: now, maxAge: maxAge)
        return Int(rest >= 0 ? rest / 1000 : (rest - 999) / 1000)
    }
}
