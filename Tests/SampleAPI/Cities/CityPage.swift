/// One page of a list, as it is sent.
struct CityPage: Encodable, Sendable {
    /// How many the filter finds on all pages together.
    let total: Int
    let items: [City]
    /// Nil on the last page.
    let nextCursor: String?

    init(_ found: [CityRecord], _ query: CityQuery) throws {
        let start = Self.start(in: found, query)
        let records = found.dropFirst(start).prefix(query.paging.size)
        total = found.count
        items = records.map(\.city)
        let hasMore = start + records.count < found.count
        nextCursor =
            try hasMore ? records.last.map { try Cursor(order: query.order, position: $0.position).text() } : nil
    }

    private static func start(in found: [CityRecord], _ query: CityQuery) -> Int {
        switch query.paging {
        case .offset(let offset, _): offset
        case .page(let page, let size): (page - 1) * size
        case .cursor(let cursor, _):
            found.firstIndex { query.order.precedes(cursor.position, $0.position) } ?? found.count
        }
    }

    private enum CodingKeys: String, CodingKey {
        case total
        case items
        case nextCursor
    }

    /// Written out, because the derived form leaves out what is nil, and clients look for `null`.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(total, forKey: .total)
        try container.encode(items, forKey: .items)
        try container.encode(nextCursor, forKey: .nextCursor)
    }
}
