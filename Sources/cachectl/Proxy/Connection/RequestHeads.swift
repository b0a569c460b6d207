#if Tools
import NIOCore
import NIOHTTP1

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
        /// Bytes that are not a head. The parser refuses them.
        case refused(ByteBuffer)
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
    /// The offset in the pending bytes from which the end of the head is searched.
    private var searched = 0

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
            guard received.readableBytes > 0 else { return nil }
            defer { received.clear() }
            return .refused(received)
        }
    }

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
        guard isToken else { return refused() }
        guard let end = endOfHead() else { return pending.readableBytes > limit ? refused() : nil }
        searched = 0
        defer {
            received = pending
            pending = ByteBuffer()
        }
        return pending.readSlice(length: end).map { head($0) }
    }

    private mutating func refused() -> Step {
        state = .refused
        defer { pending = ByteBuffer() }
        return .refused(pending)
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

    /// Returns the length of the head, up to the end of the first empty line. Lines may end in a bare LF here; the
    /// parser refuses them.
    private mutating func endOfHead() -> Int? {
        pending.withUnsafeReadableBytes { bytes in
            var index = searched
            while index < bytes.count, let feed = bytes[index...].firstIndex(of: 0x0A) {
                var next = feed + 1
                if next < bytes.count, bytes[next] == 0x0D { next += 1 }
                if next < bytes.count, bytes[next] == 0x0A { return next + 1 }
                // The empty line may begin with this feed.
                guard next < bytes.count else {
                    searched = feed
                    return nil
                }
                index = feed + 1
            }
            searched = bytes.count
            return nil
        }
    }

    private static let known: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
    ]

    private func head(_ bytes: ByteBuffer) -> Step {
        let method = String(decoding: bytes.readableBytesView.prefix { $0 != 0x20 }, as: UTF8.self)
        let isASCII = bytes.withUnsafeReadableBytes { bytes in bytes.reduce(0, |) < 0x80 }
        guard !isASCII || !Self.known.contains(method) else { return .head(bytes, method: method) }
        var head = ByteBuffer()
        head.reserveCapacity(bytes.readableBytes + 64)
        head.writeString(Self.known.contains(method) ? method : "PUT")
        for byte in bytes.readableBytesView.dropFirst(method.utf8.count) {
            if byte < 0x80 { head.writeInteger(byte) } else { head.writeBytes([0xC0 | byte >> 6, 0x80 | byte & 0x3F]) }
        }
        return .head(head, method: method)
    }
}

/// Finds the end of a chunked body (RFC 9112 section 7.1), and limits what is not its data. swift-nio's parser reads the
/// chunks themselves.
struct ChunkScanner {
    private enum State {
        /// The line of a chunk's size, after a number of digits.
        case size(Int64, digits: Int)
        /// The rest of that line.
        case sizeEnd(Int64)
        case data(Int64)
        /// At the line end after the data.
        case dataEnd
        /// At the beginning of a line of the trailers.
        case line
        case trailer
    }

    /// The maximum number of bytes of extensions and of trailers. As in Go's `net/http`, each chunk may have 16 bytes more,
    /// and 2 for each byte of its data.
    private static let limit: Int64 = 16 << 10

    private var state = State.size(0, digits: 0)
    /// The number of bytes of extensions and of trailers that count for the limit.
    private var excess: Int64 = 0
    private(set) var isAtEnd = false

    /// Returns the number of bytes that belong to the body; `nil` if the chunks are malformed.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        while index < bytes.count, !isAtEnd {
            if case .data(let missing) = state {
                let count = Int(min(missing, Int64(bytes.count - index)))
                index += count
                state = missing == Int64(count) ? .dataEnd : .data(missing - Int64(count))
                continue
            }
            guard read(bytes[index]) else { return nil }
            index += 1
        }
        return index
    }

    private mutating func read(_ byte: UInt8) -> Bool {
        switch state {
        case .size(let size, let digits):
            if let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 {
                state = .size(size << 4 | Int64(digit), digits: digits + 1)
                return digits < 15
            }
            state = .sizeEnd(size)
            return digits > 0 && (byte != 0x0A || read(byte))
        case .sizeEnd(let size):
            excess += 1
            guard byte == 0x0A else { return excess <= Self.limit }
            excess = max(0, excess - 16 - 2 * size)
            state = size > 0 ? .data(size) : .line
        case .data: break
        case .dataEnd: if byte == 0x0A { state = .size(0, digits: 0) } else { return byte == 0x0D }
        case .line: if byte == 0x0A { isAtEnd = true } else if byte != 0x0D { state = .trailer }
        case .trailer:
            excess += 1
            if byte == 0x0A { state = .line }
            return excess <= Self.limit
        }
        return true
    }
}

/// Passes bytes to the parser as ``RequestHeads`` prepares them. It belongs to the connection's event loop.
final class RequestHeadPreparer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let methods: RequestMethods
    private var heads: RequestHeads

    init(_ methods: RequestMethods, limit: Int) {
        self.methods = methods
        heads = RequestHeads(limit: limit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var received = unwrapInboundIn(data)
        while let step = heads.next(&received) {
            switch step {
            case .head(let head, let method):
                methods.begin(method)
                context.fireChannelRead(wrapInboundOut(head))
                heads.begin(methods.framing)
            case .body(let bytes), .refused(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
            case .malformed:
                context.fireErrorCaught(ProxyProblem.badRequest("the request is malformed"))
                heads.begin(nil)
                return
            }
        }
    }
}

/// Restores the methods that the parser has not read, and determines the framing of bodies for ``RequestHeadPreparer``.
/// It belongs to the connection's event loop.
final class RequestMethods: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var method = ""
    /// The framing of the request whose head was read last; `nil` if the parser has refused it.
    private(set) var framing: RequestHeads.Framing?

    /// Begins a head with a method.
    func begin(_ method: String) {
        self.method = method
        framing = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        framing = Self.framing(of: head)
        guard head.method.rawValue != method else { return context.fireChannelRead(data) }
        head.method = .RAW(value: method)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private static func framing(of head: HTTPRequestHead) -> RequestHeads.Framing {
        guard !head.headers.contains(name: "Transfer-Encoding") else { return .chunked }
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else { return .none }
        return .length(length)
    }
}
#endif
