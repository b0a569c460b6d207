/// An event in the event file of a store: a JSON object in a line. <doc:WatchingActivity> lists the members.
///
/// Members that are unknown here are kept in ``json``, because the program may have a newer version.
package struct RecordedEvent: Hashable, Sendable {
    /// The kinds of events. Other versions may have other kinds.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let began = Kind(rawValue: "began")
        package static let ended = Kind(rawValue: "ended")
        package static let hit = Kind(rawValue: "hit")
        package static let miss = Kind(rawValue: "miss")
        package static let stored = Kind(rawValue: "stored")
        package static let evicted = Kind(rawValue: "evicted")
        package static let resumed = Kind(rawValue: "resumed")
        package static let job = Kind(rawValue: "job")
        /// A problem, with its code in ``RecordedEvent/error``.
        package static let failed = Kind(rawValue: "failed")
        /// Earlier events that could not be written.
        package static let dropped = Kind(rawValue: "dropped")
    }

    /// The names of the members that this version writes, in the order of the documentation.
    package static let fields = [
        "time", "process", "program", "kind", "interval", "id", "parent", "method", "url", "lane", "attempt", "tags",
        "status", "source", "error", "reason", "milliseconds", "key", "job", "transition", "from", "to", "count",
        "offset", "total",
    ]

    /// The whole event.
    package let json: JSONValue
    package let time: WallTime
    /// The number of the process.
    package let process: Int64
    package let kind: Kind

    /// Creates an event from a line of the file.
    ///
    /// - Returns: `nil` for a text that is not an object with a time, a process and a kind, such as a half line.
    package init?(line: some Sequence<UInt8>) {
        guard let json = try? JSONValue(reading: line) else { return nil }
        self.init(json)
    }

    init?(_ json: JSONValue) {
        guard case .integer(let time) = json["time"], case .integer(let process) = json["process"],
            case .string(let kind) = json["kind"]
        else { return nil }
        self.json = json
        self.time = WallTime(rawValue: time).bounded
        self.process = process
        self.kind = Kind(rawValue: kind)
    }
}

extension RecordedEvent {
    /// The name of the program's executable.
    package var program: String { text("program") ?? "" }
    /// The kind of an interval, such as `request` or `attempt`, for ``Kind/began`` and ``Kind/ended``.
    package var interval: String? { text("interval") }
    /// The identity of an interval, equal in its begin and its end. It is unique together with ``process``.
    package var id: Int64? { integer("id") }
    /// The ``id`` of the request or refresh that the interval belongs to.
    package var parent: Int64? { integer("parent") }
    package var method: String? { text("method") }
    /// The URL, with its secrets masked.
    package var url: String? { text("url") }
    package var lane: String? { text("lane") }
    /// The number of the attempt, from 1.
    package var attempt: Int64? { integer("attempt") }
    package var status: Int64? { integer("status") }
    /// The ``Response/Source`` of the response.
    package var source: String? { text("source") }
    /// The code of an error or a problem, such as `timedOut`.
    package var error: String? { text("error") }
    /// The message of a problem.
    package var reason: String? { text("reason") }
    /// The duration of an interval, in its end, limited to 0 to 10^12: other programs may write anything.
    package var milliseconds: Double? {
        json["milliseconds"].numberText.flatMap { Double($0) }.map { min(max(0, $0), 1e12) }
    }
    /// The beginning of the request key, as `cachectl list` shows it.
    package var key: String? { text("key") }
    /// The id of a job of the queue.
    package var job: Int64? { integer("job") }
    /// The verb of a job's transition, such as `claim`.
    package var transition: String? { text("transition") }
    /// The number of evicted entries, dropped events or waiting jobs.
    package var count: Int64? { integer("count") }
    package var tags: [String] {
        guard case .array(let tags) = json["tags"] else { return [] }
        return tags.compactMap { if case .string(let tag) = $0 { tag } else { nil } }
    }

    private func text(_ name: String) -> String? { if case .string(let text) = json[name] { text } else { nil } }

    private func integer(_ name: String) -> Int64? {
        if case .integer(let integer) = json[name] { integer } else { nil }
    }
}
