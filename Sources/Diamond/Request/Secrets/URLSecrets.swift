/// A finder of secrets in the URLs of a text: user info, and the values of items in queries and fragments.
struct URLSecrets {
    /// A secret part of the text.
    struct SecretRange {
        let range: Range<Int>
        /// Whether the part is user info, including the "@" after it.
        let isUserInfo: Bool
    }

    let own: IdentityRules
    /// Whether the URL is the target of a redirect, which may contain values that are valid once.
    let isTarget: Bool
    /// Whether the whole text is one URL.
    let isURL: Bool

    /// Whether a byte may delimit a secret. A text without such bytes contains none.
    static func isMark(_ byte: UInt8) -> Bool {
        isBegin(byte) || byte == UInt8(ascii: "@")
    }

    /// Whether an item starts after a byte.
    private static func isBegin(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
    }

    /// Returns the secret parts in order. They may overlap if an item of one URL contains another. It takes one pass,
    /// because a value may be a mebibyte long.
    func secretRanges(in text: [UInt8]) -> [SecretRange] {
        var secrets: [SecretRange] = []
        // The start of the current name, and the end of the current item.
        var name: Int?
        var end = 0
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
                    secrets.append(SecretRange(range: (index + 1)..<end, isUserInfo: false))
                }
                name = nil
            } else if text[index...].starts(with: "//".utf8), let userInfo = userInfo(from: index + 2, in: text) {
                secrets.append(userInfo)
            }
        }
        return secrets
    }

    /// Whether a byte ends a URL within a text.
    private func isEnd(_ byte: UInt8) -> Bool {
        !isURL && (byte <= 0x20 || "\"<>".utf8.contains(byte))
    }

    private func isItemEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#") || isEnd(byte)
    }

    private func isSecret(name: ArraySlice<UInt8>) -> Bool {
        let name = Array(name)
        let names = CredentialNames.all
        if names.isSecret(parameter: name.span, letters: LetterSet(of: name.span)) { return true }
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

    private func userInfo(from start: Int, in text: [UInt8]) -> SecretRange? {
        let authority = text[start...].prefix { !"/?#".utf8.contains($0) && !isEnd($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return SecretRange(range: start..<(at + 1), isUserInfo: true)
    }
}
