/// The names that find an entry besides its key and its URL.
extension CacheEntry {
    /// Its tags. If other URLs find the entry, too, a name for all URLs of its path is among them.
    var names: Set<String> { isFoundByOthers ? tags.union([Self.name(ofAllLike: url)]) : tags }

    /// Returns the name of all URLs that differ from this one only in their queries. No tag of an app begins like it.
    static func name(ofAllLike url: String) -> String { "\u{1}\(url.withoutQuery)" }
}

extension String {
    /// The part of a URL before its query.
    var withoutQuery: String {
        // Over its bytes in one piece: character by character it takes as long as all else of a store in memory.
        var whole = self
        let path = whole.withUTF8 { bytes in
            bytes.firstIndex(of: UInt8(ascii: "?")).map { String(decoding: bytes[..<$0], as: UTF8.self) }
        }
        return path ?? self
    }
}
