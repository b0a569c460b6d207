/// Erasing and invalidating stored responses, and forgetting identities.
extension Engine {
    /// Erases the entries stored for a request.
    ///
    /// - Returns: `false` if there were none.
    /// - Throws: ``ConnectionError``: if the store cannot be written, `other` with the ``CacheError`` as the cause.
    @discardableResult
    @concurrent
    public func purge(_ request: Request) async throws(ConnectionError) -> Bool {
        try await revoke(request, isErasure: true)
    }

    /// Marks the entries stored for a request stale (``Cache/invalidate(_:)``).
    ///
    /// - Returns: `false` if all of them were marked already, or there were none.
    /// - Throws: the errors of ``purge(_:)->Bool``.
    @discardableResult
    @concurrent
    public func invalidate(_ request: Request) async throws(ConnectionError) -> Bool {
        try await revoke(request, isErasure: false)
    }

    private func revoke(_ request: Request, isErasure: Bool) async throws(ConnectionError) -> Bool {
        let key = try await key(of: request)
        // Canceled exchanges may still be storing their partial responses.
        await pipeline.store.locks.waitForCanceled()
        do throws(CacheError) {
            return try await isErasure ? purge(.key(key)) > 0 : invalidate(.key(key)) > 0
        } catch {
            throw ConnectionError(.other, error.message, cause: error)
        }
    }

    /// Erases the stored entries of a selection (``Cache/purge(_:)``). Observed queries among them are fetched again.
    ///
    /// ```swift
    /// try await engine.purge(.host("api.example.com"))
    /// ```
    ///
    /// - Returns: the number of erased entries; 0 without a cache.
    @discardableResult
    @concurrent
    public func purge(_ selection: CacheSelection) async throws(CacheError) -> Int {
        guard let cache else { return revokeUnstored(selection, isErasure: true) }
        return try await cache.purge(selection)
    }

    /// Marks the stored entries of a selection stale (``Cache/invalidate(_:)``). Observed queries among them are
    /// fetched again.
    ///
    /// ```swift
    /// try await engine.invalidate(.tag("cities"))
    /// ```
    ///
    /// - Returns: the number of newly marked entries; 0 without a cache.
    @discardableResult
    @concurrent
    public func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int {
        guard let cache else { return revokeUnstored(selection, isErasure: false) }
        return try await cache.invalidate(selection)
    }

    /// Notes for running exchanges and observed queries that responses are outdated.
    private func revokeUnstored(_ selection: CacheSelection, isErasure: Bool) -> Int {
        pipeline.invalidations.add(selection, isErasure: isErasure)
        pipeline.invalidations.announce(CacheInvalidation(of: [selection], isErasure: isErasure))
        return 0
    }

    /// Forgets an identity, for a logout: erases its entries, for every process of the store, its cookies, and its jobs
    /// that have ended, with their answers, except those that open jobs need. What is erased is overwritten in the
    /// files. <doc:SigningIn> lists what stays.
    ///
    /// Running exchanges for the identity still return their responses to their callers, but do not store them, and
    /// failed ones are not added to the queue. The open jobs of the identity are held, for every process, until
    /// ``ReplayQueue/release(_:)-(ReplayHold)`` releases them after the next login. Until then, lists of jobs leave them
    /// out (``ReplayFilter/includesSignedOut``).
    ///
    /// If something was erased from a file in clear or from the queue, that file is rewritten, which takes time in
    /// proportion to its size. A program that ends before that leaves it to the next one that uses the store.
    ///
    /// With a queue on a server, the jobs that wait for it in files of the store are erased, too. Open ones that
    /// another living engine of the store has not moved yet are not discarded: then the error `busy` is thrown at the
    /// end, and a call after the move erases them. Files for other servers, and those of other machines, are left as
    /// they are.
    ///
    /// - Parameters:
    ///   - identity: the identity.
    ///   - discardsJobs: whether to erase the open jobs of the identity, too. The requests that they hold are never
    ///     sent, except those that are being sent already. Nothing has to be released after the next login. Default:
    ///     `false`.
    /// - Returns: the number of entries that were erased.
    /// - Throws: the error of ``Cache/purge(_:)``; ``cacheFailure`` if the store could not be opened, so that its
    ///   entries stay; the failure of the queue, after the entries were erased. The observers get it, too.
    @discardableResult
    @concurrent
    public func forget(identity: String, discardingJobs discardsJobs: Bool = false) async throws(CacheError) -> Int {
        pipeline.forget(identity)
        pipeline.exchangeEnvironment.cookies?.removeAll(of: identity)
        let failure = await forgetJobs(of: identity, discarding: discardsJobs)
        let count = try await eraseEntries(of: identity)
        if let failure { throw failure }
        return count
    }

    /// Erases the entries of an identity.
    ///
    /// - Throws: ``cacheFailure`` if the store could not be opened.
    private func eraseEntries(of identity: String) async throws(CacheError) -> Int {
        if let cache { return try await cache.purge(.identity(identity)) }
        if let cacheFailure { throw cacheFailure }
        return 0
    }
}
