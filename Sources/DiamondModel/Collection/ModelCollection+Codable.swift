import Diamond

extension ModelCollection: Codable {
    private enum CodingKeys: String, CodingKey {
        case models
        case filters
        case sortKeys
    }

    /// Creates a collection outside every context. ``savedFilters`` and ``savedSortKeys`` name what was active.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: CodingKeys.self)
        core.replaceAll(with: try container.decode([JSONValue].self, forKey: .models))
        savedFilters = try container.decode([String].self, forKey: .filters)
        savedSortKeys = try container.decode([String].self, forKey: .sortKeys)
    }

    /// Writes the models, also those that are filtered out, and the names of filters and sort keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(json, forKey: .models)
        try container.encode(filters.keys.sorted(), forKey: .filters)
        try container.encode(sortKeys.map(\.name), forKey: .sortKeys)
    }

    /// Puts the filters and sort keys in place that were active when the collection was encoded. Code is not in an
    /// archive: the app brings the definitions, and the names pick.
    public func restore(filters: [String: Filter<Object>] = [:], sortKeys: [SortKey<Object>] = []) {
        self.filters = filters.filter { savedFilters.contains($0.key) }
        self.sortKeys = savedSortKeys.compactMap { name in sortKeys.first { $0.name == name } }
    }
}
