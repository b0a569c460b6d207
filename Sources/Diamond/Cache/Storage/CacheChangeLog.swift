/// The changes that a server has reported to this process, for ``CacheStorage/changes(since:)``.
///
/// A server numbers its changes, or has a time. The numbers of positions are these, and a little more: they grow with
/// each change, also when a server with smaller numbers takes over.
package struct CacheChangeLog: Sendable {
    private struct Change {
        let position: ChangePosition
        /// `nil` if anything may have changed.
        let names: ChangedNames?
    }

    /// The most changes that are kept.
    package static let mostChanges = 4096

    private var changes: [Change] = []
    /// The position before the oldest kept change.
    private var oldest = ChangePosition.start
    /// The position of the newest change. All changes before it are known.
    package private(set) var position = ChangePosition.start
    /// The position at the beginning of the connection; `nil` without one. Changes before it may have been missed.
    package private(set) var connectedAt: ChangePosition?
    /// The number that is added to the server's; `nil` before the first one of a connection.
    private var offset: Int64?

    package init() {}

    // MARK: The connection

    /// Begins a connection. Anything may have changed before it.
    package mutating func connect() {
        append(nil)
        connectedAt = position
        offset = nil
    }

    package mutating func disconnect() {
        append(nil)
        connectedAt = nil
    }

    /// Takes a number of the server: all of its changes up to there are known.
    package mutating func advance(to number: Int64) {
        if offset == nil { offset = max(0, position.rawValue - number) }
        position = max(position, position(of: number))
    }

    /// Returns the position of a number of the server.
    package func position(of number: Int64) -> ChangePosition { ChangePosition(rawValue: number + (offset ?? 0)) }

    /// Returns the server's number at a position.
    package func number(at position: ChangePosition) -> Int64 { position.rawValue - (offset ?? 0) }

    // MARK: Changes

    /// Adds a change.
    ///
    /// - Parameter names: `nil` if anything may have changed.
    package mutating func append(_ names: ChangedNames?) {
        position = ChangePosition(rawValue: position.rawValue + 1)
        changes.append(Change(position: position, names: names))
        guard changes.count > Self.mostChanges else { return }
        oldest = changes[changes.count / 2].position
        changes.removeFirst(changes.count / 2 + 1)
    }

    /// Returns the changes after a position; only the position if there is none.
    package func changes(since position: ChangePosition?) -> CacheChanges {
        guard let position else { return CacheChanges(position: self.position, names: ChangedNames()) }
        guard position >= oldest else { return CacheChanges(position: self.position, names: nil) }
        var all = ChangedNames()
        // From the newest: most calls find none.
        for change in changes.reversed() {
            guard change.position > position else { break }
            guard let names = change.names else { return CacheChanges(position: self.position, names: nil) }
            all.formUnion(names)
        }
        return CacheChanges(position: self.position, names: all)
    }

    /// Whether a reported change, or one that may have been missed, makes a record stale that was requested before it.
    package func isOutdated(_ record: CacheRecord) -> Bool {
        guard let known = record.knownPosition else { return false }
        guard let connectedAt, known >= connectedAt else { return true }
        return record.isOutdated(by: changes(since: known).names)
    }
}
