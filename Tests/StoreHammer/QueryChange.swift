import Diamond
import DiamondTesting
import Foundation

/// A change of the response that a query of another process observes.
enum QueryChange: String {
    case store, invalidate

    /// Stores version 2 of the response, or invalidates it.
    ///
    /// - Parameter milliseconds: the time of the change since 1970.
    func perform(in directory: String, at milliseconds: Int) async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"], body: "2")
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        var configuration = Engine.Configuration(testing: transport, clock: TestClock(date: date))
        configuration.store = Store(directory: URL(filePath: directory))
        let engine = Engine(configuration)
        switch self {
        case .store:
            var request = Request("http://h/cities", cache: .reload)
            request.tags = ["cities"]
            _ = try await engine.send(request)
        case .invalidate: try await engine.invalidate(.tag("cities"))
        }
        await engine.close()
    }
}
