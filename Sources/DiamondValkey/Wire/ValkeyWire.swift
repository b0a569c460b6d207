#if Valkey
package import NIOCore

/// The commands that the cache needs of a server: six verbs. ``ValkeyClient`` sends them itself; another client of
/// Valkey, such as valkey-swift, can take its place.
///
/// A verb is one round trip. It throws a ``ValkeyError`` if the server cannot be reached, does not answer in time, or
/// refuses. The keys of a call are in one hash slot. The calls of one trip may be for several slots: a wire to a cluster
/// divides them.
///
/// A wire reports a change of a tracked key by another client after the reply with the older value, never before.
package protocol ValkeyWire: Sendable {
    /// Returns the strings of keys (`GET`).
    ///
    /// - Parameter isTracked: whether a change is reported. Other reads do not delay lookups.
    func values(of keys: [String], isTracked: Bool) async throws(ValkeyError) -> [ByteBuffer?]

    /// Returns the fields of hashes (`HGETALL`). A missing hash has none.
    ///
    /// - Parameter isTracked: as for ``values(of:isTracked:)``.
    func fields(of keys: [String], isTracked: Bool) async throws(ValkeyError) -> [[ValkeyField]]

    /// Writes and removes strings (`SET`, `UNLINK`).
    func write(_ writes: [ValkeyWrite]) async throws(ValkeyError)

    /// Runs scripts in Lua, each atomically, and tracks the first key of each, unless the call says otherwise. A change
    /// by the script itself is not reported to this process.
    func run(_ calls: [ValkeyCall]) async throws(ValkeyError) -> [RESPValue]

    /// Returns some of the keys that match a pattern (`SCAN`).
    ///
    /// - Parameter cursor: ``ValkeyPage/cursor`` of the page before; `nil` for the first one.
    func scan(_ pattern: String, after cursor: String?) async throws(ValkeyError) -> ValkeyPage

    /// The time since the last byte of the connection that tracks; `nil` without a connection.
    var silence: Duration? { get }

    /// Ends the connections.
    func close()
}

/// A field of a hash.
package struct ValkeyField: Sendable, Hashable {
    package let name: String
    package let value: ByteBuffer
}

/// A string to write or to remove.
package struct ValkeyWrite: Sendable {
    let key: String
    /// The new value; `nil` to remove the key.
    let value: ByteBuffer?
    /// The time after which the server removes the key; `nil` for none.
    var expiry: Duration?
}

/// A call of a script in Lua.
package struct ValkeyCall: Sendable {
    let script: String
    let keys: [String]
    let arguments: [ByteBuffer]
    /// Whether a later change of the first key is reported.
    var isTracked = true
}

/// Keys of a scan, perhaps some twice, and the cursor of the next ones; `nil` after the last.
package struct ValkeyPage: Sendable {
    package let keys: [String]
    package let cursor: String?
}

/// An event of a wire.
package enum ValkeyEvent: Sendable {
    /// The wire is connected, and tracks from now on.
    case connected
    /// Changes may be missed from now on, until the next `connected`.
    case lost(ValkeyError)
    /// The server told its time, in microseconds since 1970. All changes before it have been reported.
    case time(Int64)
    /// Other clients have changed tracked keys; `nil` if all of them were removed.
    case changed([String]?)
    /// A process has sent a message over the channel of announcements.
    case announced(ByteBuffer)
}
#endif
