/// The names by which an entry is found, besides its key and its URL.
extension CacheEntry {
    /// The tags and groups of the entry. If its key leaves out a part of the URL, also the name that all URLs of its
    /// path share. For a variant, also the name that all variants of its request share.
    var names: Tags {
        guard isFoundByOthers || requestKey != nil || !groups.isEmpty else { return tags }
        var names = tags.union(groups)
        if isFoundByOthers { names.insert(Self.name(ofAllLike: url)) }
        if let requestKey { names.insert(Self.name(ofVariantsUnder: requestKey)) }
        return names
    }

    /// Returns the name of all URLs that differ from this one only in their queries. No app's tag begins with U+0001.
    static func name(ofAllLike url: String) -> String { "\u{1}\(url.withoutQuery)" }

    /// Returns the name of a group of an origin (RFC 9875).
    static func name(ofGroup group: String, origin: String) -> String { "\u{1}\u{1}\(origin) \(group)" }

    /// Returns the name of all variants of a request.
    static func name(ofVariantsUnder key: RequestKey) -> String { "\u{2}\(key)" }
}

extension String {
    /// The part of a URL before its query.
    var withoutQuery: String {
        // By its contiguous bytes: a scan by characters takes as long as all other steps of storing an entry in memory.
        var whole = self
        let path = whole.withUTF8 { bytes in
            bytes.firstIndex(of: UInt8(ascii: "?")).map { String(decoding: bytes[..<$0], as: UTF8.self) }
        }
        return path ?? self
    }
}
