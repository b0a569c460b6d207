extension CacheStatus {
    /// Creates the status of a response that is served from the cache.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - maxAge: the app's lifetime if the server gives none.
    init(serving stored: StoredResponse, as source: Response.Source, at now: Int64, maxAge: Int64?) {
        self.init()
        timeToLive = stored.timeToLive(at: now, maxAge: maxAge)
        if source == .revalidated { forwardStatus = 304 } else { isHit = true }
    }

    /// Creates the status of a response that was stored when it arrived.
    init(storing stored: StoredResponse, maxAge: Int64?) {
        self.init()
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
    fileprivate func timeToLive(at now: Int64, maxAge: Int64?) -> Int {
        let rest = remainingLifetime(at: now, maxAge: maxAge)
        return Int(rest >= 0 ? rest / 1000 : (rest - 999) / 1000)
    }
}
