#if (Curl || AsyncHTTPClient) && canImport(CDiamondZlib)
import CDiamondZlib

/// Removes one content coding, piece by piece, and tells where it ends.
///
/// `gzip` may have several members, which are one body (RFC 1952 section 2.2). `deflate` is zlib's format (RFC 1950) or, as
/// some servers send it, bare DEFLATE (RFC 1951). Behind the end zeros may follow, which gzip(1) takes for padding;
/// anything else is broken, as it is to libcurl and SwiftNIO.
final class Inflater {
    typealias Take = (UnsafeRawBufferPointer) throws(ContentFault) -> Void

    private enum Place { case begin, inside, behind }

    private static let outputSize = 32 << 10

    private let coding: ContentCoding
    // zlib keeps the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer
    private var place = Place.begin
    /// The first byte of `deflate`, until the second tells which format it is.
    private var firstByte: UInt8?

    /// `nil` when the memory is gone.
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

    /// Whether the body may end here. Nothing at all is an empty body.
    var isAtEnd: Bool { place == .behind || (place == .begin && firstByte == nil) }

    /// Calls `take` with what the bytes decode to.
    func decode(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(ContentFault) {
        var rest = bytes
        while !rest.isEmpty {
            switch place {
            case .begin: rest = try begin(rest, take)
            case .inside: rest = try inflate(rest, take)
            case .behind: rest = try passPadding(rest)
            }
        }
    }

    private func begin(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(ContentFault) -> UnsafeRawBufferPointer {
        guard coding == .deflate else {
            place = .inside
            return bytes
        }
        if firstByte == nil, bytes.count == 1 {
            firstByte = bytes[0]
            return UnsafeRawBufferPointer(rebasing: bytes[1...])
        }
        place = .inside
        guard var first = firstByte else {
            choose(bytes[0], bytes[1])
            return bytes
        }
        choose(first, bytes[0])
        firstByte = nil
        try withUnsafeBytes(of: &first) { (byte) throws(ContentFault) in _ = try inflate(byte, take) }
        return bytes
    }

    /// Sets zlib up for bare DEFLATE where the first two bytes are no header of zlib's format (RFC 1950 section 2.2).
    private func choose(_ first: UInt8, _ second: UInt8) {
        let isZlib = first & 0x0f == 8 && first >> 4 <= 7 && (Int(first) << 8 | Int(second)) % 31 == 0
        if !isZlib { inflateReset2(stream, -MAX_WBITS) }
    }

    /// - Returns: what stands behind the end.
    private func inflate(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(ContentFault) -> UnsafeRawBufferPointer {
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = uInt(bytes.count)
        var code = Z_OK
        repeat {
            stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = uInt(output.count)
            code = CDiamondZlib.inflate(stream, Z_NO_FLUSH)
            guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(code) else { throw .broken }
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try take(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while code == Z_OK && (stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0)
        if code == Z_STREAM_END { place = .behind }
        return UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - Int(stream.pointee.avail_in))...])
    }

    /// - Returns: the next member of `gzip`, or nothing.
    private func passPadding(_ bytes: UnsafeRawBufferPointer) throws(ContentFault) -> UnsafeRawBufferPointer {
        guard let start = bytes.firstIndex(where: { $0 != 0 }) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        guard coding == .gzip, bytes[start] == 0x1f, inflateReset(stream) == Z_OK else { throw .broken }
        place = .inside
        return UnsafeRawBufferPointer(rebasing: bytes[start...])
    }
}
#endif
