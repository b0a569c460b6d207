/// Zeros, coded with gzip: each byte on the wire becomes 1032.
package enum GzipBomb {
    /// The head of a gzip member (RFC 1952), and of a block of deflate whose code for 258 more zeros is two bits of 0,
    /// as zlib writes zeros at its highest level.
    private static let begin: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
        0xec, 0xc1, 0x01, 0x01, 0x00, 0x00, 0x00, 0x80, 0x90, 0xfe, 0xaf, 0xee, 0x08, 0x0a,
    ]
    /// 128 KiB, which decode to 129 MiB. It is finite, because Foundation on Linux goes on receiving after a cancel.
    private static let more = [UInt8](repeating: 0, count: 128 << 10)

    /// Starts a server that answers every request with it.
    package static func server() throws -> RawServer {
        try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n")
            guard connection.write(begin) else { return }
            connection.write(more)
        }
    }
}
