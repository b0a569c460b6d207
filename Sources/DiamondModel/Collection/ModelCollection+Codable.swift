import Diamond
import Foundation

extension ModelCollection: Codable {
    private enum CodingKeys: String, CodingKey {
        case models
        case hasChangedMembers
        case deleted
        case filters
        case sortKeys
        case position
        case total
        case loadedAt
        case isInvalid
    }

    /// Creates a collection outside every context. To make its models live, add them to a collection of a context.
    /// It has no filters and sort keys until ``restore(filters:sortKeys:)`` sets them.
    public convenience init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: CodingKeys.self)
        core.restore(
            try container.decode([JSONValue].self, forKey: .models),
            hasChangedMembers: try container.decodeIfPresent(Bool.self, forKey: .hasChangedMembers) ?? false)
        core.restoreDeleted(try container.decodeIfPresent([JSONValue].self, forKey: .deleted) ?? [])
        savedFilters = try container.decode([String].self, forKey: .filters)
        savedSortKeys = try container.decode([String].self, forKey: .sortKeys)
        guard let position = try container.decodeIfPresent(PagePosition.self, forKey: .position) else { return }
        core.pager.begin(at: position, total: try container.decodeIfPresent(Int.self, forKey: .total))
        core.pager.state.noteLoad(
            at: try container.decodeIfPresent(Date.self, forKey: .loadedAt),
            isInvalid: try container.decodeIfPresent(Bool.self, forKey: .isInvalid) ?? false)
    }

    /// Encodes all models with their unsaved state (``Model/encode(to:)``) including filtered ones, rejected elements
    /// that can be read, the deleted objects whose deletions were not sent, the names of filters and sort keys, and the
    /// position in the source. Objects in unknown members that cannot be read are left out, and numbers of more than 38
    /// digits are rounded to the nearest double.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(core.archives.compactMap(\.encodable), forKey: .models)
        if core.hasChangedMembers { try container.encode(true, forKey: .hasChangedMembers) }
        let deleted = core.deletedArchives.compactMap(\.encodable)
        if !deleted.isEmpty { try container.encode(deleted, forKey: .deleted) }
        try container.encode(filters.keys.sorted(), forKey: .filters)
        try container.encode(sortKeys.map(\.name), forKey: .sortKeys)
        guard let pager = core.pagerIfAny, pager.state.loadedAt != nil else { return }
        try container.encode(pager.position, forKey: .position)
        try container.encodeIfPresent(pager.total, forKey: .total)
        try container.encodeIfPresent(pager.state.loadedAt, forKey: .loadedAt)
        try container.encode(pager.state.isInvalid, forKey: .isInvalid)
    }

    /// Sets those of the given filters and sort keys whose names were active when the collection was encoded.
    public func restore(filters: [String: Filter<Object>] = [:], sortKeys: [SortKey<Object>] = []) {
        self.filters = filters.filter { savedFilters.contains($0.key) }
        self.sortKeys = savedSortKeys.compactMap { name in sortKeys.first { $0.name == name } }
    }
}
