#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The cities one after another: `/events` as server-sent events, `/export` as lines of JSON.
struct FeedRoutes: Sendable {
    let store: CityStore

    func add(to router: Router<SampleContext>) {
        router.get("events", use: events)
        router.get("export", use: export)
    }

    /// Continues after the event that `Last-Event-ID` names, and ends after `count` events.
    @Sendable private func events(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let count = try arguments.number("count", in: 0...10_000) ?? 10
        let interval = try arguments.milliseconds("interval") ?? .milliseconds(500)
        try arguments.finish()
        let last = request.headers[.lastEventID].flatMap { Int($0) } ?? 0
        let cities = await store.cities(after: last, atMost: count)
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                for (index, city) in cities.enumerated() {
                    if index > 0 { try await Task.sleep(for: interval) }
                    let data = String(decoding: try JSON.encode(city), as: UTF8.self)
                    try await writer.write(ByteBuffer(string: "id: \(city.id)\nevent: city\ndata: \(data)\n\n"))
                }
                try await writer.finish(nil)
            })
    }

    @Sendable private func export(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let count = try arguments.number("count", in: 0...Int.max) ?? Int.max
        try arguments.finish()
        let cities = await store.cities(after: 0, atMost: count)
        return Response(
            status: .ok, headers: [.contentType: "application/jsonl", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                for city in cities {
                    var line = ByteBuffer(bytes: try JSON.encode(city))
                    line.writeString("\n")
                    try await writer.write(line)
                }
                try await writer.finish(nil)
            })
    }
}

extension HTTPField.Name {
    fileprivate static let lastEventID = known("Last-Event-ID")
}
#endif
