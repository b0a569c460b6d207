/// Which part of a list is wanted, in one of three ways.
enum Paging: Sendable {
    case offset(Int, limit: Int)
    /// The first page is 1.
    case page(Int, size: Int)
    case cursor(Cursor, limit: Int)

    static let parameters: Set = ["offset", "limit", "page", "perPage", "cursor"]
    private static let sizes = 1...1000
    private static let defaultSize = 100

    init(_ arguments: inout Arguments, order: CityOrder) throws(Problem) {
        let offset = try arguments.number("offset", in: 0...1_000_000_000)
        let limit = try arguments.number("limit", in: Self.sizes)
        let page = try arguments.number("page", in: 1...1_000_000)
        let perPage = try arguments.number("perPage", in: Self.sizes)
        let cursor = try arguments.text("cursor")

        if page != nil || perPage != nil {
            try Self.refuse(["offset": offset != nil, "limit": limit != nil, "cursor": cursor != nil], beside: "page")
            self = .page(page ?? 1, size: perPage ?? Self.defaultSize)
        } else if let cursor {
            try Self.refuse(["offset": offset != nil], beside: "cursor")
            self = .cursor(try Self.cursor(cursor, order), limit: limit ?? Self.defaultSize)
        } else {
            self = .offset(offset ?? 0, limit: limit ?? Self.defaultSize)
        }
    }

    var size: Int {
        switch self {
        case .offset(_, let limit), .cursor(_, let limit): limit
        case .page(_, let size): size
        }
    }

    private static func refuse(_ given: [String: Bool], beside other: String) throws(Problem) {
        guard let name = given.filter(\.value).keys.min() else { return }
        throw .invalid(name, "cannot be combined with \(other)")
    }

    private static func cursor(_ text: String, _ order: CityOrder) throws(Problem) -> Cursor {
        guard let cursor = Cursor(text) else { throw .invalid("cursor", "is not one that this server gave") }
        guard cursor.order == order.text else { throw .invalid("cursor", "belongs to sort=\(cursor.order)") }
        return cursor
    }
}
