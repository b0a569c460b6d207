/// A reference that a server sent in `Location` or `Content-Location` (RFC 9110 sections 10.2.2 and 8.7).
package struct ServerReference {
    /// The URL of the reference, with illegal bytes escaped, without user info.
    package let url: RequestURL
    /// Whether the reference had user info, which must not be used as credentials (RFC 9110 section 4.2.4).
    let hadUserInfo: Bool

    /// Resolves a reference; `nil` if it is not valid.
    ///
    /// - Parameter base: the URL of the request whose response has the reference.
    package init?(_ text: String, from base: String) {
        let reference = Array(text.utf8)
        guard !reference.isEmpty else { return nil }
        let start = Self.startOfAuthority(reference)
        let end = start.map { start in reference[start...].firstIndex { "/?#".utf8.contains($0) } ?? reference.endIndex
        }
        let authority = reference[(start ?? 0)..<(end ?? 0)]
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        let host = authority[(at.map { $0 + 1 } ?? authority.startIndex)...]
        let rest = PercentEncoding.escapingIllegal(reference[authority.endIndex...])
        let clean = (start.map { reference[..<$0] + host } ?? []) + rest
        guard let absolute = try? RequestURL.resolve(String(decoding: clean, as: UTF8.self), against: base),
            let url = try? RequestURL(parsing: absolute)
        else { return nil }
        self.url = url
        hadUserInfo = at != nil
    }

    /// Returns the start of the authority; `nil` if there is none.
    private static func startOfAuthority(_ reference: [UInt8]) -> Int? {
        var start = 0
        if RequestURL.hasScheme(String(decoding: reference, as: UTF8.self)) {
            start = (reference.firstIndex(of: UInt8(ascii: ":")) ?? 0) + 1
        }
        return reference[start...].starts(with: "//".utf8) ? start + 2 : nil
    }
}
