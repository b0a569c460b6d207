import DiamondSQLite

/// Closes an engine.
extension Engine {
    /// Waits until all background refreshes have ended (`staleWhileRevalidate`), or the calling task is canceled. A
    /// refresh in a paused lane waits until the lane is resumed.
    public func waitForRefreshes() async { await pipeline.refreshes.waitForAll() }

    /// Waits until the background refresh of a request's stale response has ended, or the calling task is canceled;
    /// returns at once if none is under way. A refresh of a URL to which the request was redirected has another key.
    public func waitForRefresh(of request: Request) async {
        guard let key = try? await key(of: request) else { return }
        await pipeline.refreshes.wait { $0.requestKey == key }
    }

    /// Ends all work under way, closes every socket and writes stored responses and recorded events to disk. Later sends that need the
    /// network fail. The next process continues downloads into files
    /// (``download(_:to:limit:progress:)-(_,URL,_,_)``).
    ///
    /// Responses are written to disk a moment after they are returned: a program that ends soon should close its
    /// engine, or call `await cache?.flush()`, first. The files of the cache are closed when the last reference to the
    /// engine or the cache is released.
    ///
    /// - Parameter limit: the time for running and waiting work to finish, zero by default. Paused work is not waited
    ///   for, but requests that are sent meanwhile are: a server that shuts down should stop accepting requests first.
    ///   Canceling the calling task ends the wait at once. The remaining work is then canceled, and has at most 5 more
    ///   seconds to stop. App code that ignores its cancellation delays the end no longer than that. Code that
    ///   validates or decodes a response in the task of a ``Engine/send(_:)->Response`` is canceled only with that
    ///   task.
    @concurrent
    public func close(within limit: Duration = .zero) async {
        queries.close()
        automaticReplay?.stop()
        if limit > .zero { await waitForIdle(limit: limit, clock: pipeline.exchangeEnvironment.retryCoordinator.clock) }
        for connection in members.all { connection.cancelKeepingFile() }
        pipeline.refreshes.cancel()
        pipeline.streams.cancel()
        pipeline.exchangeEnvironment.retryCoordinator.waits.close()
        pipeline.builder.refreshes?.close()
        await transport.close()
        // After the transport, so that exchanges on the wire get its error.
        pipeline.sharing.exchanges.cancelBegun()
        pipeline.sharing.streams.cancelBegun()
        lanes.ignorePauses()
        // A real clock, because a test's clock may not advance.
        await waitForIdle(limit: .seconds(5), clock: ExchangeClock(ContinuousClock()))
        await pipeline.replays?.opened?.close()
        await cache?.flush()
        await pipeline.sharing.fleet?.ends.waitForAll()
        await eventFile?.flush()
    }

    /// Waits until no work is running, and canceled exchanges have saved their partial responses.
    private func waitForIdle(limit: Duration, clock: ExchangeClock) async {
        _ = await clock.limit(limit).canceling { [activity, locks = pipeline.store.locks] in
            await activity.idle()
            await locks.waitForCanceled()
        }
    }
}
