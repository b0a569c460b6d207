import DiamondSQLite
import Dispatch
import Foundation

/// An observer that appends the events of an engine to a file of the store, a JSON object a line.
///
/// Several processes and engines append to one file. It is written on a queue of its own. A failure costs events, which
/// are counted, and nothing else.
final class EventFile: ActivityObserver {
    /// The maximum number of bytes of the file. A full one replaces the older one, so that both take twice as many.
    static let limit: Int64 = 4 << 20
    private static let delay = DispatchTimeInterval.milliseconds(50)
    private static let lockTimeout = Duration.seconds(1)
    /// The members that show what a sealed store hides.
    private static let sealed: Set = ["url", "tags", "reason"]

    private let store: Store
    private let isSealed: Bool
    private let limit: Int64
    private let now: @Sendable () -> WallTime
    private let process = JSONValue(getpid())
    private let program = JSONValue(ProcessInfo.processInfo.processName)
    private let buffer = Guarded(EventBuffer())
    private let queue = DispatchQueue(label: "diamond.events", qos: .utility)

    /// - Parameter isSealed: whether the events omit what a sealed store hides: URLs, tags and reasons.
    init(
        _ store: Store, isSealed: Bool = false, limit: Int64 = EventFile.limit,
        now: @escaping @Sendable () -> WallTime = { .now }
    ) {
        self.store = store
        self.isSealed = isSealed
        self.limit = limit
        self.now = now
        // If it cannot be created, writing fails, too.
        try? store.create()
    }

    /// Keeps the event. It becomes a line on the queue, so that the thread of the event does not wait for that.
    func receive(_ event: ActivityEvent) {
        let received = EventBuffer.Received(event: event, time: now(), instant: .now)
        switch buffer.withLock({ $0.add(received) }) {
        case .soon: queue.asyncAfter(deadline: .now() + Self.delay) { self.write() }
        case .now: queue.async { self.write() }
        case .asBefore: break
        }
    }

    /// Writes the events that were received before.
    func flush() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.write()
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func write() {
        let (events, dropped) = buffer.withLock { $0.take() }
        guard let first = events.first else { return buffer.withLock { $0.drop(dropped) } }
        var lines: [[UInt8]] = []
        if dropped > 0 {
            let kind = JSONValue(RecordedEvent.Kind.dropped.rawValue)
            lines.append(line(of: ["kind": kind, "count": JSONValue(dropped)], at: first.time))
        }
        lines += events.map { line(of: members(of: $0), at: $0.time) }
        let written = append(lines)
        // If nothing was written, nothing says how many were dropped before.
        let untold = dropped > 0 && written == 0 ? dropped - 1 : 0
        buffer.withLock { $0.drop(lines.count - written + untold) }
    }

    private func members(of received: EventBuffer.Received) -> [String: JSONValue] {
        let members = received.event.recorded(at: received.instant)
        return isSealed ? members.filter { !Self.sealed.contains($0.key) } : members
    }

    private func line(of members: [String: JSONValue], at time: WallTime) -> [UInt8] {
        var members = members
        members["time"] = .integer(time.rawValue)
        members["process"] = process
        members["program"] = program
        // All numbers are finite.
        let text = (try? JSONWriter.text(of: .object(members))) ?? []
        return text + [UInt8(ascii: "\n")]
    }

    /// Appends lines in pieces that fit into a file, without lines that are longer than a file.
    ///
    /// - Returns: the number of lines that were written. After a failure no further ones are.
    private func append(_ lines: [[UInt8]]) -> Int {
        let lines = lines.filter { $0.count < limit }
        var written = 0
        while written < lines.count {
            let piece = piece(of: lines[written...])
            let count = (try? append(piece: Array(piece.joined()))) ?? 0
            written += count
            guard count == piece.count else { break }
        }
        return written
    }

    /// The first lines, as many as fit into a file with the end of a torn line.
    private func piece(of lines: ArraySlice<[UInt8]>) -> ArraySlice<[UInt8]> {
        var size = 1
        return lines.prefix { line in
            size += line.count
            return size <= limit
        }
    }

    /// Appends whole lines, with the right to do so for this process alone.
    ///
    /// - Returns: the number of lines that were written.
    private func append(piece: [UInt8]) throws(SQLiteError) -> Int {
        let lock = try FileLock(store.eventLockPath, timeout: Self.lockTimeout)
        defer { withExtendedLifetime(lock) {} }
        try rotate(before: piece.count + 1)
        let descriptor = try PrivateFile.open(store.eventPath, access: O_CREAT | O_RDWR | O_APPEND)
        defer { close(descriptor) }
        let size = PartFile.size(of: descriptor)
        // A process that was killed while it wrote has left a line without an end.
        let end = Self.isTorn(descriptor, size: size) ? [UInt8(ascii: "\n")] : []
        let whole = Self.write(end + piece, to: descriptor, size: size)
        return max(0, whole.count { $0 == UInt8(ascii: "\n") } - end.count)
    }

    /// Whether the last line of the file has no end.
    private static func isTorn(_ descriptor: Int32, size: Int64) -> Bool {
        var last = UInt8(ascii: "\n")
        return size > 0 && pread(descriptor, &last, 1, off_t(size) - 1) == 1 && last != UInt8(ascii: "\n")
    }

    /// Writes lines at the end of a file. On a full disk the last line may be incomplete: it is removed.
    ///
    /// - Returns: the whole lines that were written.
    private static func write(_ bytes: [UInt8], to descriptor: Int32, size: Int64) -> ArraySlice<UInt8> {
        let count = Foundation.write(descriptor, bytes, bytes.count)
        guard count < bytes.count else { return bytes[...] }
        let whole = (bytes.prefix(max(0, count)).lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
        ftruncate(descriptor, off_t(size) + off_t(whole))
        return bytes[..<whole]
    }

    private func rotate(before count: Int) throws(SQLiteError) {
        guard let size = PartFile.size(of: store.eventPath), size > 0, size + Int64(count) > limit else { return }
        guard rename(store.eventPath, store.olderEventPath) != 0 else { return }
        throw SQLiteError(errno: errno, "cannot be renamed", path: store.eventPath)
    }
}
