/// A buffer that collects bytes and splits them into lines.
struct LineBuffer: Sendable {
    /// The error for a line that is longer than the limit.
    struct TooLong: Error, Hashable {
        let limit: Int
    }

    let limit: Int
    private var input: [UInt8] = []
    private var position = 0
    /// The received part of the current line.
    var line: [UInt8] = []

    /// - Parameter limit: the greatest size of a line in bytes.
    init(limit: Int) { self.limit = limit }

    /// Appends the next bytes.
    mutating func feed(_ piece: some Sequence<UInt8>) {
        input.removeSubrange(..<position)
        input.append(contentsOf: piece)
        position = 0
    }

    /// The next byte, which is not consumed; `nil` if there is none yet.
    var next: UInt8? { position < input.count ? input[position] : nil }

    mutating func skip() { position += 1 }

    /// Reads up to the end of the line.
    ///
    /// - Returns: the byte that ends the line, which is no part of it; `nil` if more bytes are needed.
    mutating func readLine(to isEnd: (UInt8) -> Bool) throws(TooLong) -> UInt8? {
        let rest = input[position...]
        let end = rest.firstIndex(where: isEnd)
        line.append(contentsOf: rest[..<(end ?? rest.endIndex)])
        position = end.map { $0 + 1 } ?? rest.endIndex
        guard line.count <= limit else { throw TooLong(limit: limit) }
        return end.map { input[$0] }
    }
}

extension UInt8 {
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3A
}
