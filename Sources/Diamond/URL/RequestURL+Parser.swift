extension RequestURL {
    /// Takes a URL apart from left to right; every failure names the place and the remedy.
    struct Parser {
        var bytes: [UInt8]
        /// Where the fragment begins, or the end.
        var end: Int
        private var position = 0

        init(bytes: [UInt8], end: Int) {
            self.bytes = bytes
            self.end = end
        }

        mutating func scheme() throws(MalformedURL) -> String {
            guard let colon = bytes[..<end].firstIndex(of: UInt8(ascii: ":")) else {
                throw failure("it has no scheme: begin with https://")
            }
            let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
            guard scheme == "http" || scheme == "https" else {
                throw failure("its scheme is not http or https: begin with https://")
            }
            position = colon + 1
            return scheme
        }

        mutating func authority() throws(MalformedURL) -> (userInfo: [UInt8]?, host: [UInt8], port: Int?) {
            guard bytes[position..<end].starts(with: "//".utf8) else { throw failure("'//' must follow the scheme") }
            position += 2
            let authority = take(until: [UInt8(ascii: "/"), UInt8(ascii: "?")])
            guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else {
                return try splitPort(of: authority, userInfo: nil)
            }
            let userInfo = try normalized(authority[..<at])
            return try splitPort(of: authority[(at + 1)...], userInfo: userInfo)
        }

        mutating func path() throws(MalformedURL) -> [UInt8] {
            try normalized(take(until: [UInt8(ascii: "?")]))
        }

        mutating func query() throws(MalformedURL) -> [UInt8]? {
            guard position < end else { return nil }
            position += 1
            return try normalized(take(until: []), decoding: false)
        }

        private mutating func take(until stops: [UInt8]) -> ArraySlice<UInt8> {
            let start = position
            position = bytes[start..<end].firstIndex(where: stops.contains) ?? end
            return bytes[start..<position]
        }

        /// One form of percent-encoding; with `decoding`, what needs none loses it (section 6.2.2.2).
        private func normalized(_ part: ArraySlice<UInt8>, decoding: Bool = true) throws(MalformedURL) -> [UInt8] {
            var normalized: [UInt8] = []
            normalized.reserveCapacity(part.count)
            var index = part.startIndex
            while index < part.endIndex {
                let isEscape = part[index] == PercentEncoding.percent
                let byte = isEscape ? try escaped(part, at: index) : part[index]
                let isBare = PercentEncoding.isUnreserved(byte) && (decoding || !isEscape)
                let keepsBare = isBare || (!isEscape && PercentEncoding.isReserved(byte))
                if !isEscape, !keepsBare, byte < 0x80 { throw bareCharacter(byte, at: index) }
                PercentEncoding.append(byte, bare: keepsBare, to: &normalized)
                index += isEscape ? 3 : 1
            }
            return normalized
        }

        private func escaped(_ part: ArraySlice<UInt8>, at index: Int) throws(MalformedURL) -> UInt8 {
            guard index + 2 < part.endIndex, let high = Hex.value(of: part[index + 1]),
                let low = Hex.value(of: part[index + 2])
            else {
                throw failure("'%' at character \(index + 1) is not followed by two hexadecimal digits: write %25")
            }
            return high << 4 | low
        }

        private func bareCharacter(_ byte: UInt8, at index: Int) -> MalformedURL {
            let escape = "%" + Hex.text(of: [byte]).uppercased()
            return failure("character \(index + 1) cannot stand in a URL: write \(escape)")
        }

        func failure(_ reason: String) -> MalformedURL {
            MalformedURL(message: "the URL \(RequestURL.masked(bytes)) is malformed: \(reason)")
        }
    }

    /// The text without what may be secret: user info, query and fragment. Made for texts that are no URLs, too: what
    /// stands before the last `@` is taken for user info, wherever that is.
    package static func masked(_ bytes: [UInt8]) -> String {
        let schemes = ["http://", "https://"].map { Array($0.utf8) }
        let start = schemes.first { bytes.starts(with: $0) }?.count ?? bytes.startIndex
        let ends: [UInt8] = [UInt8(ascii: "?"), UInt8(ascii: "#")]
        let host = bytes[start...].lastIndex(of: UInt8(ascii: "@")) ?? start
        let end = bytes[host...].firstIndex(where: ends.contains) ?? bytes.endIndex
        let isCut = end < bytes.endIndex
        let shown = bytes[..<start] + (host > start ? Array("•••".utf8) : []) + bytes[host..<end]
        return "'" + String(decoding: shown, as: UTF8.self) + (isCut ? "…'" : "'")
    }
}
