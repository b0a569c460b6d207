extension RequestURL {
    /// A parser that reads a URL from left to right and writes its normal form. Every error names the position and the
    /// remedy.
    ///
    /// Every component ends at the start of the fragment at the latest.
    struct Parser: ~Copyable {
        var url = Writer()
        private var position = 0

        static func read(_ text: Span<UInt8>) throws(MalformedURL) -> RequestURL {
            var parser = Parser()
            // One more byte for the "/" of an empty path.
            parser.url.bytes.reserveCapacity(text.count + 1)
            let isSecure = try parser.readScheme(text)
            try parser.readAuthority(text, port: isSecure ? 443 : 80)
            try parser.readPath(text)
            try parser.readQuery(text)
            return parser.url.url
        }

        /// Reads the scheme and returns whether it is `https`.
        private mutating func readScheme(_ text: Span<UInt8>) throws(MalformedURL) -> Bool {
            let scheme = readPart(of: text) { $0 == UInt8(ascii: ":") }
            guard position < text.count, text[position] == UInt8(ascii: ":") else {
                throw Self.failure(in: text, "it has no scheme: begin with https://, or set the engine's baseURL")
            }
            position += 1
            let (http, https) = (text.isEqual(scheme, to: "http"), text.isEqual(scheme, to: "https"))
            guard http || https else {
                throw Self.failure(in: text, "its scheme is not http or https: begin with https://")
            }
            url.bytes.append(atMost: 8) { $0.write(https ? "https://" : "http://") }
            return https
        }

        private mutating func readAuthority(_ text: Span<UInt8>, port: Int) throws(MalformedURL) {
            let slash = UInt8(ascii: "/")
            guard position + 1 < text.count, text[position] == slash, text[position + 1] == slash else {
                throw Self.failure(in: text, "'//' must follow the scheme")
            }
            position += 2
            var host = position
            let authority = readPart(of: text, until: Self.endsAuthority)
            if let at = text.lastIndex(of: UInt8(ascii: "@"), in: authority) {
                var userInfo: [UInt8] = []
                _ = try Self.copy(text, in: authority.lowerBound..<at, plain: .plain, into: &userInfo)
                url.userInfo = PercentEncoding.normal(userInfo)
                host = at + 1
            }
            try readHostAndPort(text, in: host..<authority.upperBound, port: port)
            url.originEnd = url.bytes.count
        }

        fileprivate static func endsAuthority(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }

        private mutating func readPath(_ text: Span<UInt8>) throws(MalformedURL) {
            position = try Self.copy(text, in: position..<text.count, plain: .plainInPath, into: &url.bytes)
            url.removeDotSegments()
            url.pathEnd = url.bytes.count
        }

        private mutating func readQuery(_ text: Span<UInt8>) throws(MalformedURL) {
            guard position < text.count, text[position] == UInt8(ascii: "?") else { return }
            url.bytes.append(UInt8(ascii: "?"))
            position = try Self.copy(text, in: (position + 1)..<text.count, plain: .plainInQuery, into: &url.bytes)
        }

        /// Reads the bytes up to a delimiter, the fragment, or the end of the text.
        private mutating func readPart(of text: Span<UInt8>, until isEnd: (UInt8) -> Bool) -> Range<Int> {
            let start = position
            while position < text.count, text[position] != UInt8(ascii: "#"), !isEnd(text[position]) { position += 1 }
            return start..<position
        }

        // MARK: Percent-encoding

        /// Copies a part, escaping only bytes that are not ASCII.
        ///
        /// - Parameter plain: the bytes that are not escaped. Any other reserved byte ends the part.
        /// - Returns: the end of the part.
        private static func copy(
            _ text: Span<UInt8>,
            in part: Range<Int>,
            plain: ByteClass,
            into bytes: inout [UInt8]
        ) throws(MalformedURL) -> Int {
            var index = part.lowerBound
            while true {
                let start = index
                while index < part.upperBound, plain.contains(text[index]) { index += 1 }
                bytes.append(text, in: start..<index)
                guard index < part.upperBound, !PercentEncoding.isReserved(text[index]) else { return index }
                if text[index] == PercentEncoding.percent {
                    try checkEscape(text, at: index, before: part.upperBound)
                    bytes.append(text, in: index..<(index + 3))
                    index += 3
                } else {
                    guard text[index] >= 0x80 else { throw bareCharacter(text, at: index) }
                    PercentEncoding.append(text[index], bare: false, to: &bytes)
                    index += 1
                }
            }
        }

        private static func checkEscape(_ text: Span<UInt8>, at index: Int, before end: Int) throws(MalformedURL) {
            guard index + 2 < end, Hex.value(of: text[index + 1]) != nil, Hex.value(of: text[index + 2]) != nil else {
                if text.extracting(index...).begins(with: PathSegment.refused) {
                    let reason = "is empty, '.' or '..', which would change the path: check it first"
                    throw failure(in: text, "the value of the segment at character \(index + 1) \(reason)")
                }
                let place = "'%' at character \(index + 1)"
                throw failure(in: text, "\(place) is not followed by two hexadecimal digits: write %25")
            }
        }

        private static func bareCharacter(_ text: Span<UInt8>, at index: Int) -> MalformedURL {
            let escape = "%" + Hex.text(of: [text[index]]).uppercased()
            return failure(in: text, "character \(index + 1) is not allowed in a URL: write \(escape)")
        }

        static func failure(in text: Span<UInt8>, _ reason: String) -> MalformedURL {
            let shown = RequestURL.masked(malformed: text.array(text.indices))
            return MalformedURL(message: "the URL \(shown) is malformed: \(reason)")
        }
    }

    /// Returns the text without the parts that may be secret: user info, query and fragment. The text need not be a
    /// URL.
    package static func masked(_ bytes: [UInt8]) -> String {
        guard (try? RequestURL(parsing: String(decoding: bytes, as: UTF8.self))) != nil else {
            return masked(malformed: bytes)
        }
        // A valid URL starts with a scheme and two slashes.
        let start = (bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.startIndex) + 2
        let authority = bytes[start...].prefix { !Parser.endsAuthority($0) }
        let (at, colon) = (UInt8(ascii: "@"), UInt8(ascii: ":"))
        // If an `@` follows the authority, the colon may begin a password with a slash.
        let hasUserInfo = authority.contains(at)
        guard hasUserInfo || !authority.contains(colon) || !bytes[authority.endIndex...].contains(at) else {
            return masked(malformed: bytes)
        }
        return masked(bytes, from: start, host: authority.lastIndex(of: at), to: endOfPath(bytes))
    }

    /// Masks a text that is not a URL. Everything before the last `@` counts as user info, wherever it is.
    fileprivate static func masked(malformed bytes: [UInt8]) -> String {
        let schemes = ["http://", "https://"].map { Array($0.utf8) }
        let start = schemes.first { bytes.starts(with: $0) }?.count ?? bytes.startIndex
        let end = endOfPath(bytes)
        let at = bytes[start...].lastIndex(of: UInt8(ascii: "@")) ?? start
        // If an `@` follows the `?`, a password may contain the `?`, except in a relative reference.
        let isReference = !bytes.starts(with: "//".utf8) && !bytes[..<end].contains(UInt8(ascii: ":"))
        let host = at < end || isReference ? bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) : end
        return masked(bytes, from: start, host: host, to: end)
    }

    private static func endOfPath(_ bytes: [UInt8]) -> Int {
        bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
    }

    /// - Parameter host: the position after the user info, from which the text is shown; `nil` without user info.
    private static func masked(_ bytes: [UInt8], from start: Int, host: Int?, to end: Int) -> String {
        let host = host ?? start
        let shown = bytes[..<start] + (host > start ? Array("•••".utf8) : []) + bytes[host..<end]
        return "'" + String(decoding: shown, as: UTF8.self) + (end < bytes.endIndex ? "…'" : "'")
    }
}
