/// The growth of a body while its content coding is removed. A body that grows beyond a bound is a bomb: a few bytes
/// that become many.
struct Expansion: Sendable {
    /// The highest ratio of decoded bytes to bytes on the wire. Deflate itself ends at 1032; JSON of thousands of equal
    /// rows stays below 100.
    static let highestRatio = 250
    /// The decoded bytes that the ratio does not apply to: they do no harm.
    static let allowance = 4 << 20

    private(set) var decoded = 0

    mutating func add(_ count: Int) { decoded += count }

    /// - Parameter encoded: bytes that have come over the wire.
    func isBomb(of encoded: Int) -> Bool { decoded > max(Self.allowance, encoded * Self.highestRatio) }

    static let reason =
        "the body grows to more than \(highestRatio) times its bytes on the wire: do not trust the server, "
        + "or ask for the coding identity"
}
