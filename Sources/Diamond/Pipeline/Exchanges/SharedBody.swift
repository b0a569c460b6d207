import DiamondSQLite
import Foundation

/// The body of a gateway's exchange, which several callers read while it is received.
///
/// The end of the body is in memory: at least the bytes that are not in the store yet, and at most about a mebibyte. A
/// caller that is further behind reads the store. The next piece is received when the fastest caller has read nearly
/// all, so that a slow caller delays no other.
final class SharedBody: BodySink {
    /// The head of the response.
    struct Head: Sendable {
        /// The response as it was received.
        let received: ReceivedResponse
        /// Whether other callers may have it, and it is being stored.
        var isForAll: Bool
    }

    fileprivate struct Content {
        var report: (@Sendable (SharedBodyEvent) -> Void)?
        var head: Head?
        var response: Response?
        var bytes = SharedBytes()
        /// The readers, by number.
        var readers: [Int: Signal] = [:]
        var count = 0
        /// The bytes in the store; `nil` if there are none.
        var written: BodyReader?
        var isComplete = false
        var isOver = false
    }

    /// The plan of the caller that has started the exchange.
    let plan: ExchangePlan
    private let content: Guarded<Content>
    /// Wakes the exchange, which waits for the readers.
    private let room = Signal()

    /// - Parameter report: sends an event to the callers.
    init(for plan: ExchangePlan, report: @escaping @Sendable (SharedBodyEvent) -> Void) {
        self.plan = plan
        content = Guarded(Content(report: report))
    }

    var head: Head? { content.withLock { $0.head } }
    var response: Response? { content.withLock { $0.response } }

    // MARK: The exchange's side

    var limit: Int { .max }
    var isCommitted: Bool { content.withLock { $0.response != nil } }
    var isContinuable: Bool { false }
    var isForWhole: Bool { false }
    var takesEveryStatus: Bool { true }
    var isForCacheAlone: Bool { content.withLock { $0.readers.isEmpty } }
    var isComplete: Bool { content.withLock { $0.isComplete } }

    var onInterim: (@Sendable (InterimResponse) -> Void)? {
        { [self] interim in content.withLock { $0.report }?(.interim(interim)) }
    }

    /// Notes the head as it was received, before ``begin(_:)``.
    func note(_ head: Head) { content.withLock { $0.head = head } }

    /// The number of noted bytes.
    var writtenSize: Int { content.withLock { $0.written?.count ?? 0 } }

    /// Notes the bytes that are in the store by now.
    func note(written: BodyReader) { content.withLock { $0.written = written } }

    /// Notes that the body cannot be stored. No other caller can begin to read it.
    func noteFailure() { content.withLock { $0.head?.isForAll = false } }

    func begin(_ head: Response) {
        let report = content.withLock { content in
            content.response = head
            defer { content.report = nil }
            return content.report
        }
        report?(.body(self))
    }

    func append(_ piece: Data) async throws(TransportError) {
        let readers = content.withLock { content in
            content.bytes.append(piece)
            content.dropRead()
            return Array(content.readers.values)
        }
        for reader in readers { reader.wake() }
        while content.withLock({ $0.isAhead }) {
            guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
            await room.wait()
        }
    }

    func complete() { end { $0.isComplete = true } }

    /// Ends the body, unless it is complete: the exchange has failed, or its response has another body.
    func end() { end { _ in } }

    private func end(_ change: (inout Content) -> Void) {
        let readers = content.withLock { content in
            change(&content)
            content.isOver = true
            content.report = nil
            return Array(content.readers.values)
        }
        for reader in readers { reader.wake() }
    }

    // MARK: The readers' side

    /// The next step of a reader.
    enum Step {
        case piece(Data)
        /// Read the store from the position of the reader on.
        case written(BodyReader)
        case wait
        case end
        /// The body has ended early, or the reader is too far behind.
        case failure
    }

    /// Adds a reader, which reads the body from its beginning.
    ///
    /// - Parameter signal: woken when there is more to read.
    /// - Returns: its number.
    func addReader(_ signal: Signal) -> Int {
        content.withLock { content in
            content.count += 1
            content.readers[content.count] = signal
            content.bytes.positions[content.count] = 0
            return content.count
        }
    }

    func removeReader(_ number: Int) {
        content.withLock { content in
            content.readers[number] = nil
            content.bytes.positions[number] = nil
        }
        room.wake()
    }

    /// Returns the next step of a reader. A piece from memory counts as read.
    func step(for number: Int) -> Step {
        let step = content.withLock { $0.step(for: number) }
        if case .piece = step { room.wake() }
        return step
    }

    /// Notes that a reader has read some bytes of the store.
    func advance(_ number: Int, by count: Int) {
        content.withLock { $0.bytes.positions[number]? += count }
        room.wake()
    }
}

extension SharedBody.Content {
    /// The number of bytes that the fastest reader may be behind.
    private static let window = 64 << 10
    /// The number of bytes that stay in memory for readers that come later, or are slower.
    private static let retention = 1 << 20

    private var isStored: Bool { head?.isForAll == true }

    /// Whether the exchange has to wait for the fastest reader; for the slowest if the body is not in the store.
    fileprivate var isAhead: Bool {
        let positions = bytes.positions.values
        guard let position = isStored ? positions.max() : positions.min() else { return false }
        return bytes.end - position > Self.window
    }

    /// Drops the bytes that are not needed in memory.
    fileprivate mutating func dropRead() {
        guard isStored else { return bytes.drop(upTo: bytes.positions.values.min() ?? bytes.end) }
        bytes.drop(upTo: min(bytes.end - Self.retention, written?.count ?? 0))
    }

    fileprivate mutating func step(for number: Int) -> SharedBody.Step {
        guard let position = bytes.positions[number] else { return .failure }
        guard position >= bytes.start else {
            return written.map { .written($0.reading(position..<$0.count)) } ?? .failure
        }
        if let piece = bytes.read(by: number) { return .piece(piece) }
        guard isOver else { return .wait }
        return isComplete ? .end : .failure
    }
}

/// The end of a body in memory, and the positions of its readers.
private struct SharedBytes {
    private var pieces: ArraySlice<(offset: Int, bytes: Data)> = []
    /// The offset of the first byte in memory.
    private(set) var start = 0
    private(set) var end = 0
    /// The number of bytes that each reader has read.
    var positions: [Int: Int] = [:]

    mutating func append(_ piece: Data) {
        guard !piece.isEmpty else { return }
        pieces.append((end, piece))
        end += piece.count
    }

    /// Drops the pieces that end at an offset or before.
    mutating func drop(upTo offset: Int) {
        while let first = pieces.first, first.offset + first.bytes.count <= offset {
            pieces.removeFirst()
            start = first.offset + first.bytes.count
        }
    }

    /// Returns the rest of the piece at the position of a reader; `nil` at the end.
    mutating func read(by number: Int) -> Data? {
        guard let position = positions[number], position < end else { return nil }
        var (low, high) = (pieces.startIndex, pieces.endIndex)
        while high - low > 1 {
            let middle = (low + high) / 2
            if pieces[middle].offset <= position { low = middle } else { high = middle }
        }
        positions[number] = pieces[low].offset + pieces[low].bytes.count
        return pieces[low].bytes.dropFirst(position - pieces[low].offset)
    }
}

/// An event of an exchange with a ``SharedBody``, for its callers.
enum SharedBodyEvent: FlightEvent {
    enum Kind { case interim, body }

    case interim(InterimResponse)
    /// The head of the response has arrived.
    case body(SharedBody)

    var kind: Kind { if case .interim = self { .interim } else { .body } }
}
