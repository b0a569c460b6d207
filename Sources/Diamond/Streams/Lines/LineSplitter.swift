/// Cuts bytes into lines, however they come in pieces.
struct LineSplitter: Sendable {
    /// A line with more bytes than are allowed.
    struct TooLong: Error, Hashable {
        let limit: Int
    }

    private let limit: Int
    private var input: [UInt8] = []
    private var position = 0
    private var line: [UInt8] = []
    /// Of the line that was returned last, from 1 on; while one is too long, its own.
    private(set) var number = 0

    /// - Parameter limit: bytes of a line at most.
    init(limit: Int) { self.limit = limit }

    /// Takes more bytes, which follow those before.
    mutating func feed(_ piece: some Sequence<UInt8>) {
        input.removeSubrange(..<position)
        input.append(contentsOf: piece)
        position = 0
    }

    /// The next whole line of what was fed, without its U+000A; `nil` where more is needed.
    mutating func next() throws(TooLong) -> [UInt8]? {
        let rest = input[position...]
        let end = rest.firstIndex(of: .lineFeed)
        line.append(contentsOf: rest[..<(end ?? rest.endIndex)])
        position = end.map { $0 + 1 } ?? rest.endIndex
        guard line.count <= limit else {
            number += 1
            throw TooLong(limit: limit)
        }
        return end == nil ? nil : take()
    }

    /// What is left at the end, where that is a line without its U+000A.
    mutating func last() -> [UInt8]? { line.isEmpty ? nil : take() }

    private mutating func take() -> [UInt8] {
        defer { line = [] }
        number += 1
        return line
    }
}
