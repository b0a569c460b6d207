import Diamond
import DiamondModel

extension Client {
    /// Prints the cities page by page; only the first page unless `isWhole`.
    func list(_ call: ListCities, isWhole: Bool) async throws {
        var count = 0
        for try await page in engine.pages(call, next: .cursor(\.nextCursor)) {
            count += page.value.items.count
            page.value.items.map(\.line).forEach(Terminal.line)
            if !isWhole, !page.isLast {
                return Terminal.notice("\(count) of \(page.value.total): --all lists the rest")
            }
        }
    }

    func search(_ text: String) async throws {
        let found = try await output(of: ListCities(name: text))
        found.items.map(\.line).forEach(Terminal.line)
        if found.items.isEmpty { Terminal.notice("no city has this name") }
    }

    func show(_ id: Int) async throws { Terminal.line(try await output(of: GetCity(id: id)).line) }

    /// Prints a section for each country, with its cities by name. The server sends them by population.
    func countries(minPopulation: Int) async throws {
        let cities = ModelCollection<CityRow>(context: ModelContext(engine: engine))
        cities.sortKeys = [.by(\.name, named: "name")]
        cities.sectionRule = .by(\.country)
        cities.source = PageSource(
            engine, ListCities(minPopulation: minPopulation).request, paging: .cursor(limit: 500),
            format: PageFormat(items: "items", total: "total", next: "nextCursor"))
        try await cities.load()
        while cities.hasMore { try await cities.next() }
        for section in cities.sections {
            Terminal.line(section.title)
            for city in cities[section.indices] { Terminal.line("\t\(city.population)\t\(city.name)") }
        }
    }

    /// Prints the states of a city: what is stored, then what the server has, then every change.
    ///
    /// - Parameter count: the number of states; `nil` for no limit.
    func watch(_ id: Int, every interval: Duration, count: Int?) async {
        var shown = 0
        for await state in engine.updates(GetCity(id: id), every: interval) {
            Terminal.line(Self.text(of: state))
            shown += 1
            if shown == count { break }
        }
    }

    private static func text(of state: QueryState<City>) -> String {
        var parts: [String] = []
        if let city = state.value { parts.append("\(city.name)\t\(city.population)") }
        if let source = state.source { parts.append("from \(source)") }
        if let error = state.error { parts.append(error.message) }
        if state.isFetching { parts.append("asking the server") }
        return parts.joined(separator: "\t")
    }
}

nonisolated extension City {
    /// The city as a line of tab-separated columns.
    var line: String { "\(id)\t\(country)\t\(population)\t\(name)" }
}

/// A row in the list of countries.
nonisolated final class CityRow: Model {
    static let name = Property(\CityRow.name, "name", access: .server)
    static let country = Property(\CityRow.country, "country", access: .server)
    static let population = Property(\CityRow.population, "population", access: .server)

    private var _name = ""
    private var _country = ""
    private var _population = 0

    var name: String { read(Self.name, from: _name) }
    var country: String { read(Self.country, from: _country) }
    var population: Int { read(Self.population, from: _population) }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _country = visitor.visit(Self.country, with: _country)
        _population = visitor.visit(Self.population, with: _population)
    }
}
