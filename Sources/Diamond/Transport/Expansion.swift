/// The growth of a body during decoding. Growth beyond a limit indicates a decompression bomb.
struct Expansion: Sendable {
    /// The highest ratio of decoded bytes to bytes on the wire. Deflate itself ends at 1032; JSON of thousands of equal
    /// rows stays below 100.
    static let highestRatio = 250
    /// The number of decoded bytes up to which the ratio is not checked.
    static let allowance = 4 << 20

    private(set) var decoded = 0

    mutating func add(_ count: Int) { decoded += count }

    /// Whether the body has grown beyond the limit.
    ///
    /// - Parameter encoded: the number of bytes received over the wire.
    func isBomb(of encoded: Int) -> Bool { decoded > max(Self.allowance, encoded * Self.highestRatio) }

    static let reason =
        "the body grows to more than \(highestRatio) times its bytes on the wire: do not trust the server, "
        + "or ask for the coding identity"
}
