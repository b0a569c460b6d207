import CPeers
import Crypto
import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let keys = [
        Benchmark(
            name: "key-get",
            method: "time for the key of a GET with six parameters and two selecting headers, to SHA-256 of its form",
            unit: "x SHA-256",
            target: .atMost(4),
            measure: { try await Keys.toDigest(of: Keys.get) }
        ),
        Benchmark(
            name: "key-json-1k",
            method: "time for the key of a QUERY with 1 KiB of JSON, to SHA-256 of its form",
            unit: "x SHA-256",
            target: .atMost(20),
            measure: { try await Keys.toDigest(of: Keys.json) }
        ),
        Benchmark(
            name: "key-urlcomponents",
            method: "keys a second of the GET, to the same URL with its items sorted by URLComponents and digested",
            unit: "x URLComponents",
            target: .atLeast(5),
            measure: { try await Keys.toComponents() }
        ),
        Benchmark(
            name: "key-again",
            method: "time for the key of the GET when it is computed again, to SHA-256 of its form",
            unit: "x SHA-256",
            target: .atMost(4),
            measure: { try await Keys.again() }
        ),
        Benchmark(
            name: "key-get-allocations",
            method: "allocations for the key of the GET, without those of SHA-256 of its form",
            unit: "allocations",
            target: .atMost(4),
            measure: { try Keys.allocations() }
        ),
        Benchmark(
            name: "key-again-allocations",
            method: "allocations for the key of the GET when it is computed again",
            unit: "allocations",
            target: .atMost(0),
            measure: { try await Keys.allocationsAgain() }
        ),
    ]
}

private enum Keys {
    private static let count = 20_000
    private static let rules = KeyRules()

    static let get = Request(
        "https://api.example.com/v1/cities?country=DE&sort=-population",
        parameters: ["minPopulation": 100_000, "page": 2, "perPage": 50, "q": "am Rhein"],
        headers: [.accept: "application/json", .acceptLanguage: "de"]
    )

    static let json = Request("https://api.example.com/search", method: .query, body: .json(document))

    private static var document: Diamond.JSONValue {
        .array((0..<16).map { ["id": .integer($0), "name": "a city's name", "population": 123_456, "height": 12.5] })
    }

    static func toDigest(of request: Request) async throws -> Double {
        let form = try CanonicalForm(of: request, rules: rules).bytes
        return try await Race(
            ours: { for _ in 0..<count { try use(CanonicalForm(of: request, rules: rules).key) } },
            peer: { for _ in 0..<count { use(SHA256.hash(data: form)) } }
        ).ratio(of: \.processor)
    }

    static func allocations() throws -> Double {
        let form = try CanonicalForm(of: get, rules: rules).bytes
        let ours = try counted { try use(CanonicalForm(of: get, rules: rules).key) }
        return ours - counted { use(SHA256.hash(data: form)) }
    }

    static func allocationsAgain() async throws -> Double {
        try await Scratch.with { directory in
            let engine = Engine(Engine.Configuration(store: Store(directory: directory)))
            try await use(engine.key(of: get))
            let before = CPeers.allocations()
            for _ in 0..<1000 { try await use(engine.key(of: get)) }
            let count = CPeers.allocations() - before
            await engine.close()
            return Double(count) / 1000
        }
    }

    private static func counted(_ work: () throws -> Void) rethrows -> Double {
        try work()
        let before = CPeers.allocations()
        for _ in 0..<1000 { try work() }
        return Double(CPeers.allocations() - before) / 1000
    }

    static func again() async throws -> Double {
        try await Scratch.with { directory in
            let engine = Engine(Engine.Configuration(store: Store(directory: directory)))
            let form = try CanonicalForm(of: get, rules: rules).bytes
            let ratio = try await Race(
                ours: { for _ in 0..<count { try await use(engine.key(of: get)) } },
                peer: { for _ in 0..<count { use(SHA256.hash(data: form)) } }
            ).ratio(of: \.processor)
            await engine.close()
            return ratio
        }
    }

    static func toComponents() async throws -> Double {
        let added = get.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&").replacing(" ", with: "%20")
        let text = "\(get.url)&\(added)"
        return 1
            / (try await Race(
                ours: { for _ in 0..<count { try use(CanonicalForm(of: get, rules: rules).key) } },
                peer: {
                    for _ in 0..<count {
                        var components = URLComponents(string: text)
                        components?.queryItems?.sort { ($0.name, $0.value ?? "") < ($1.name, $1.value ?? "") }
                        use(SHA256.hash(data: Array((components?.string ?? "").utf8)))
                    }
                }
            ).ratio(of: \.processor))
    }

    @inline(never) private static func use<Value>(_ value: Value) {}
}
