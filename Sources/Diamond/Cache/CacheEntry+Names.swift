/// The names by which an entry is found, besides its key and its URL.
extension CacheEntry {
    /// The tags of the entry and, if other URLs find it, too, the name of all URLs of its path.
    var names: Set<String> { isFoundByOthers ? tags.union([Self.name(ofAllLike: url)]) : tags }

    /// Returns the name of all URLs that differ from this one only in their queries. No tag of an app begins like it.
    static func name(ofAllLike url: String) -> String { "\u{1}\(url.withoutQuery)" }
}

extension String {
    /// The part of a URL before its query.
    var withoutQuery: String {
        // By its contiguous bytes: a scan by characters takes as long as everything else of a store in memory.
        var whole = self
        let path = whole.withUTF8 { bytes in
            bytes.firstIndex(of: UInt8(ascii: "?")).map { String(decoding: bytes[..<$0], as: UTF8.self) }
        }
        return path ?? self
    }
}
