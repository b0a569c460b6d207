#if (Curl || AsyncHTTPClient) && canImport(CDiamondZlib)
import CDiamondZlib

/// A decoder of one content coding that works piece by piece and detects the end.
///
/// `gzip` may have several members, which are one body (RFC 1952 section 2.2). `deflate` is zlib's format (RFC 1950)
/// or, as some servers send it, bare DEFLATE (RFC 1951). Zeros after the end are padding, as for gzip(1). Any other
/// bytes are an error, as in libcurl and SwiftNIO.
final class Inflater {
    typealias PieceHandler = (UnsafeRawBufferPointer) throws(ContentDecodingError) -> Void

    private enum Phase { case beginning, inside, ended }

    private static let outputSize = 32 << 10

    private let coding: ContentCoding
    // zlib stores the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer
    private var phase = Phase.beginning
    /// The first byte of `deflate`, until the second determines the format.
    private var firstByte: UInt8?

    /// Creates a decoder; `nil` if memory is exhausted.
    init?(_ coding: ContentCoding) {
        self.coding = coding
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: Self.outputSize, alignment: 1)
        let bits = coding == .gzip ? MAX_WBITS + 16 : MAX_WBITS
        guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Whether the body may end here. No data at all is an empty body.
    var isAtEnd: Bool { phase == .ended || (phase == .beginning && firstByte == nil) }

    /// Calls a closure with the decoded bytes.
    func decode(_ bytes: UnsafeRawBufferPointer, onPiece: PieceHandler) throws(ContentDecodingError) {
        var rest = bytes
        while !rest.isEmpty {
            switch phase {
            case .beginning: rest = try begin(rest, onPiece: onPiece)
            case .inside: rest = try inflate(rest, onPiece: onPiece)
            case .ended: rest = try passPadding(rest)
            }
        }
    }

    private func begin(
        _ bytes: UnsafeRawBufferPointer,
        onPiece: PieceHandler
    ) throws(ContentDecodingError) -> UnsafeRawBufferPointer {
        guard coding == .deflate else {
            phase = .inside
            return bytes
        }
        if firstByte == nil, bytes.count == 1 {
            firstByte = bytes[0]
            return UnsafeRawBufferPointer(rebasing: bytes[1...])
        }
        phase = .inside
        guard var first = firstByte else {
            chooseFormat(firstByte: bytes[0], secondByte: bytes[1])
            return bytes
        }
        chooseFormat(firstByte: first, secondByte: bytes[0])
        firstByte = nil
        try withUnsafeBytes(of: &first) { (byte) throws(ContentDecodingError) in _ = try inflate(byte, onPiece: onPiece)
        }
        return bytes
    }

    /// Switches zlib to bare DEFLATE if the first two bytes are not a zlib header (RFC 1950 section 2.2).
    private func chooseFormat(firstByte first: UInt8, secondByte second: UInt8) {
        let isZlib = first & 0x0f == 8 && first >> 4 <= 7 && (Int(first) << 8 | Int(second)) % 31 == 0
        if !isZlib { inflateReset2(stream, -MAX_WBITS) }
    }

    /// - Returns: The bytes after the end of the coding.
    private func inflate(
        _ bytes: UnsafeRawBufferPointer,
        onPiece: PieceHandler
    ) throws(ContentDecodingError) -> UnsafeRawBufferPointer {
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = uInt(bytes.count)
        var code = Z_OK
        repeat {
            stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = uInt(output.count)
            code = CDiamondZlib.inflate(stream, Z_NO_FLUSH)
            guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(code) else { throw .invalid }
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try onPiece(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while code == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0)
        if code == Z_STREAM_END { phase = .ended }
        return UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - Int(stream.pointee.avail_in))...])
    }

    /// - Returns: The next member of `gzip`, or no bytes.
    private func passPadding(_ bytes: UnsafeRawBufferPointer) throws(ContentDecodingError) -> UnsafeRawBufferPointer {
        guard let start = bytes.firstIndex(where: { $0 != 0 }) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        guard coding == .gzip, bytes[start] == 0x1f, inflateReset(stream) == Z_OK else { throw .invalid }
        phase = .inside
        return UnsafeRawBufferPointer(rebasing: bytes[start...])
    }
}
#endif
