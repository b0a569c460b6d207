import Diamond
import DiamondTesting
import Foundation
import HTTPTypes
import Observation

#if canImport(SwiftUI)
import SwiftUI
#endif

/// The code of the articles about typed calls.
extension DocumentationTests {
    nonisolated struct City: Codable, Hashable, Sendable {
        let id: Int
        let name: String
    }

    nonisolated struct Cities: Decodable, Sendable {
        let items: [City]
        var nextCursor: String?
    }

    nonisolated struct ListCities: Endpoint {
        typealias Output = Cities
        var country: String?
        var minPopulation: Int?

        var request: Request {
            var request = Request("cities", parameters: ["country": country, "minPopulation": minPopulation])
            request.cache = .automatic(maxAge: .seconds(60))
            request.tags = ["cities"]
            return request
        }
    }

    nonisolated enum Order: String, ParameterConvertible, Codable { case name, population }

    func search(_ text: String, order: Order?, page: Int, countries: [String]) -> Request {
        Request("search", parameters: ["q": text, "order": order, "page": page, "country": countries, "limit": 20])
    }

    nonisolated struct SearchCities: Endpoint {
        typealias Output = Cities
        var q: String
        var country: String?

        var request: Request { get throws { Request("search", parameters: try Parameters(encoding: self)) } }
    }

    nonisolated struct CityDraft: Codable, Hashable, Sendable {  // a city that has no id yet
        var name: String
    }

    nonisolated struct AddCity: Endpoint {
        typealias Output = City
        var draft: CityDraft

        var request: Request {
            get throws { Request("cities", method: .post, body: try .json(encoding: draft)) }
        }
    }

    nonisolated enum Server: String {
        case live = "https://api.example.com/v1/"
        case staging = "https://staging.example.com/v1/"
    }

    func makeEngine(for server: Server) -> Engine {
        var configuration = Engine.Configuration()
        configuration.baseURL = server.rawValue
        configuration.headers[.accept] = "application/json"
        if let client = HTTPField.Name("X-Client") { configuration.headers[client] = "shop 2.1" }
        return Engine(configuration)
    }

    func addDefaults(to configuration: inout Engine.Configuration) {
        configuration.defaults = [
            RequestDefaults(under: "status", cache: .reload),
            RequestDefaults(under: "", cache: .automatic(maxAge: .seconds(60)), tags: ["api"]),
        ]
    }

    nonisolated struct GetCity: Endpoint {
        typealias Output = City
        var name: String
        var request: Request { Request("cities/\(segment: name)") }  // cities/S%C3%A3o%20Tom%C3%A9, cities/AC%2FDC
    }

