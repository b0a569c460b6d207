public import HTTPTypes

/// A link from a response's `Link` field (RFC 8288).
///
/// ```swift
/// if let next = response.link("next") { print(next.target) }
/// ```
public struct WebLink: Hashable, Sendable {
    /// The URL of the link's target. It is absolute, except in the links of headers without a response.
    public let target: String
    /// The relation types, in lowercase: `next`, `prev`, `last`.
    public let relations: [String]
    /// The other parameters by lowercase name; the first of each name counts.
    public let parameters: [String: String]
}

extension Response {
    /// The links of the `Link` fields, in order, resolved against ``url``.
    ///
    /// Links are left out if their context is another resource (`anchor`, RFC 8288 section 3.2), if they have no
    /// relation, or if their target is not a URL. A malformed link is skipped up to the next comma outside quotation
    /// marks and angle brackets.
    public var links: [WebLink] { headers.links(from: url) }

    /// Returns the first link with a relation type, such as `next`. Case is ignored.
    public func link(_ relation: String) -> WebLink? {
        let relation = relation.lowercased()
        return links.first { $0.relations.contains(relation) }
    }
}

extension HTTPFields {
    /// The links of the `Link` fields, in order, with their targets as written: absolute URLs or relative references.
    /// ``Response/links`` resolves them.
    ///
    /// Links with another context (`anchor`, RFC 8288 section 3.2) or without a relation are left out.
    public var links: [WebLink] { links(from: nil) }

    /// - Parameter base: the URL that targets are resolved against; `nil` leaves them as written.
    fileprivate func links(from base: String?) -> [WebLink] {
        self[fields: .link].flatMap { field in
            var reader = LinkReader(bytes: Array(field.value.utf8), base: base)
            return reader.links()
        }
    }
}

/// A parser of `Link` fields that follows the algorithm of RFC 8288 appendix B.2.
private struct LinkReader {
    let bytes: [UInt8]
    /// The URL that targets are resolved against; `nil` leaves them as written.
    let base: String?
    private var position = 0

    init(bytes: [UInt8], base: String?) {
        self.bytes = bytes
        self.base = base
    }

    mutating func links() -> [WebLink] {
        var links: [WebLink] = []
        while position < bytes.count {
            skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            if let link = link() { links.append(link) }
            skipElement()
        }
        return links
    }

    private mutating func link() -> WebLink? {
        guard next(is: "<"), let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let reference = String(decoding: bytes[position..<end], as: UTF8.self)
        position = end + 1
        let parameters = parameters()
        let relations = (parameters["rel"] ?? "").lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        guard !relations.isEmpty, let target = resolved(reference), hasOwnContext(parameters["anchor"])
        else { return nil }
        return WebLink(
            target: target, relations: relations,
            parameters: parameters.filter { $0.key != "rel" && $0.key != "anchor" })
    }

    private func resolved(_ reference: String) -> String? {
        guard let base else { return reference }
        guard let url = try? RequestURL.resolve(reference, against: base), (try? RequestURL(parsing: url)) != nil
        else { return nil }
        return url
    }

    /// Whether the context of a link is the resource that answered.
    private func hasOwnContext(_ anchor: String?) -> Bool {
        guard let anchor else { return true }
        guard let base, let url = resolved(anchor), let context = try? RequestURL(parsing: url),
            let own = try? RequestURL(parsing: base)
        else { return false }
        return context == own
    }

    private mutating func parameters() -> [String: String] {
        var parameters: [String: String] = [:]
        while true {
            skip(Self.isSpace)
            guard next(is: ";") else { return parameters }
            skip(Self.isSpace)
            let name = readToken { !";=,".utf8.contains($0) && !Self.isSpace($0) }
            skip(Self.isSpace)
            guard next(is: "=") else { continue }
            skip(Self.isSpace)
            let value = next(is: "\"") ? quoted() : readToken { !";,".utf8.contains($0) && !Self.isSpace($0) }
            if !name.isEmpty, parameters[name.lowercased()] == nil { parameters[name.lowercased()] = value }
        }
    }

    /// Reads the rest of a quoted string after its opening quotation mark (RFC 9110 section 5.6.4).
    private mutating func quoted() -> String {
        var text: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            text.append(byte)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Skips to the comma after an element.
    private mutating func skipElement() {
        while position < bytes.count, bytes[position] != UInt8(ascii: ",") {
            let isQuote = bytes[position] == UInt8(ascii: "\"")
            let isBracket = bytes[position] == UInt8(ascii: "<")
            position += 1
            if isQuote { _ = quoted() }
            if isBracket { skip { $0 != UInt8(ascii: ">") } }
        }
    }

    private mutating func next(is character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    private mutating func readToken(_ isTaken: (UInt8) -> Bool) -> String {
        let start = position
        skip(isTaken)
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
