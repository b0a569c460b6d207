import Diamond
import Foundation
import HTTPTypes

#if canImport(SwiftUI)
import SwiftUI
#endif

/// The code of the article about observed queries. Compiling it is the test.
private enum ObservingQueries {
    nonisolated struct City: Decodable, Sendable {
        let id: Int
        let name: String
    }

    nonisolated struct ListCities: Endpoint {
        typealias Output = [City]
        var request: Request {
            var request = Request("cities", cache: .automatic(maxAge: .seconds(60)))
            request.tags = ["cities"]
            return request
        }
    }

    static func observing(_ engine: Engine) async throws {
        func show(_ cities: [City], isLoading: Bool, problem: String?) {}

        for await state in engine.updates(ListCities()) {
            show(state.value ?? [], isLoading: state.isFetching, problem: state.error?.textForUser)
        }

        var request = Request("cities/7", method: .put, body: .json(["name": "Bern"]))
        request.invalidates = ["cities"]
        request.replay = .durable  // also when it is sent days later
        _ = try await engine.send(request)

        try await engine.invalidate(.tag("cities"))
        try await engine.invalidate(Request("cities"))  // such as pull to refresh

        engine.appDidEnterForeground()
        let prices = engine.updates(Request("prices"), every: .seconds(30), on: [.networkReturn])
        for await state in prices { print(state.date ?? .now) }
    }

    #if canImport(SwiftUI)
    struct CityList: View {
        let engine: Engine
        @State private var cities: ObservedQuery<[City]>

        init(engine: Engine) {
            self.engine = engine
            _cities = State(initialValue: ObservedQuery(engine.updates(ListCities())))
        }

        var body: some View {
            List(cities.value ?? [], id: \.id) { city in Text(city.name) }
                .overlay { if cities.isFetching { ProgressView() } }
                .task { await cities.run() }
                .refreshable {
                    var request = ListCities().request
                    request.cache = .reload
                    _ = try? await engine.send(request)
                }
        }
    }
    #endif
}
