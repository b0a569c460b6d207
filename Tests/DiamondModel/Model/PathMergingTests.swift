import Diamond
import DiamondModel
import DiamondTestSupport
import Testing

/// Properties in nested objects, whose parents are `null` or no objects.
@ModelActor
@Suite("Merges of properties at paths") struct PathMergingTests {
    private nonisolated static let parents: [JSONValue] = [nil, 5, "x", [], true, [["lat": 1]]]

    @Test(arguments: parents) func `a parent that is no object sets the default, as null does`(_ parent: JSONValue)
        throws
    {
        let spot = try Spot(json: ["id": 1, "geo": ["lat": 1, "lng": 2, "note": "x"]])
        spot.latitude = 3
        try spot.merge(["geo": parent])
        #expect(spot.latitude == 0 && spot.longitude == nil && !spot.isDirty)
        #expect(spot.json["geo"] == parent)
        #expect(spot.repairs.map(\.path) == ["geo.lat"] && spot.repairs.map(\.reason) == [.null])
        spot.longitude = 4
        #expect(spot.changedJSON == ["geo": ["lng": 4]] && spot.json["geo"] == ["lng": 4])
        try spot.merge(["geo": ["lat": 5]])
        #expect(spot.latitude == 5 && spot.repairs.isEmpty)
    }

    @Test(arguments: parents) func `a new object whose parent is no object has the default`(_ parent: JSONValue) throws
    {
        let spot = try Spot(json: ["geo": parent])
        #expect(spot.latitude == 0 && spot.longitude == nil)
        #expect(spot.repairs.map(\.reason) == [.null])
        #expect(try Spot(json: ["geo": parent, "lat": 7]).latitude == 7)
    }

    @Test func `a parent that is missing leaves the value`() throws {
        let spot = try Spot(json: ["geo": ["lat": 1, "lng": 2]])
        try spot.merge(["id": 2])
        #expect(spot.latitude == 1 && spot.longitude == 2)
        try spot.merge(["geo": [:]])
        #expect(spot.latitude == 1 && spot.longitude == 2)
    }

    @Test func `a late null does not overwrite the value of a newer response`() async throws {
        let gate = Gate()
        let api = StubAPI { call in
            guard call.method == "GET" else { return StubAPI.Answer(204) }
            await gate.wait()
            return StubAPI.Answer(200, ["id": 1, "geo": nil])
        }
        let context = ModelContext(engine: api.engine)
        let spot: Spot = try context.model(from: ["id": 1, "geo": ["lat": 1, "lng": 2]])
        let load = Task { try await spot.load() }
        await untilTrue { api.calls.count == 1 }
        try await spot.save { $0.latitude = 9 }
        gate.open()
        try await load.value
        #expect(spot.latitude == 9 && spot.longitude == nil)
        #expect(spot.json["geo"]?["lat"] == 9)
    }
}

private final class Spot: Model {
    static let latitude = Property(\Spot.latitude, .path("geo", "lat"), or: "lat")
    static let longitude = Property(nullable: \Spot.longitude, .path("geo", "lng"))

    private var _latitude = 0.0
    private var _longitude: Double?

    var latitude: Double {
        get { read(Self.latitude, from: _latitude) }
        set { write(Self.latitude, from: _latitude, to: newValue) { _latitude = $0 } }
    }

    var longitude: Double? {
        get { read(Self.longitude, from: _longitude) }
        set { write(Self.longitude, from: _longitude, to: newValue) { _longitude = $0 } }
    }

    override class var resource: Request? { Request("spots") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _latitude = visitor.visit(Self.latitude, with: _latitude)
        _longitude = visitor.visit(Self.longitude, with: _longitude)
    }
}
