/// Bytes that come in pieces, and the line that they are read into.
struct LineBuffer: Sendable {
    /// More bytes in one line than are allowed.
    struct TooLong: Error, Hashable {
        let limit: Int
    }

    let limit: Int
    private var input: [UInt8] = []
    private var position = 0
    /// The part of the current line that has come.
    var line: [UInt8] = []

    /// - Parameter limit: bytes of a line at most.
    init(limit: Int) { self.limit = limit }

    /// Takes more bytes, which follow those before.
    mutating func feed(_ piece: some Sequence<UInt8>) {
        input.removeSubrange(..<position)
        input.append(contentsOf: piece)
        position = 0
    }

    /// The next byte, which stays; `nil` where more is needed.
    var next: UInt8? { position < input.count ? input[position] : nil }

    mutating func skip() { position += 1 }

    /// Reads on to the end of the line.
    ///
    /// - Returns: the byte that ends it, which is no part of it; `nil` where more is needed.
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
