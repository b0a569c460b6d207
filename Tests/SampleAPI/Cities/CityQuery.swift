/// What a list of cities is asked for, by the query of a GET or by the body of a QUERY.
struct CityQuery: Sendable {
    let filter: CityFilter
    let order: CityOrder
    let paging: Paging

    init(_ arguments: Arguments) throws(Problem) {
        var arguments = arguments
        filter = try CityFilter(&arguments)
        order = try Self.order(arguments.text("sort") ?? "id")
        paging = try Paging(&arguments, order: order)
        try arguments.finish()
    }

    private static func order(_ text: String) throws(Problem) -> CityOrder {
        guard let order = CityOrder(text) else {
            throw .invalid("sort", "must be name, population or id, with a leading - for descending")
        }
        return order
    }
}

/// Which cities a list holds; what is nil does not matter.
struct CityFilter: Sendable {
    /// Folded.
    private let name: String?
    private let country: String?
    private let population: ClosedRange<Int>
    private let timezone: String?

    init(_ arguments: inout Arguments) throws(Problem) {
        name = try arguments.text("q").map(\.folded)
        country = try arguments.text("country")?.uppercased()
        if let country, !City.isCountry(country) { throw .invalid("country", "must be two letters") }
        let least = try arguments.number("minPopulation", in: 0...Int.max) ?? 0
        let most = try arguments.number("maxPopulation", in: 0...Int.max) ?? Int.max
        guard least <= most else { throw .invalid("maxPopulation", "must not be below minPopulation") }
        population = least...most
        timezone = try arguments.text("timezone")
    }

    func matches(_ record: CityRecord) -> Bool {
        population.contains(record.city.population)
            && (country == nil || country == record.city.country)
            && (timezone == nil || timezone == record.city.timezone)
            && contains(record.position.name)
    }

    private func contains(_ folded: String) -> Bool {
        guard let name, !name.isEmpty else { return true }
        return folded.contains(name)
    }
}
