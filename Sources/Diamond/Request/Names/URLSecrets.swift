/// A finder of secrets in the URLs of a text: user info, and the values of items in queries and fragments.
struct URLSecrets {
    /// A part of the text that is secret.
    struct Place {
        let range: Range<Int>
        /// Whether the part is user info, which includes the "@" behind it.
        let isUserInfo: Bool
    }

    let own: IdentityRules
    /// Whether a server leads the reader to the URL, maybe with a value that is good for one use.
    let isTarget: Bool
    /// Whether the whole text is one URL.
    let isURL: Bool

    /// Whether a byte may stand before or behind a secret: a text without any has none.
    static func isMark(_ byte: UInt8) -> Bool {
        isBegin(byte) || byte == UInt8(ascii: "@")
    }

    /// Whether an item begins behind a byte.
    private static func isBegin(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
    }

    /// Returns the secret parts in their order. They may overlap if a URL stands in an item of another. One pass,
    /// because a value may be a mebibyte.
    func places(in text: [UInt8]) -> [Place] {
        var places: [Place] = []
        // Where the name begins that stands here, and where the item ends.
        var (name, end) = (Int?.none, 0)
        for index in text.indices {
            if Self.isBegin(text[index]) {
                name = index + 1
            } else if isEnd(text[index]) {
                name = nil
            } else if text[index] == UInt8(ascii: "="), let start = name {
                let isOuter = index >= end
                if isOuter { end = text[index...].firstIndex(where: isItemEnd) ?? text.endIndex }
                let hasSecret = isOuter && hasSecretMember(text[(index + 1)..<end])
                if hasSecret || isSecret(name: text[start..<index]) {
                    places.append(Place(range: (index + 1)..<end, isUserInfo: false))
                }
                name = nil
            } else if text[index...].starts(with: "//".utf8), let place = userInfo(from: index + 2, in: text) {
                places.append(place)
            }
        }
        return places
    }

    /// Whether a byte ends a URL, where it stands in a text.
    private func isEnd(_ byte: UInt8) -> Bool {
        !isURL && (byte <= 0x20 || "\"<>".utf8.contains(byte))
    }

    private func isItemEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#") || isEnd(byte)
    }

    private func isSecret(name: ArraySlice<UInt8>) -> Bool {
        let (name, names) = (Array(name), CredentialNames.all)
        if names.isSecret(parameter: name.span, LetterSet(of: name.span)) { return true }
        if isTarget, names.isSecret(target: name.span) { return true }
        guard !own.secrets.isEmpty else { return false }
        let decoded = String(decoding: PercentEncoding.decode(name), as: UTF8.self)
        return own.isSecret(decoded) || decoded.split { $0 == "[" || $0 == "]" }.contains(where: own.isSecret)
    }

    /// Whether a value is JSON with a secret member in it.
    private func hasSecretMember(_ value: ArraySlice<UInt8>) -> Bool {
        guard let first = value.first, "%{[".utf8.contains(first) else { return false }
        let texts = PercentEncoding.decode(Array(value)).split(separator: UInt8(ascii: "\""))
        return zip(texts, texts.dropFirst()).contains { text, next in
            next.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: ":")
                && (CredentialNames.all.isSecret(member: text.span)
                    || own.isSecret(String(decoding: text, as: UTF8.self)))
        }
    }

    private func userInfo(from start: Int, in text: [UInt8]) -> Place? {
        let authority = text[start...].prefix { !"/?#".utf8.contains($0) && !isEnd($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return Place(range: start..<(at + 1), isUserInfo: true)
    }
}
