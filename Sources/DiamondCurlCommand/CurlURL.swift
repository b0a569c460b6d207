import Diamond

/// The URL of a `curl` command, read as `curl` reads it.
struct CurlURL {
    private let word: ShellWord

    init(_ word: ShellWord) { self.word = word }

    /// - Parameters:
    ///   - isPlain: whether brackets and braces stand for themselves (`--globoff`).
    ///   - query: what to add to the query.
    func text(isPlain: Bool, adding query: [UInt8]?) throws(RequestError) -> String {
        let unglobbed = isPlain ? word.bytes : try withoutGlobs()
        let text = try ShellWord(bytes: Self.adding(query, to: unglobbed), position: word.position).text()
        do { _ = try RequestURL(text) } catch { throw word.failure(error.message) }
        return text
    }

    /// As curl does: an `&` divides the two queries unless there is one at the end, or nothing before; of an empty query
    /// nothing stays, not even the `?`.
    private static func adding(_ query: [UInt8]?, to url: [UInt8]) -> [UInt8] {
        guard let query else { return url }
        let end = url.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let mark = url[..<end].firstIndex(of: UInt8(ascii: "?")) ?? end
        let own = url[mark..<end].dropFirst()
        let isDivided = own.isEmpty || own.last == UInt8(ascii: "&")
        let whole = own + (isDivided ? [] : [UInt8(ascii: "&")]) + query
        return url[..<mark] + (whole.isEmpty ? [] : [UInt8(ascii: "?")]) + whole + url[end...]
    }

    /// Refuses what `--path-as-is` would send, and a request does not.
    func refuseDotSegments() throws(RequestError) {
        let end = word.bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? word.bytes.endIndex
        let segments = word.bytes[..<end].split(separator: UInt8(ascii: "/"))
        guard segments.allSatisfy({ $0.dots == nil }) else {
            throw word.failure(
                "--path-as-is would send '.' and '..' in the path, which are removed here: write it without")
        }
    }

    /// Brackets and braces that browsers escape with `\`, for `curl` would make several URLs of bare ones. Only an empty
    /// pair of brackets stands for itself (`glob_parse` in curl's `tool_urlglob.c`).
    private func withoutGlobs() throws(RequestError) -> [UInt8] {
        var plain: [UInt8] = []
        var rest = word.bytes[...]
        var place = Place.scheme
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\"), let next = rest.dropFirst().first, Self.globs.contains(next) {
                PercentEncoding.append(next, bare: PercentEncoding.isReserved(next), to: &plain)
                place.pass(next)
                rest = rest.dropFirst(2)
            } else if rest.starts(with: "[]".utf8) {
                plain += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                guard !Self.globs.contains(byte) || place.mayHave(byte) else {
                    let glob = "'\(Unicode.Scalar(byte))'"
                    throw word.failure(
                        "\(glob) in the URL stands for several URLs: add --globoff (-g) to send it as it is")
                }
                place.pass(byte)
                plain.append(byte)
                rest = rest.dropFirst()
            }
        }
        return plain
    }

    private static let globs = Set("[]{}".utf8)

    /// Which part of the URL is read: a bracket belongs to an IPv6 address up to the end of the host.
    private enum Place {
        case scheme, slashes, host, path

        mutating func pass(_ byte: UInt8) {
            switch (self, Unicode.Scalar(byte)) {
            case (.scheme, "/"): self = .slashes
            case (.slashes, _): self = .host
            case (.host, "/"), (.host, "?"), (.host, "#"): self = .path
            default: break
            }
        }

        func mayHave(_ byte: UInt8) -> Bool {
            self != .path && (byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]"))
        }
    }
}
