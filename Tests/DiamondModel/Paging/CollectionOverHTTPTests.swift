import Diamond
import DiamondModel
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

/// Collections over a real server, a real transport and a real store.
@ModelActor
@Suite("A collection loaded over HTTP", .limit(minutes: 5)) struct CollectionOverHTTPTests {
    private let temporary = TemporaryStore()

    private func engine(_ server: SampleServer) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.baseURL = server.base + "/"
        return Engine(configuration)
    }

    private static let format = PageFormat(items: "items", total: "total", next: "nextCursor")

    @Test(arguments: [
        Paging.offset(limit: 7), .page(size: 7, sizeParameter: "perPage"), .cursor(limit: 7),
        .link(limit: 7, limitParameter: "limit"), .whole,
    ]) func `every paging scheme loads the whole list, in the order of the server`(_ paging: Paging) async throws {
        let engine = engine(try await SampleServer.shared)
        let request = Request("cities", parameters: ["country": "DE", "minPopulation": 500_000])
        let whole = ModelCollection<SampleCity>()
        whole.source = PageSource(engine, request, format: Self.format)
        try await whole.load()
        let towns = ModelCollection<SampleCity>()
        towns.source = PageSource(engine, request, paging: paging, format: Self.format)
        try await towns.load()
        while towns.hasMore { try await towns.next() }
        #expect(towns.map(\.id) == whole.map(\.id) && towns.count > 7)
        #expect(towns.total == whole.count)
        await engine.close()
    }

    @Test func `a list comes from the cache, and is requested again after it is invalidated`() async throws {
        let engine = engine(try await SampleServer.shared)
        let towns = ModelCollection<SampleCity>()
        let request = Request("cities", parameters: ["country": "FR", "minPopulation": 400_000])
        towns.source = PageSource(engine, request, paging: .offset(limit: 2), format: Self.format)
        try await towns.load()
        let first = towns.map(\.name)
        try await towns.load(policy: .cacheOnly)
        #expect(towns.map(\.name) == first)
        try await towns.invalidate(erase: true)
        #expect(towns.isOutdated)
        await #expect(throws: ConnectionError.self) { try await towns.load(policy: .cacheOnly) }
        #expect(towns.map(\.name) == first)
        await engine.close()
    }

    @Test func `an object is created, changed, read and deleted on the server`() async throws {
        let engine = engine(try await SampleServer.shared)
        let context = ModelContext(engine: engine)
        let towns = ModelCollection<SampleCity>(context: context)
        towns.source = PageSource(engine, Request("cities", parameters: ["country": "AQ"]), format: Self.format)
        let town = SampleCity()
        try await towns.create(town) { town in
            town.name = "Vostok"
            town.country = "AQ"
            town.timezone = "Antarctica/Vostok"
        }
        let id = try #require(town.serverID)
        try await town.save { $0.population = 25 }
        let other = ModelContext(engine: engine)
        let copy: SampleCity = try other.model(from: ["id": id.json])
        try await copy.load(policy: .reload)
        #expect(copy.name == "Vostok" && copy.population == 25)
        try await town.destroy()
        #expect(towns.isEmpty)
        let error = await #expect(throws: ConnectionError.self) { try await copy.load(policy: .reload) }
        #expect(error?.response?.status == .notFound)
        await engine.close()
    }
}

extension ModelCollection where Object == SampleCity {
    fileprivate func create(_ town: SampleCity, _ change: (SampleCity) -> Void) async throws {
        change(town)
        try await create(town)
    }
}

/// A city of the sample API.
final class SampleCity: Model {
    static let id = Property(\SampleCity.id, "id", access: .server)
    static let name = Property(\SampleCity.name, "name")
    static let country = Property(\SampleCity.country, "country")
    static let population = Property(\SampleCity.population, "population")
    static let latitude = Property(\SampleCity.latitude, "latitude")
    static let longitude = Property(\SampleCity.longitude, "longitude")
    static let timezone = Property(\SampleCity.timezone, "timezone")

    private var _id = 0
    private var _name = ""
    private var _country = ""
    private var _population = 1
    private var _latitude = 0.5
    private var _longitude = 0.5
    private var _timezone = ""

    override class var resource: Request? { Request("cities") }

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var country: String {
        get { read(Self.country, from: _country) }
        set { write(Self.country, from: _country, to: newValue) { _country = $0 } }
    }

    var population: Int {
        get { read(Self.population, from: _population) }
        set { write(Self.population, from: _population, to: newValue) { _population = $0 } }
    }

    var latitude: Double { read(Self.latitude, from: _latitude) }

    var longitude: Double { read(Self.longitude, from: _longitude) }

    var timezone: String {
        get { read(Self.timezone, from: _timezone) }
        set { write(Self.timezone, from: _timezone, to: newValue) { _timezone = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _country = visitor.visit(Self.country, with: _country)
        _population = visitor.visit(Self.population, with: _population)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
        _longitude = visitor.visit(Self.longitude, with: _longitude)
        _timezone = visitor.visit(Self.timezone, with: _timezone)
    }
}
