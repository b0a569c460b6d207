/// Splits bytes into lines. The pieces may have any boundaries.
struct LineSplitter: Sendable {
    private var buffer: LineBuffer
    /// The number, from 1, of the line that was returned last, or of the line that is too long.
    private(set) var number = 0

    /// - Parameter limit: the greatest size of a line in bytes.
    init(limit: Int) { buffer = LineBuffer(limit: limit) }

    /// Appends the next bytes.
    mutating func feed(_ piece: some Sequence<UInt8>) { buffer.feed(piece) }

    /// Returns the next complete line, without its U+000A; `nil` if more bytes are needed.
    mutating func next() throws(LineBuffer.TooLong) -> [UInt8]? {
        do throws(LineBuffer.TooLong) {
            return try buffer.readLine { $0 == .lineFeed } == nil ? nil : removeLine()
        } catch {
            number += 1
            throw error
        }
    }

    /// Returns the last line, which has no U+000A; `nil` if there is none.
    mutating func last() -> [UInt8]? { buffer.line.isEmpty ? nil : removeLine() }

    private mutating func removeLine() -> [UInt8] {
        defer { buffer.line = [] }
        number += 1
        // A byte order mark is no part of the text (https://encoding.spec.whatwg.org/#decode).
        if number == 1, buffer.line.starts(with: UTF8.byteOrderMark) { buffer.line.removeFirst(3) }
        return buffer.line
    }
}
