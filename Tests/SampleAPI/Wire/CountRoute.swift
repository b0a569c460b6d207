#if Tools
import Hummingbird

/// `/wire/count/{name}`: how many requests have reached the server.
struct CountRoute: Sendable {
    private let requests = CountedKeys()

    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("count/{name}", use: count)
    }

    @Sendable private func count(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let name = try context.parameters.require("name")
        return try Response(headers: .uncacheable, json: ["count": requests.increment(name)])
    }
}
#endif
