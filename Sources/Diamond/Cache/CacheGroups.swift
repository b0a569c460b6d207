import HTTPTypes

/// The groups of responses of one origin (RFC 9875). A response of an unsafe request can invalidate whole groups.
enum CacheGroups {
    /// The most groups of a field that count. A cache has to support 32.
    static let mostGroups = 256
    /// The most bytes of a group's name. A cache has to support 32.
    static let longestName = 256

    private static let stored = HTTPField.Name("Cache-Groups")
    private static let invalidated = HTTPField.Name("Cache-Group-Invalidation")

    /// Returns the names of the groups that a response belongs to, as the store has them (section 2).
    ///
    /// - Parameter origin: scheme, host and port of the response's URL.
    static func names(of headers: HTTPFields, origin: String) -> Tags {
        names(of: headers, in: stored, origin: origin)
    }

    /// Returns the names of the groups that a response invalidates, if its request was unsafe (section 3).
    static func names(invalidatedBy headers: HTTPFields, origin: String) -> Tags {
        names(of: headers, in: invalidated, origin: origin)
    }

    /// A field that is not a list of strings counts as absent (RFC 9651 section 4.2). So does a group beyond the
    /// limits.
    private static func names(of headers: HTTPFields, in field: HTTPField.Name?, origin: String) -> Tags {
        guard let field, headers.contains(field), let items = StructuredField.list(headers[values: field]) else {
            return []
        }
        var groups: [String] = []
        for item in items {
            guard case .string(let group) = item else { return [] }
            if group.utf8.count <= longestName { groups.append(group) }
        }
        return Tags(groups.prefix(mostGroups).map { CacheEntry.name(ofGroup: $0, origin: origin) })
    }
}
