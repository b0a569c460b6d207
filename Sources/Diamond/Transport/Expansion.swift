/// How far a body has grown where a content coding is removed from it: beyond a bound it is a bomb, a few bytes that become
/// many.
struct Expansion: Sendable {
    /// Decoded bytes for one on the wire at most. Deflate itself ends at 1032; JSON of thousands of equal rows stays below
    /// 100.
    static let highestRatio = 250
    /// Decoded bytes that are not held against the ratio: they do no harm.
    static let allowance = 4 << 20

    private(set) var decoded = 0

    mutating func add(_ count: Int) { decoded += count }

    /// - Parameter encoded: bytes that have come over the wire.
    func isBomb(of encoded: Int) -> Bool { decoded > max(Self.allowance, encoded * Self.highestRatio) }

    static let reason =
        "the body grows to more than \(highestRatio) times its bytes on the wire: do not trust the server, "
        + "or ask for the coding identity"
}
