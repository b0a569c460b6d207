#if Tools
import ArgumentParser
import Diamond
import HTTPTypes

/// The entries of a store by host, type, status or age, with a histogram.
struct EntryGroups {
    enum Criterion: String, ExpressibleByArgument, CaseIterable { case host, type, status, age }

    private struct Group {
        var entries = 0
        var bytes: Int64 = 0
    }

    private static let ages: [(name: String, limit: Int64)] = [
        ("< 1m", 60_000), ("< 1h", 3_600_000), ("< 6h", 21_600_000), ("< 1d", 86_400_000), ("< 7d", 604_800_000),
        ("< 30d", 2_592_000_000), ("older", .max),
    ]
    private static let rowLimit = 40

    private let criterion: Criterion
    private var groups: [String: Group] = [:]

    var isEmpty: Bool { groups.isEmpty }

    init(of cache: Cache, by criterion: Criterion) throws(CacheError) {
        self.criterion = criterion
        let now = WallTime.now
        if criterion == .age { for age in Self.ages { groups[age.name] = Group() } }
        guard criterion != .type else {
            try cache.forEachEntry { listing, headers in add(listing, to: headers.map(Self.type) ?? "•••") }
            return
        }
        var cursor: CacheCursor?
        while true {
            let page = try cache.list(by: .newest, after: cursor, limit: 10_000)
            guard let last = page.last else { break }
            for listing in page { add(listing, to: Self.name(of: listing, by: criterion, at: now)) }
            cursor = CacheCursor(after: last, by: .newest)
        }
        if cursor == nil { groups = [:] }
    }

    private mutating func add(_ listing: CacheListing, to name: String) {
        groups[name, default: Group()].entries += 1
        groups[name, default: Group()].bytes += listing.bodySize
    }

    private static func name(of listing: CacheListing, by criterion: Criterion, at now: WallTime) -> String {
        switch criterion {
        case .status: return String(listing.status)
        case .age:
            let age = now.milliseconds(since: listing.storedAt)
            return ages.first { age < $0.limit }?.name ?? "older"
        case .host, .type: return URLHost.of(listing.url).map { String($0) } ?? (listing.isLocked ? "•••" : "-")
        }
    }

    /// Returns the media type without parameters, or `-`.
    private static func type(of headers: HTTPFields) -> String {
        let type = headers[.contentType]?.prefix { $0 != ";" }.split(separator: " ").first ?? ""
        return type.isEmpty ? "-" : type.lowercased()
    }

    /// The ages from the youngest, the statuses in their order, and others by their entries, the most first.
    private var sorted: [(name: String, group: Group)] {
        let all = groups.map { (name: $0.key, group: $0.value) }
        switch criterion {
        case .age: return Self.ages.compactMap { age in all.first { $0.name == age.name } }
        case .status: return all.sorted { $0.name < $1.name }
        case .host, .type: return all.sorted { ($1.group.entries, $0.name) < ($0.group.entries, $1.name) }
        }
    }

    /// Returns the largest groups, and the sum of the others.
    private var shown: [(name: String, group: Group)] {
        guard groups.count > Self.rowLimit else { return sorted }
        let rest = sorted.dropFirst(Self.rowLimit - 1)
        let sum = rest.reduce(into: Group()) { sum, row in
            sum.entries += row.group.entries
            sum.bytes += row.group.bytes
        }
        return sorted.prefix(Self.rowLimit - 1) + [("\(rest.count) others", sum)]
    }

    var table: Table {
        let rows = shown
        let total = rows.reduce(0) { $0 + $1.group.entries }
        let largest = rows.map(\.group.entries).max() ?? 0
        return Table(
            columns: [
                ("ENTRIES", .right), ("SIZE", .right), ("SHARE", .right), ("", .left),
                (criterion.rawValue.uppercased(), .left),
            ],
            rows: rows.map { row in
                let count = row.group.entries
                return [
                    String(count), Quantity.bytes(row.group.bytes), Quantity.share(count, of: total),
                    Table.bar(count, of: largest), row.name,
                ]
            })
    }

    var form: JSONObject {
        let groups: [JSONObject] = sorted.map {
            ["name": $0.name, "entries": $0.group.entries, "bodyBytes": $0.group.bytes]
        }
        return ["by": criterion.rawValue, "groups": groups]
    }
}
#endif
