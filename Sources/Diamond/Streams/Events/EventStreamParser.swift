import Foundation

/// A parser of event streams (HTML living standard, section 9.2.6, "Interpreting an event stream"). The pieces of the
/// stream may have any boundaries.
///
/// ```
/// parser.feed(piece)
/// while let event = try parser.next() { … }
/// ```
struct EventStreamParser: Sendable {
    /// The error for an event or a line that is larger than the limit.
    typealias TooLong = LineBuffer.TooLong

    private var buffer: LineBuffer
    private var isFirstLine = true
    /// Whether a U+000A that comes next belongs to the U+000D before it.
    private var isAfterReturn = false
    private var type: [UInt8] = []
    /// The data lines so far, each with a U+000A after it.
    private var data: [UInt8] = []
    private var id: String
    /// The last event ID: that of the last event, or of a later block without data. A reconnection sends it.
    private(set) var lastEventID: String
    /// The time to wait before connecting again; `nil` if the server has not named one.
    private(set) var reconnectionTime: Duration?

    /// - Parameters:
    ///   - lastEventID: the last event ID of an earlier stream. It stays until the server names another, as in
    ///     browsers.
    ///   - limit: the greatest size of a line and of an event's data, in bytes.
    init(lastEventID: String = "", limit: Int) {
        id = lastEventID
        self.lastEventID = lastEventID
        buffer = LineBuffer(limit: limit)
    }

    /// Appends the next bytes.
    mutating func feed(_ piece: some Sequence<UInt8>) { buffer.feed(piece) }

    /// Returns the next complete event; `nil` if more bytes are needed.
    mutating func next() throws(TooLong) -> ServerSentEvent? {
        while try readLine() {
            defer { buffer.line.removeAll(keepingCapacity: true) }
            if let event = try parseLine() { return event }
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

    private mutating func parseLine() throws(TooLong) -> ServerSentEvent? {
        if isFirstLine {
            isFirstLine = false
            if buffer.line.starts(with: UTF8.byteOrderMark) { buffer.line.removeFirst(3) }
        }
        let line = buffer.line
        guard !line.isEmpty else { return dispatch() }
        // A comment has an empty name, which no field has.
        let colon = line.firstIndex(of: .colon) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == .space { value = value.dropFirst() }
        try setField(name: line[..<colon], value: value)
        return nil
    }

    // MARK: Fields

    private mutating func setField(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) throws(TooLong) {
        switch String(decoding: name, as: UTF8.self) {
        case "event": type = Array(value)
        case "data":
            guard data.count + value.count <= buffer.limit else { throw TooLong(limit: buffer.limit) }
            data += value
            data.append(.lineFeed)
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry": setReconnectionTime(value)
        default: break
        }
    }

    private mutating func setReconnectionTime(_ value: ArraySlice<UInt8>) {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
        let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        reconnectionTime = .milliseconds(milliseconds).bounded
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer {
            type = []
            data = []
        }
        guard !data.isEmpty else { return nil }
        return ServerSentEvent(
            type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self),
            data: String(decoding: data.dropLast(), as: UTF8.self),
            lastEventID: lastEventID)
    }
}
