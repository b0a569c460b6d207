#if Valkey
package import NIOCore

/// Reads values of RESP3 from bytes that arrive in pieces. It reads each byte once, however small the pieces are.
///
/// Attributes are read and dropped. Streamed strings and streamed aggregates are refused.
package struct RESPDecoder {
    /// An aggregate whose values are still being read.
    private struct Frame {
        enum Kind { case array, set, map, push, attribute }

        let kind: Kind
        var missing: Int
        var items: [RESPValue] = []

        var value: RESPValue? {
            switch kind {
            case .array: .array(items)
            case .set: .set(items)
            case .map: .map(items)
            case .push: .push(items)
            case .attribute: nil
            }
        }
    }

    /// A string whose length is known.
    private struct PendingString {
        enum Kind { case bulk, verbatim, error }

        let kind: Kind
        let count: Int
    }

    /// A result of reading one element.
    private enum Element {
        case value(RESPValue)
        case aggregate(Frame)
    }

    private let limits: RESPLimits
    private var buffer = ByteBuffer()
    private var frames: [Frame] = []
    private var pending: PendingString?
    /// The bytes at the beginning of the buffer that have no line feed.
    private var scanned = 0
    /// The values of this reply so far.
    private var itemCount = 0
    /// The position of the first byte of this reply.
    private var replyStart = 0
    /// The number of bytes read so far.
    private var position = 0
    /// The position of the element that is being read.
    private var start = 0

    package init(limits: RESPLimits = RESPLimits()) { self.limits = limits }

    /// The bytes that were received and do not make a whole value yet.
    package var bufferedBytes: Int { buffer.readableBytes }

    /// Adds received bytes.
    package mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else { return buffer = bytes }
        var bytes = bytes
        // Values that were read share the storage: without this, each append would copy all of them.
        buffer.discardReadBytes()
        buffer.writeBuffer(&bytes)
    }

    /// Reads the next whole value.
    ///
    /// - Returns: `nil` if more bytes are needed.
    package mutating func next() throws(RESPError) -> RESPValue? {
        while let element = try nextElement() {
            if let value = try complete(element) { return value }
        }
        return nil
    }

    // MARK: Aggregates

    /// Adds an element to the innermost aggregate.
    ///
    /// - Returns: the whole value if this element was its last one, or the last one of a push.
    private mutating func complete(_ element: Element) throws(RESPError) -> RESPValue? {
        var value: RESPValue
        switch element {
        case .value(let scalar): value = scalar
        case .aggregate(let frame):
            guard frame.missing == 0 else {
                frames.append(frame)
                return nil
            }
            guard let empty = frame.value else { return nil }
            value = empty
        }
        // Redis sends pushes in the middle of the reply of EXEC, too. Each is a value of its own.
        if case .push = value { return value }
        while var frame = frames.popLast() {
            frame.items.append(value)
            frame.missing -= 1
            guard frame.missing == 0 else {
                frames.append(frame)
                return nil
            }
            guard let whole = frame.value else { return nil }
            if case .push = whole { return whole }
            value = whole
        }
        itemCount = 0
        replyStart = position
        return value
    }

    private func aggregate(_ kind: Frame.Kind, of count: Int, inTwos: Bool = false) throws(RESPError) -> Element {
        guard count >= 0 else { throw error(.badLength) }
        guard frames.count < limits.depth else { throw error(.deep) }
        let (missing, isOverflow) = inTwos ? count.multipliedReportingOverflow(by: 2) : (count, false)
        guard !isOverflow, missing <= limits.items - itemCount else { throw error(.manyItems) }
        return .aggregate(Frame(kind: kind, missing: missing))
    }

    // MARK: Elements

    private mutating func nextElement() throws(RESPError) -> Element? {
        if let pending { return try string(pending) }
        start = position
        guard let line = try nextLine() else { return nil }
        itemCount += 1
        guard itemCount <= limits.items else { throw error(.manyItems) }
        guard position - replyStart <= limits.bytes else { throw error(.longReply) }
        guard let type = line.first else { throw error(.unknownType) }
        return try element(type, line.dropFirst())
    }

    private mutating func element(_ type: UInt8, _ rest: ByteBufferView) throws(RESPError) -> Element? {
        switch type {
        case UInt8(ascii: "+"): return .value(.simple(text(rest)))
        case UInt8(ascii: "-"): return .value(.error(RESPRefusal(text(rest))))
        case UInt8(ascii: ":"): return .value(.integer(try integer(rest)))
        case UInt8(ascii: ","): return .value(.double(try double(rest)))
        case UInt8(ascii: "("): return .value(.bigNumber(try bigNumber(rest)))
        case UInt8(ascii: "#"): return .value(.boolean(try boolean(rest)))
        case UInt8(ascii: "_"):
            guard rest.isEmpty else { throw error(.badNull) }
            return .value(.null)
        case UInt8(ascii: "$"): return try string(.bulk, rest)
        case UInt8(ascii: "="): return try string(.verbatim, rest)
        case UInt8(ascii: "!"): return try string(.error, rest)
        case UInt8(ascii: "*"):
            if rest.elementsEqual("-1".utf8) { return .value(.null) }
            return try aggregate(.array, of: length(rest))
        case UInt8(ascii: "~"): return try aggregate(.set, of: length(rest))
        case UInt8(ascii: ">"): return try aggregate(.push, of: length(rest))
        case UInt8(ascii: "%"): return try aggregate(.map, of: length(rest), inTwos: true)
        case UInt8(ascii: "|"): return try aggregate(.attribute, of: length(rest), inTwos: true)
        case UInt8(ascii: ";"), UInt8(ascii: "."): throw error(.streamed)
        default: throw error(.unknownType)
        }
    }

    // MARK: Strings

    private mutating func string(_ kind: PendingString.Kind, _ rest: ByteBufferView) throws(RESPError) -> Element? {
        if kind == .bulk, rest.elementsEqual("-1".utf8) { return .value(.null) }
        let count = try length(rest)
        guard count >= 0 else { throw error(.badLength) }
        guard count <= limits.bytes - (position - replyStart) else { throw error(.longReply) }
        let string = PendingString(kind: kind, count: count)
        pending = string
        return try self.string(string)
    }

    private mutating func string(_ string: PendingString) throws(RESPError) -> Element? {
        guard buffer.readableBytes >= string.count + 2 else { return nil }
        guard buffer.getInteger(at: buffer.readerIndex + string.count, as: UInt16.self) == 0x0D0A else {
            throw error(.badLineEnd)
        }
        guard var bytes = buffer.readSlice(length: string.count) else { return nil }
        buffer.moveReaderIndex(forwardBy: 2)
        position += string.count + 2
        pending = nil
        switch string.kind {
        case .bulk: return .value(.bulk(bytes))
        case .error: return .value(.error(RESPRefusal(String(buffer: bytes))))
        case .verbatim:
            guard let format = bytes.readString(length: 4), format.utf8.last == UInt8(ascii: ":") else {
                throw error(.badFormat)
            }
            return .value(.verbatim(bytes, format: String(format.dropLast())))
        }
    }

    // MARK: Lines

    /// Removes the next line, without its end.
    private mutating func nextLine() throws(RESPError) -> ByteBufferView? {
        let view = buffer.readableBytesView
        guard let end = view.dropFirst(scanned).firstIndex(of: UInt8(ascii: "\n")) else {
            scanned = view.count
            guard scanned <= limits.line else { throw error(.longLine) }
            return nil
        }
        let count = end - view.startIndex
        guard count <= limits.line else { throw error(.longLine) }
        guard count > 0, view[end - 1] == UInt8(ascii: "\r") else { throw error(.badLineEnd) }
        scanned = 0
        buffer.moveReaderIndex(forwardBy: count + 1)
        position += count + 1
        let line = view[view.startIndex..<end - 1]
        // A reader that ends lines at CR would go on in the middle of this one.
        guard !line.contains(UInt8(ascii: "\r")) else { throw error(.badLineEnd) }
        return line
    }

    private func text(_ bytes: ByteBufferView) -> String { String(decoding: bytes, as: UTF8.self) }

    private func length(_ bytes: ByteBufferView) throws(RESPError) -> Int {
        if bytes.elementsEqual("?".utf8) { throw error(.streamed) }
        // No sign: the nulls of RESP2 have been read.
        guard let first = bytes.first, first.isDigit, let length = decimal(bytes) else { throw error(.badLength) }
        guard let length = Int(exactly: length) else { throw error(.badLength) }
        return length
    }

    private func integer(_ bytes: ByteBufferView) throws(RESPError) -> Int64 {
        guard let integer = decimal(bytes) else { throw error(.badNumber) }
        return integer
    }

    private func decimal(_ bytes: ByteBufferView) -> Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard digit.isDigit else { return nil }
            let next = Int64(digit - UInt8(ascii: "0"))
            let (tens, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOverflow) =
                isNegative ? tens.subtractingReportingOverflow(next) : tens.addingReportingOverflow(next)
            guard !isLarge, !isOverflow else { return nil }
            value = sum
        }
        return value
    }

    private func double(_ bytes: ByteBufferView) throws(RESPError) -> Double {
        switch text(bytes) {
        case "inf": return .infinity
        case "-inf": return -.infinity
        case "nan", "-nan": return .nan
        case let text:
            // Swift's reader also takes hexadecimal digits and names.
            guard bytes.allSatisfy({ $0.isDigit || "+-.eE".utf8.contains($0) }), let value = Double(text) else {
                throw error(.badNumber)
            }
            return value
        }
    }

    private func bigNumber(_ bytes: ByteBufferView) throws(RESPError) -> String {
        let digits = bytes.first == UInt8(ascii: "-") || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { throw error(.badNumber) }
        return text(bytes)
    }

    private func boolean(_ bytes: ByteBufferView) throws(RESPError) -> Bool {
        if bytes.elementsEqual("t".utf8) { return true }
        guard bytes.elementsEqual("f".utf8) else { throw error(.badBoolean) }
        return false
    }

    private func error(_ problem: RESPError.Problem) -> RESPError { RESPError(problem: problem, offset: start) }
}

/// The limits of what a server may send: a damaged or malicious one cannot make the client take more memory.
package struct RESPLimits: Sendable, Hashable {
    /// The most bytes of a line: a simple string, a number or a length.
    package var line = 64 << 10
    /// The most bytes of a reply, with its attributes.
    package var bytes = 64 << 20
    /// The most values in one reply, with those of its attributes.
    package var items = 1 << 20
    /// The most values around another one.
    package var depth = 16

    package init() {}
}

extension UInt8 {
    fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}
#endif
