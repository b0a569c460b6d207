#if Tools
import HTTPTypes
import NIOCore

/// Finds the heads in the bytes of a connection, and prepares each for swift-nio's parser.
///
/// The parser refuses unknown methods, and replaces bytes of fields that are not UTF-8. Therefore it gets a known
/// method in place of an unknown one, and each byte above 0x7F as the UTF-8 form of the ISO-8859-1 character.
/// ``RequestMethods`` restores the method.
struct RequestHeads {
    /// The rule for the end of a message's body, by the head that the parser has read.
    enum Framing {
        case none
        case length(Int64)
        case chunked
    }

    enum Step {
        /// A whole head, with its method.
        case head(ByteBuffer, method: String)
        case body(ByteBuffer)
        /// Bytes that are not a valid head, with the method that they begin with.
        case refused(ProxyProblem, method: String)
        /// Chunks that are malformed.
        case malformed
    }

    private enum State {
        case head
        case body(Int64)
        case chunks(ChunkScanner)
        case refused
    }

    /// The maximum number of bytes of a head.
    let limit: Int
    private var state = State.head
    /// The beginning of a head.
    private var pending = ByteBuffer()
    /// The number of pending bytes in which the end of the head was searched.
    private var searched = 0
    /// The bits that these bytes have.
    private var bits: UInt8 = 0
    /// The offset of the end of the first line; `nil` before it has come.
    private var lineEnd: Int?

    init(limit: Int) { self.limit = limit }

    /// Returns the next step for the bytes received; `nil` if more bytes are needed. After a head, call ``begin(_:)``
    /// before this method.
    mutating func next(_ received: inout ByteBuffer) -> Step? {
        switch state {
        case .head: return nextHead(&received)
        case .body(let missing):
            guard received.readableBytes > 0 else { return nil }
            let count = Int(min(missing, Int64(received.readableBytes)))
            state = missing == Int64(count) ? .head : .body(missing - Int64(count))
            return received.readSlice(length: count).map { .body($0) }
        case .chunks(var scanner):
            guard received.readableBytes > 0 else { return nil }
            guard let count = received.withUnsafeReadableBytes({ scanner.scan($0) }) else { return .malformed }
            state = scanner.isAtEnd ? .head : .chunks(scanner)
            return received.readSlice(length: count).map { .body($0) }
        case .refused:
            received.clear()
            return nil
        }
    }

    /// The method of a head that is not complete; `nil` if its end has not come.
    var pendingMethod: String? { pending.readableBytesView.contains(0x20) ? beginning : nil }

    /// Begins the body that follows the head.
    ///
    /// - Parameter framing: the end of the body; `nil` if the parser has refused the head.
    mutating func begin(_ framing: Framing?) {
        state =
            switch framing {
            case .none?: .head
            case .length(let count)?: count > 0 ? .body(count) : .head
            case .chunked?: .chunks(ChunkScanner())
            case nil: .refused
            }
    }

    private mutating func nextHead(_ received: inout ByteBuffer) -> Step? {
        if pending.readableBytes == 0 {
            pending = received
            received.clear()
            // Empty lines before a request are ignored (RFC 9112 section 2.2).
            let count = pending.readableBytesView.prefix { $0 == 0x0D || $0 == 0x0A }.count
            pending.moveReaderIndex(forwardBy: count)
        } else {
            pending.writeBuffer(&received)
        }
        guard pending.readableBytes > 0 else { return nil }
        guard isToken else { return refused(.badRequest("the method is malformed")) }
        switch endOfHead() {
        case .bareFeed: return refused(.badRequest("a line of the head ends without CR"))
        case .missing: return pending.readableBytes > limit ? refused(tooLarge) : nil
        case .found(let end): return end > limit ? refused(tooLarge) : completeHead(endingAt: end, rest: &received)
        }
    }

    private mutating func completeHead(endingAt end: Int, rest received: inout ByteBuffer) -> Step? {
        if let problem = versionProblem { return refused(problem) }
        defer {
            received = pending
            pending = ByteBuffer()
            searched = 0
            bits = 0
            lineEnd = nil
        }
        return pending.readSlice(length: end).map { head($0) }
    }

    private mutating func refused(_ problem: ProxyProblem) -> Step {
        state = .refused
        defer { pending = ByteBuffer() }
        return .refused(problem, method: beginning)
    }

    /// The token that the pending bytes begin with.
    private var beginning: String {
        String(decoding: pending.readableBytesView.prefix(32).prefix(while: Self.isTokenByte), as: UTF8.self)
    }

    // RFC 9112 section 3, RFC 6585 section 5.
    private var tooLarge: ProxyProblem {
        let view = pending.readableBytesView.prefix(limit)
        guard view.contains(0x20) else { return .tooLarge(.notImplemented, "the method is too long") }
        guard view.contains(0x0A) else { return .tooLarge(.uriTooLong, "the target is too long") }
        return .tooLarge(.requestHeaderFieldsTooLarge, "the head is too large")
    }

    /// The problem of a request line without a version of HTTP/1; `nil` for any other line.
    private var versionProblem: ProxyProblem? {
        let (isVersion, major) = pending.withUnsafeReadableBytes { bytes in
            let end = bytes[..<(lineEnd ?? 0)].suffix(9)
            guard end.count == 9, end.starts(with: " HTTP/".utf8) else { return (false, UInt8(0)) }
            let version = end.suffix(3)
            let (major, minor) = (version[version.startIndex], version[version.endIndex - 1])
            let isPoint = version[version.startIndex + 1] == UInt8(ascii: ".")
            return (isPoint && Self.isDigit(major) && Self.isDigit(minor), major)
        }
        guard isVersion else { return .badRequest("the request line does not end in a version of HTTP") }
        return major == UInt8(ascii: "1") ? nil : .version
    }

    /// Whether the bytes can begin a request: a token, and a blank if there is more.
    private var isToken: Bool {
        let view = pending.readableBytesView
        guard let end = view.firstIndex(where: { !Self.isTokenByte($0) }) else { return true }
        return end > view.startIndex && view[end] == 0x20
    }

    // RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private enum HeadEnd {
        case missing
        /// The length of the head, with its empty line.
        case found(Int)
        /// A line ends in LF alone. It is refused, because other recipients may read the lines in another way (RFC 9112
        /// section 2.2).
        case bareFeed
    }

    private mutating func endOfHead() -> HeadEnd {
        pending.withUnsafeReadableBytes { bytes in
            while searched < bytes.count {
                let index = searched
                searched += 1
                bits |= bytes[index]
                guard bytes[index] == 0x0A else { continue }
                guard index > 0, bytes[index - 1] == 0x0D else { return .bareFeed }
                if index >= 3, bytes[index - 2] == 0x0A { return .found(index + 1) }
                if lineEnd == nil { lineEnd = index - 1 }
            }
            return .missing
        }
    }

    private static let known: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
    ]

    private func head(_ bytes: ByteBuffer) -> Step {
        let method = String(decoding: bytes.readableBytesView.prefix { $0 != 0x20 }, as: UTF8.self)
        guard bits >= 0x80 || !Self.known.contains(method) else { return .head(bytes, method: method) }
        var head = ByteBuffer()
        head.reserveCapacity(bytes.readableBytes + 64)
        head.writeString(Self.known.contains(method) ? method : "PUT")
        for byte in bytes.readableBytesView.dropFirst(method.utf8.count) {
            if byte < 0x80 { head.writeInteger(byte) } else { head.writeBytes([0xC0 | byte >> 6, 0x80 | byte & 0x3F]) }
        }
        return .head(head, method: method)
    }
}
#endif
