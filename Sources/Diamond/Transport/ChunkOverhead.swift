/// The bytes of a chunked body that are not its data: chunk sizes, extensions and line ends (RFC 9112 section 7.1).
///
/// Without a limit, a server could send extensions for ever, which are not data and so count for no other limit. It is
/// the one of Go's `net/http`: 16 bytes for each chunk and 2 for each byte of data, here as if each chunk had one byte.
struct ChunkOverhead: Sendable {
    /// The overhead for each byte of data.
    static let mostPerByte = 18
    /// The overhead that is always allowed, which includes bytes that wait to be decoded.
    static let allowance = 64 << 10

    private var received = 0
    private var decoded = 0

    /// Counts bytes as they come over the wire.
    mutating func receive(_ count: Int) { received += count }

    /// Counts bytes of data.
    mutating func decode(_ count: Int) { decoded += count }

    var isExcessive: Bool { received - decoded > Self.allowance + decoded * Self.mostPerByte }

    static let reason = "the chunks of the body are almost empty, or have long extensions: have the server send none"
}
