import Diamond

extension CacheExplanation {
    /// An entry of the same URL under another key.
    package struct Other: Sendable, Encodable {
        package let key: String
        package let status: Int
        /// Whether a shared cache has stored it.
        package let isShared: Bool
        /// The lines of the request's canonical form that the entry does not have.
        package let missing: [String]
        /// The lines of the entry's canonical form that the request does not have.
        package let additional: [String]
    }
}

extension CacheExplanation.Other {
    /// The maximum number of listed entries.
    private static let limit = 20

    /// Returns the entries of the URL of a request, the newest first.
    ///
    /// - Parameter entries: those that are explained already.
    static func all(
        of preview: CachePreview,
        besides entries: [CacheExplanation.Entry],
        in cache: Cache?
    ) throws -> [Self] {
        guard let cache, let own = preview.canonicalForm else { return [] }
        let known = Set(entries.map(\.key))
        let listings = try cache.list([.url(preview.entryURL)], limit: limit + known.count)
        return try listings.filter { !known.contains($0.key.description) }.prefix(limit).compactMap { listing in
            try cache.canonicalForm(of: listing.key).map { Self(listing, form: $0, request: own) }
        }
    }

    private init(_ listing: CacheListing, form: String, request: String) {
        key = listing.key.description
        status = listing.status
        isShared = listing.flags.contains(.shared)
        let difference = Self.lines(of: form).difference(from: Self.lines(of: request))
        missing = difference.removals.map(\.line)
        additional = difference.insertions.map(\.line)
    }

    /// Returns the lines of a canonical form, without the number of the index of its variant.
    private static func lines(of form: String) -> [String] {
        form.split(separator: "\n").filter { !$0.hasPrefix("variants ") }.map(String.init)
    }
}

extension CollectionDifference<String>.Change {
    /// The line that is inserted or removed.
    package var line: String {
        switch self {
        case .insert(_, let line, _), .remove(_, let line, _): line
        }
    }
}
