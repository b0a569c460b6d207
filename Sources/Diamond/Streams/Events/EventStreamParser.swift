import Foundation

/// Reads a stream of events as the HTML living standard says (section 9.2.6, "Interpreting an event stream"), however it is
/// cut into pieces.
///
/// ```
/// parser.feed(piece)
/// while let event = try parser.next() { … }
/// ```
struct EventStreamParser: Sendable {
    /// More bytes in one event, or line, than are allowed.
    typealias TooLong = LineBuffer.TooLong

    private var buffer: LineBuffer
    private var isFirstLine = true
    /// Whether a U+000A that comes next belongs to the U+000D before it.
    private var isAfterReturn = false
    private var type: [UInt8] = []
    /// Each line with a U+000A behind it.
    private var data: [UInt8] = []
    private var id: String
    /// That of the last event, or of a block without one: what is asked for events after.
    private(set) var lastEventID: String
    /// The time to wait before connecting again; `nil` if the server has not named one.
    private(set) var reconnectionTime: Duration?

    /// - Parameters:
    ///   - lastEventID: known from a stream before. It stays until the server names another, as in browsers.
    ///   - limit: bytes of a line and of an event's data at most.
    init(lastEventID: String = "", limit: Int) {
        (id, self.lastEventID, buffer) = (lastEventID, lastEventID, LineBuffer(limit: limit))
    }

    /// Takes more bytes, which follow those before.
    mutating func feed(_ piece: some Sequence<UInt8>) { buffer.feed(piece) }

    /// The next event of what was fed; `nil` where more is needed.
    mutating func next() throws(TooLong) -> ServerSentEvent? {
        while try readLine() {
            defer { buffer.line.removeAll(keepingCapacity: true) }
            if let event = try takeLine() { return event }
        }
        return nil
    }

    // MARK: Lines

    private mutating func readLine() throws(TooLong) -> Bool {
        if isAfterReturn, let next = buffer.next {
            if next == .lineFeed { buffer.skip() }
            isAfterReturn = false
        }
        guard let end = try buffer.readLine(to: { $0 == .lineFeed || $0 == .carriageReturn }) else { return false }
        isAfterReturn = end == .carriageReturn
        return true
    }

    private mutating func takeLine() throws(TooLong) -> ServerSentEvent? {
        if isFirstLine {
            isFirstLine = false
            if buffer.line.starts(with: [0xEF, 0xBB, 0xBF]) { buffer.line.removeFirst(3) }
        }
        let line = buffer.line
        guard !line.isEmpty else { return dispatch() }
        // A comment has an empty name, which no field has.
        let colon = line.firstIndex(of: .colon) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == .space { value = value.dropFirst() }
        try take(line[..<colon], value)
        return nil
    }

    // MARK: Fields

    private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) throws(TooLong) {
        switch String(decoding: name, as: UTF8.self) {
        case "event": type = Array(value)
        case "data":
            guard data.count + value.count <= buffer.limit else { throw TooLong(limit: buffer.limit) }
            data += value
            data.append(.lineFeed)
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry": takeRetry(value)
        default: break
        }
    }

    private mutating func takeRetry(_ value: ArraySlice<UInt8>) {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
        let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        reconnectionTime = .milliseconds(milliseconds).bounded
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer { (type, data) = ([], []) }
        guard !data.isEmpty else { return nil }
        return ServerSentEvent(
            type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self),
            data: String(decoding: data.dropLast(), as: UTF8.self),
            lastEventID: lastEventID)
    }
}
