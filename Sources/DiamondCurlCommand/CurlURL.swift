import Diamond

/// A parser for the URL of a `curl` command, with curl's rules.
struct CurlURL {
    private let word: ShellWord

    init(_ word: ShellWord) { self.word = word }

    /// - Parameters:
    ///   - isPlain: whether brackets and braces stand for themselves (`--globoff`).
    ///   - query: the data to add to the query; `nil` for none.
    func text(isPlain: Bool, adding query: [UInt8]?) throws(RequestError) -> String {
        let unglobbed = isPlain ? word.bytes : try withoutGlobs()
        let text = try ShellWord(bytes: Self.adding(query, to: unglobbed), position: word.position).text()
        do { _ = try RequestURL(text) } catch { throw word.failure(error.message) }
        return text
    }

    /// Returns the URL with data added to its query, as curl does. An `&` separates them, unless the query is empty or
    /// ends with one. An empty query is removed with its `?`.
    private static func adding(_ query: [UInt8]?, to url: [UInt8]) -> [UInt8] {
        guard let query else { return url }
        let end = url.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let mark = url[..<end].firstIndex(of: UInt8(ascii: "?")) ?? end
        let own = url[mark..<end].dropFirst()
        let isDivided = own.isEmpty || own.last == UInt8(ascii: "&")
        let whole = own + (isDivided ? [] : [UInt8(ascii: "&")]) + query
        return url[..<mark] + (whole.isEmpty ? [] : [UInt8(ascii: "?")]) + whole + url[end...]
    }

    /// Throws for dot segments. `--path-as-is` sends them, and requests do not.
    func refuseDotSegments() throws(RequestError) {
        let end = word.bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? word.bytes.endIndex
        let segments = word.bytes[..<end].split(separator: UInt8(ascii: "/"))
        guard segments.allSatisfy({ $0.dots == nil }) else {
            throw word.failure(
                "--path-as-is sends '.' and '..' in the path, and requests do not: remove them from the URL")
        }
    }

    /// Returns the URL without the `\` before brackets and braces. Browsers add it, because `curl` reads bare ones as
    /// patterns for several URLs. An empty pair of brackets is literal (`glob_parse` in curl's `tool_urlglob.c`).
    private func withoutGlobs() throws(RequestError) -> [UInt8] {
        var plain: [UInt8] = []
        var rest = word.bytes[...]
        var part = Part.scheme
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\"), let next = rest.dropFirst().first, Self.globs.contains(next) {
                PercentEncoding.append(next, bare: PercentEncoding.isReserved(next), to: &plain)
                part.advance(past: next)
                rest = rest.dropFirst(2)
            } else if rest.starts(with: "[]".utf8) {
                plain += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                guard !Self.globs.contains(byte) || part.mayContain(byte) else {
                    let glob = "'\(Unicode.Scalar(byte))'"
                    throw word.failure(
                        "\(glob) in the URL stands for several URLs: add --globoff (-g) to send it as it is")
                }
                part.advance(past: byte)
                plain.append(byte)
                rest = rest.dropFirst()
            }
        }
        return plain
    }

    private static let globs = Set("[]{}".utf8)

    /// The part of the URL that is being read. Brackets before the path belong to an IPv6 address.
    private enum Part {
        case scheme, slashes, host, path

        mutating func advance(past byte: UInt8) {
            switch (self, Unicode.Scalar(byte)) {
            case (.scheme, "/"): self = .slashes
            case (.slashes, _): self = .host
            case (.host, "/"), (.host, "?"), (.host, "#"): self = .path
            default: break
            }
        }

        func mayContain(_ byte: UInt8) -> Bool {
            self != .path && (byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]"))
        }
    }
}
