#if Tools
import HTTPTypes
import Hummingbird

/// `/wire/slow`: chunks with a wait between them.
struct SlowRoute: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("slow", use: slow)
    }

    @Sendable private func slow(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let chunks = try arguments.number("chunks", in: 0...10_000) ?? 10
        let size = try arguments.number("size", in: 1...Pattern.chunkSize) ?? 1024
        let delay = try arguments.milliseconds("delay") ?? .milliseconds(100)
        try arguments.finish()

        let pattern = Pattern(seed: 0)
        let body = ResponseBody(contentLength: chunks * size) { writer in
            for chunk in 0..<chunks {
                if chunk > 0 { try await Task.sleep(for: delay) }
                try await writer.write(pattern.slice(at: chunk * size, count: size))
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/octet-stream"], body: body)
    }
}
#endif
