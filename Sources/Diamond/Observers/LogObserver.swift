#if Logging
import HTTPTypes
public import Logging

/// An observer that writes an engine's events to a `Logger` of swift-log. Needs the package's trait `Logging`.
///
/// A problem with the store, the queue or a redirect is a warning. The end of a request, an attempt or a refresh is
/// `debug`, even with an error, because the caller handles errors. A job's transition, an unknown content coding and a
/// resumed transfer are `debug` as well. The rest is `trace`. The end of an interval has its `duration`, such as
/// `0.012 seconds`. A hit or miss of the cache has method, URL and the beginning of the key, as `cachectl` shows it.
public struct LogObserver: ActivityObserver {
    private let logger: Logger

    /// Creates an observer. The default logger has the label `diamond`.
    public init(_ logger: Logger = Logger(label: "diamond")) { self.logger = logger }

    public func receive(_ event: ActivityEvent) {
        switch event {
        case .began(let interval): logger.trace("\(interval.kind) began", metadata: interval.metadata)
        case .ended(let interval, let outcome): log(endOf: interval, outcome: outcome)
        case .unknownContentCoding(let coding, let origin):
            logger.debug("a content coding was not removed", metadata: ["coding": "\(coding)", "server": "\(origin)"])
        case .transferResumed(let origin, let offset, let total):
            logger.debug(
                "a transfer was resumed",
                metadata: ["server": "\(origin)", "offset": "\(offset)", "total": "\(total)"])
        case .hit(let source, let lookup):
            logger.trace(
                "answered from the cache", metadata: lookup.metadata.merging(["source": "\(source.rawValue)"]) { $1 })
        case .miss(let lookup): logger.trace("nothing usable stored", metadata: lookup.metadata)
        case .stored: logger.trace("stored")
        case .evicted(let count): logger.trace("evicted", metadata: ["count": "\(count)"])
        case .cacheEntryDropped(let reason): warn("an entry of the cache was dropped", reason: reason)
        case .cacheEntriesLocked(let reason): warn("entries of the cache cannot be opened", reason: reason)
        case .cacheSetAside(let file): logger.warning("the cache's file was moved", metadata: ["file": "\(file)"])
        case .cacheFailed(let reason): warn("the cache failed", reason: reason)
        case .malformedRedirect(let reason): warn("a redirect was malformed", reason: reason)
        case .job(let transition): logger.debug("\(transition)")
        case .queueFailed(let reason): warn("the queue failed", reason: reason)
        case .replayerMissing(let jobs):
            logger.warning("no replayer sends the jobs of the queue", metadata: ["jobs": "\(jobs)"])
        }
    }

    private func log(endOf interval: ActivityInterval, outcome: ActivityOutcome) {
        let isMain = [.request, .attempt, .refresh].contains(interval.kind)
        logger.log(
            level: isMain ? .debug : .trace,
            "\(interval.kind) ended",
            metadata: interval.metadata.merging(outcome.metadata) { $1 }
                .merging(["duration": "\(ContinuousClock.now - interval.startedAt)"]) { $1 }
        )
    }

    private func warn(_ message: Logger.Message, reason: String) {
        logger.warning(message, metadata: ["reason": "\(reason)"])
    }
}

extension ActivityInterval {
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(method.rawValue)", "url": "\(url)", "lane": "\(lane.name)", "id": "\(id.number)",
        ]
        if let parent { metadata["parent"] = "\(parent.number)" }
        if let attempt { metadata["attempt"] = "\(attempt)" }
        if !tags.isEmpty { metadata["tags"] = .array(tags.sorted().map { "\($0)" }) }
        return metadata
    }
}

extension ActivityLookup {
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["method": "\(method.rawValue)", "url": "\(url)", "lane": "\(lane.name)"]
        // As many digits as `cachectl list` prints.
        if let key { metadata["key"] = "\(key.description.prefix(12))" }
        return metadata
    }
}

extension ActivityOutcome {
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if let status { metadata["status"] = "\(status.code)" }
        if let source { metadata["source"] = "\(source.rawValue)" }
        if let error { metadata["error"] = "\(error)" }
        return metadata
    }
}
#endif
