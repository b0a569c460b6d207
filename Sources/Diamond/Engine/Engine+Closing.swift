/// Coming to an end.
extension Engine {
    /// Returns when every refresh behind a stale answer has ended (`staleWhileRevalidate`), or the calling task is canceled:
    /// in a lane that is paused a refresh waits as long as that.
    public func settle() async { await pipeline.refreshes.settle() }

    /// Ends what is under way, closes every socket and brings to disk what is stored. Later sends that need the network
    /// fail.
    ///
    /// Answers reach the disk a moment after they are returned: a program that ends at once should close its engine, or
    /// `await cache?.flush()`, before. The files of the cache are closed with the last reference to the engine or the cache.
    ///
    /// - Parameter limit: how long what is under way, or waits, may take to come to its end by itself, but for what is
    ///   paused; then it is canceled, and waited for for 5 seconds at most: code of the app that does not heed a cancellation
    ///   holds nobody up for longer. Only what looks at an answer in the task of a ``Engine/send(_:)->Response`` is canceled
    ///   with that task alone. None by default. What is sent meanwhile counts, too: a server that shuts down stops to take
    ///   requests first. Canceling the calling task ends the limit.
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

    /// Waits until nothing is under way, and what was canceled has kept what it had.
    private func rest(for limit: Duration, by clock: ExchangeClock) async {
        _ = await clock.limit(limit) { [activity, store = pipeline.resumeStore] in
            await activity.idle()
            await store.waitForCanceled()
        }
    }
}