    nonisolated struct Login: Endpoint {
        struct Output: Decodable, Sendable { let token: String }
        var user: String
        var request: Request { Request("login", method: .post, body: .json(["user": user])) }
        var sample: Response? { Response(text: #"{"token": "t-1"}"#) }
    }

    struct GetProfile: Endpoint {
        struct Output: Decodable, Sendable { let name: String }
        var request: Request { Request("profile") }
    }

    private func calls() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .iso8601

        var configuration = Engine.Configuration()
        configuration.baseURL = "https://api.example.com/v1/"
        configuration.decoder = decoder
        let engine = Engine(configuration)

        let cities = try await engine.send(ListCities(country: "DE"))
        print(cities.items.map(\.name))

        let response = try await engine.response(to: ListCities(country: "DE"))
        print(response.value.items.count, response.status, response.headers[.eTag] ?? "")
        print(response.source, response.age ?? .zero)  // cache 12.0 seconds
        if let metrics = response.metrics {  // nil if nothing was sent
            print(metrics.timeToFirstByte, metrics.duration, metrics.received, metrics.attempts)
            print(metrics.isConnectionReused ?? false)
        }
    }

    private func adding(_ name: String, to engine: Engine) async throws {
        let added = try await engine.send(AddCity(draft: CityDraft(name: "Bonn")))
        print(added.id)  // from the server

        let body = RequestBody.json(["name": name])  // the same without a type for the call
        let created = try await engine.send(Request("cities", method: .post, body: body).decoding(City.self))
        print(created.id)

        let count = 3
        let due: String? = nil
        let details = JSONValue(["title": name, "count": count, "tags": ["new"], "due": due])  // variables; nil is null
        print(details.count, details.tags[0])  // 3 "new"; what is absent is null
    }

    private func changingOneCall(of engine: Engine) async throws {
        var request = ListCities(country: "DE").request
        request.cache = .reload
        request.retry = .never
        let newest = try await engine.send(request.decoding(ListCities.Output.self))
        print(newest)
    }

    private func errors(of engine: Engine) async {
        nonisolated struct Fault: Decodable { let code: Int }

        do throws(ConnectionError) {
            print(try await engine.send(GetCity(name: "Atlantis")).id)
        } catch {
            print(error.problem?.detail ?? error.message)
            if let fault = try? error.decode(Fault.self) { print(fault.code) }
        }
    }

    private func samples() async throws {
        let base = "https://api.example.com/v1/"
        let stub = try StubTransport(samplesOf: Login(user: "ann"), baseURL: base)
        var configuration = Engine.Configuration(testing: stub)
        configuration.baseURL = base
        let engine = Engine(configuration)
        print(try await engine.send(Login(user: "ann")).token)  // t-1
    }

    private func connections(of engine: Engine) async throws {
        let login = engine.start(Login(user: "ann"))
        let profile = engine.connection(for: GetProfile())
        profile.addDependency(login) { request, login in
            request.headers[.authorization] = "Bearer " + login.token
        }
        engine.start(profile)
        print(try await profile.output.name)

        let calls = engine.start(["Kyoto", "Nara"].map { GetCity(name: $0) })  // all at once
        for call in calls { print(try await call.output.id) }

        let city = engine.connection(for: GetCity(name: "Kyoto"))
        print(try await city.output.id)
    }

    private func canceling(_ connection: Connection) async throws {
        let response = try await connection.response(whenCanceled: .leave)
        print(response)
    }

    private func pages(of engine: Engine) async throws {
        for try await page in engine.pages(ListCities(country: "DE"), next: .cursor(\.nextCursor)) {
            print(page.value.items.map(\.name))
        }

        var pages = engine.pages(ListCities(), next: .cursor(\.nextCursor)).makeAsyncIterator()
        while let page = try await pages.next() {
            print(page.value.items.count)
            if page.value.items.contains(where: { $0.name == "Kyoto" }) { break }
        }
        print(pages.position)

        let saved = try JSONEncoder().encode(pages.position)

        let position = try JSONDecoder().decode(PagePosition.self, from: saved)
        for try await page in engine.pages(ListCities(), next: .cursor(\.nextCursor), from: position) {
            print(page.value.items.count)
        }

        let response = try await engine.response(to: ListCities())
        print(response.response.link("last")?.target ?? "", response.headers.links.map(\.target))
    }

    @MainActor @Observable final class CityPages {
        private(set) var cities: [City] = []
        private(set) var problem: String?
        private let engine: Engine
        private var position = PagePosition.start
        private var isLoading = false

        init(engine: Engine) { self.engine = engine }

        func loadMore() async {
            guard !isLoading, position != .end else { return }
            isLoading = true
            defer { isLoading = false }
            var pages = engine.pages(ListCities(), next: .cursor(\.nextCursor), from: position).makeAsyncIterator()
            do throws(ConnectionError) {
                guard let page = try await pages.next() else { return }
                cities += page.value.items
                position = page.next
                problem = nil
            } catch {
                problem = error.textForUser  // the next call requests the same page
            }
        }
    }

    #if canImport(SwiftUI)
    struct CityPageList: View {
        @State private var pages: CityPages

        init(engine: Engine) { _pages = State(initialValue: CityPages(engine: engine)) }

        var body: some View {
            List(pages.cities, id: \.id) { city in
                Text(city.name)
                    .onAppear { if city.id == pages.cities.last?.id { Task { await pages.loadMore() } } }
            }
            .task { if pages.cities.isEmpty { await pages.loadMore() } }
        }
    }
    #endif

    private func rules() -> [NextPage<Cities>] {
        [
            .link, .url(\.nextCursor), .cursor(\.nextCursor), .offset(limit: 50, count: \.items.count),
            .page(size: 50, count: \.items.count),
        ]
    }

    private func loop(over engine: Engine) async throws {
        let paging = Paging.offset(limit: 50)
        let format = PageFormat(items: "items", total: "total")
        var position = PagePosition.start
        while let request = try paging.request(Request("cities"), at: position) {
            let page = try format.page(of: try await engine.send(request))
            position = try paging.position(after: page, at: position)
        }
    }
}

nonisolated extension ConnectionError {
    var textForUser: String? {
        switch code {
        case .cancelled: nil  // nothing to show
        case .badStatus where response?.status == .notFound: "This city does not exist."
        case .cannotConnect, .connectionLost, .timedOut: "The server cannot be reached."
        case .noCredential: "Sign in first."
        case .queued: "It will be sent later."  // only requests with `replay`
        default: problem?.detail ?? "This did not work."  // the server's text, if it sends one
        }
    }
}
