#if Tools
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// `/wire/hang` and `/wire/hang-body`, which last until the client goes away, and `/wire/open`, which counts them.
struct HangRoutes: Sendable {
    private let open = Gauge()

    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("hang", use: hang)
        wire.get("hang-body", use: hangBody)
        wire.get("open", use: count)
    }

    @Sendable private func hang(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        try await hang(until: request)
        throw CancellationError()
    }

    @Sendable private func hangBody(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let body = ResponseBody { writer in
            try await writer.write(Pattern(seed: 0).slice(at: 0, count: 10))
            try await hang(until: request)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .contentLength: "1000"],
            body: body
        )
    }

    @Sendable private func count(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        return try Response(headers: .uncacheable, json: ["open": open.value])
    }

    /// Ends with an error when the connection's other side is closed.
    private func hang(until request: Request) async throws {
        open.add(1)
        defer { open.add(-1) }
        try await request.body.consumeWithCancellationOnInboundClose { _ in
            try await Task.sleep(for: .seconds(86_400))
        }
    }
}

private final class Gauge: Sendable {
    private let current = Mutex(0)

    var value: Int { current.withLock { $0 } }

    func add(_ change: Int) {
        current.withLock { $0 += change }
    }
}
#endif
