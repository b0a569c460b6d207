/// What orders a city among others: its sort keys, the name folded.
struct CityPosition: Codable, Sendable {
    let name: String
    let population: Int
    let id: Int
}

/// The order of a list, written `name`, `population` or `id`, with a leading `-` for descending.
struct CityOrder: Sendable {
    enum Key: String, Sendable {
        case name
        case population
        case id
    }

    let key: Key
    let isDescending: Bool

    init?(_ text: String) {
        isDescending = text.hasPrefix("-")
        guard let key = Key(rawValue: isDescending ? String(text.dropFirst()) : text) else { return nil }
        self.key = key
    }

    var text: String {
        (isDescending ? "-" : "") + key.rawValue
    }

    /// Total, because the id decides among equals: paging by cursor neither repeats nor skips.
    func precedes(_ left: CityPosition, _ right: CityPosition) -> Bool {
        isDescending ? ascends(right, left) : ascends(left, right)
    }

    private func ascends(_ left: CityPosition, _ right: CityPosition) -> Bool {
        switch key {
        case .name: (left.name, left.id) < (right.name, right.id)
        case .population: (left.population, left.id) < (right.population, right.id)
        case .id: left.id < right.id
        }
    }
}
