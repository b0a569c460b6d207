/// Cuts bytes into lines, however they come in pieces.
struct LineSplitter: Sendable {
    private var buffer: LineBuffer
    /// The number of the line that was returned last, from 1 on; while a line is too long, that line's.
    private(set) var number = 0

    /// - Parameter limit: bytes of a line at most.
    init(limit: Int) { buffer = LineBuffer(limit: limit) }

    /// Takes more bytes, which follow those before.
    mutating func feed(_ piece: some Sequence<UInt8>) { buffer.feed(piece) }

    /// The next whole line of what was fed, without its U+000A; `nil` where more is needed.
    mutating func next() throws(LineBuffer.TooLong) -> [UInt8]? {
        do throws(LineBuffer.TooLong) {
            return try buffer.readLine { $0 == .lineFeed } == nil ? nil : take()
        } catch {
            number += 1
            throw error
        }
    }

    /// Returns the rest at the end, if that is a line without its U+000A.
    mutating func last() -> [UInt8]? { buffer.line.isEmpty ? nil : take() }

    private mutating func take() -> [UInt8] {
        defer { buffer.line = [] }
        number += 1
        return buffer.line
    }
}
