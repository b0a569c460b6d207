/// Closing an engine.
extension Engine {
    /// Returns when every refresh behind a stale answer has ended (`staleWhileRevalidate`), or the calling task is
    /// canceled. A refresh in a paused lane waits until the lane is resumed.
    public func settle() async { await pipeline.refreshes.settle() }

    /// Ends all work under way, closes every socket and writes stored answers to disk. Later sends that need the
    /// network fail.
    ///
    /// Answers reach the disk a moment after they are returned: a program that ends at once should close its engine, or
    /// call `await cache?.flush()`, before. The files of the cache are closed with the last reference to the engine or
    /// the cache.
    ///
    /// - Parameter limit: the time that work under way, or waiting, has to end by itself, except paused work; none by
    ///   default. Then the work is canceled. This waits at most 5 seconds for it, so that code of the app that ignores
    ///   a cancellation does not cause a longer delay. Only code that looks at an answer in the task of a
    ///   ``Engine/send(_:)->Response`` is canceled with that task alone. Requests sent meanwhile count, too: a server
    ///   that shuts down stops accepting requests first. Canceling the calling task ends the limit.
    @concurrent
    public func close(within limit: Duration = .zero) async {
        if limit > .zero { await rest(for: limit, by: pipeline.wire.repetitions.clock) }
        for connection in members.all { connection.cancel() }
        pipeline.refreshes.cancel()
        pipeline.streams.cancel()
        pipeline.wire.repetitions.waits.close()
        pipeline.credentialRefreshes?.close()
        await transport.close()
        // Behind it, so that who was on the wire hears why.
        pipeline.sharing.exchanges.cancelBegun()
        lanes.open()
        // By a clock that goes: who has canceled waits for no other.
        await rest(for: .seconds(5), by: ExchangeClock(ContinuousClock()))
        await pipeline.replays?.opened?.close()
        await cache?.flush()
    }

    /// Waits until no work is under way, and canceled work has kept the part that it had received.
    private func rest(for limit: Duration, by clock: ExchangeClock) async {
        _ = await clock.limit(limit) { [activity, store = pipeline.resumeStore] in
            await activity.idle()
            await store.waitForCanceled()
        }
    }
}
