extension RequestURL {
    /// Creates a URL from a text that is in normal form already, as most are. It checks each byte once and copies none.
    ///
    /// It returns `nil` if the text needs the parser: to normalize it, to refuse it, or for a rare form.
    init?(normal text: String) {
        guard let ends = text.withBytes(Self.ends) else { return nil }
        self.init(whole: text, originEnd: ends.origin, pathEnd: ends.path, userInfo: nil)
    }

    private static func ends(of text: Span<UInt8>) -> (origin: Int, path: Int)? {
        guard let host = text.endOfScheme else { return nil }
        let name = text.end(of: .lowerName, from: host)
        guard name > host, let origin = text.endOfPort(after: name, isSecure: host == 8), origin < text.count,
            text[origin] == UInt8(ascii: "/")
        else { return nil }
        let path = text.end(of: .plainInPath, from: origin)
        guard !text.hasDotSegment(in: origin..<path) else { return nil }
        let hasQuery = path < text.count && text[path] == UInt8(ascii: "?")
        guard path == text.count || hasQuery && text.end(of: .plainInQuery, from: path + 1) == text.count else {
            return nil
        }
        return (origin, path)
    }
}

extension Span<UInt8> {
    /// The start of the host of an `http` or `https` URL whose scheme is in lower case.
    fileprivate var endOfScheme: Int? { begins(with: "https://") ? 8 : begins(with: "http://") ? 7 : nil }

    /// Returns the end of the port, or of the name if there is no port; `nil` for the scheme's default port and for a
    /// malformed port.
    fileprivate func endOfPort(after name: Int, isSecure: Bool) -> Int? {
        guard name < count, self[name] == UInt8(ascii: ":") else { return name }
        var end = name + 1
        var port = 0
        while end < count, end <= name + 5, (0x30...0x39).contains(self[end]) {
            port = port * 10 + Int(self[end] - 0x30)
            end += 1
        }
        let isNormal = end > name + 1 && self[name + 1] != 0x30 && port < 1 << 16 && port != (isSecure ? 443 : 80)
        return isNormal ? end : nil
    }

    /// Whether a segment of a path starts with a dot. Few do besides `.` and `..`.
    func hasDotSegment(in path: Range<Int>) -> Bool {
        let path = extracting(path)
        guard path.count > 1 else { return false }
        for index in 1..<path.count where path[index] == UInt8(ascii: ".") && path[index - 1] == UInt8(ascii: "/") {
            return true
        }
        return false
    }
}
