extension Engine {
    /// Erases the entries of an identity.
    ///
    /// - Throws: ``cacheFailure`` if the store could not be opened.
    func eraseEntries(of identity: String) async throws(CacheError) -> Int {
        if let cache { return try await cache.purge(.identity(identity)) }
        if let cacheFailure { throw cacheFailure }
        return 0
    }
}
