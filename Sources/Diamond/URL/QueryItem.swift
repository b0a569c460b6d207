/// One `name` or `name=value` of a query or a form, percent-encoded.
struct QueryItem: Hashable {
    var name: [UInt8]
    /// `nil` where there is no `=`.
    var value: [UInt8]?

    var bytes: [UInt8] {
        guard let value else { return name }
        return name + [UInt8(ascii: "=")] + value
    }
}

extension [QueryItem] {
    /// The items joined by `&`, in their order.
    var joinedQuery: [UInt8] { Array<[UInt8]>(map(\.bytes)).joined(separator: [UInt8(ascii: "&")]).map { $0 } }

    /// Sorted by name; values of one name keep their order, which may mean something to the server.
    var stablySorted: [QueryItem] {
        let order = indices.sorted {
            self[$0].name == self[$1].name ? $0 < $1 : self[$0].name.lexicographicallyPrecedes(self[$1].name)
        }
        return order.map { self[$0] }
    }
}
