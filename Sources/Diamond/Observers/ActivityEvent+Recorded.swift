import HTTPTypes

extension ActivityEvent {
    typealias Members = [String: JSONValue?]

    /// Returns the members of the event in the event file, without those of every event.
    ///
    /// - Parameter instant: the time at which the event was received.
    func recorded(at instant: ContinuousClock.Instant) -> [String: JSONValue] {
        members(at: instant).compactMapValues(\.self)
    }

    private func members(at instant: ContinuousClock.Instant) -> Members {
        switch self {
        case .began(let interval): interval.members(.began)
        case .ended(let interval, let outcome):
            interval.members(.ended, duration: instant - interval.startedAt).merging(outcome.members) { $1 }
        case .hit(let source, let lookup): lookup.members(.hit, source: source)
        case .miss(let lookup): lookup.members(.miss)
        case .stored: Self.members(.stored)
        case .evicted(let count): Self.members(.evicted).merging(["count": JSONValue(count)]) { $1 }
        case .transferResumed(let origin, let offset, let total):
            Self.members(.resumed).merging([
                "url": JSONValue(origin), "offset": .integer(offset), "total": .integer(total),
            ]) { $1 }
        case .job(let transition): transition.members
        case .unknownContentCoding(let coding, let origin):
            Self.problem("unknownContentCoding", coding).merging(["url": JSONValue(origin)]) { $1 }
        case .cacheEntryDropped(let reason): Self.problem("cacheEntryDropped", reason)
        case .cacheEntriesLocked(let reason): Self.problem("cacheEntriesLocked", reason)
        case .cacheSetAside(let file): Self.problem("cacheSetAside", file)
        case .cacheFailed(let reason): Self.problem("cacheFailed", reason)
        case .malformedRedirect(let reason): Self.problem("malformedRedirect", reason)
        case .queueFailed(let reason): Self.problem("queueFailed", reason)
        case .replayerMissing(let jobs):
            Self.problem("replayerMissing", nil).merging(["count": JSONValue(jobs)]) { $1 }
        }
    }

    fileprivate static func members(_ kind: RecordedEvent.Kind) -> Members { ["kind": JSONValue(kind.rawValue)] }

    private static func problem(_ code: String, _ reason: String?) -> Members {
        members(.failed).merging(["error": JSONValue(code), "reason": reason.map { JSONValue($0) }]) { $1 }
    }
}

extension ActivityInterval {
    fileprivate func members(_ kind: RecordedEvent.Kind, duration: Duration? = nil) -> ActivityEvent.Members {
        [
            "kind": JSONValue(kind.rawValue), "interval": JSONValue(self.kind.description), "id": JSONValue(id.number),
            "parent": parent.map { JSONValue($0.number) }, "method": JSONValue(method.rawValue), "url": JSONValue(url),
            "lane": JSONValue(lane.name), "attempt": attempt.map { JSONValue($0) },
            "tags": tags.isEmpty ? nil : JSONValue(tags.sorted().map { JSONValue($0) }),
            "milliseconds": duration.map { JSONValue($0.recordedMilliseconds) },
        ]
    }
}

extension ActivityOutcome {
    fileprivate var members: ActivityEvent.Members {
        [
            "status": status.map { JSONValue($0.code) }, "source": source.map { JSONValue($0.rawValue) },
            "error": error.map { JSONValue($0) },
        ]
    }
}

extension ActivityLookup {
    fileprivate func members(_ kind: RecordedEvent.Kind, source: Response.Source? = nil) -> ActivityEvent.Members {
        [
            "kind": JSONValue(kind.rawValue), "source": source.map { JSONValue($0.rawValue) },
            "method": JSONValue(method.rawValue), "url": JSONValue(url), "lane": JSONValue(lane.name),
            // As many digits as `cachectl list` prints.
            "key": key.map { JSONValue(String($0.description.prefix(12))) },
        ]
    }
}

extension ReplayTransition {
    fileprivate var members: ActivityEvent.Members {
        [
            "kind": JSONValue(RecordedEvent.Kind.job.rawValue), "job": .integer(jobID),
            "transition": JSONValue(verb.description), "from": from.map { JSONValue($0.description) },
            "to": to.map { JSONValue($0.description) }, "reason": JSONValue(reason.description),
        ]
    }
}

extension Duration {
    /// The milliseconds, rounded down to microseconds.
    fileprivate var recordedMilliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / 1000
    }
}
