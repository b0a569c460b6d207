/// What an entry is found by beside its key and its URL.
extension CacheEntry {
    /// Its tags, and, where others find it, too, a name for all URLs of its path.
    var names: Set<String> { isFoundByOthers ? tags.union([Self.name(ofAllLike: url)]) : tags }

    /// Of the URLs that differ in their queries alone. Begins as no tag of an app does.
    static func name(ofAllLike url: String) -> String { "\u{1}\(url.withoutQuery)" }
}

extension String {
    /// Of a URL, what stands before its query.
    var withoutQuery: String {
        // Over its bytes in one piece: character by character it takes as long as all else of a store in memory.
        var whole = self
        let path = whole.withUTF8 { bytes in
            bytes.firstIndex(of: UInt8(ascii: "?")).map { String(decoding: bytes[..<$0], as: UTF8.self) }
        }
        return path ?? self
    }
}
