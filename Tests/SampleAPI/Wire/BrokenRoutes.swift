#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// `/wire/truncated` and `/wire/reset`: connections that end too early, politely and not.
struct BrokenRoutes: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("truncated", use: truncated)
        wire.get("reset", use: reset)
    }

    @Sendable private func truncated(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let sent = try arguments.number("send", in: 0...(1 << 30)) ?? 10
        let declared = try arguments.number("declare", in: 0...(1 << 30)) ?? 100
        try arguments.finish()
        return response(declaring: declared, sending: sent, to: context.channel) { channel in
            try await channel.close()
        }
    }

    @Sendable private func reset(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let sent = try arguments.number("after", in: 0...(1 << 30)) ?? 10
        try arguments.finish()
        return response(declaring: sent + 1000, sending: sent, to: context.channel) { channel in
            // With no time to linger the kernel drops what is unsent and answers with RST instead of FIN.
            try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            try await channel.close()
        }
    }

    private func response(
        declaring declared: Int,
        sending sent: Int,
        to channel: any Channel,
        then end: @Sendable @escaping (any Channel) async throws -> Void
    ) -> Response {
        let body = ResponseBody { writer in
            try await Pattern(seed: 0).write(0..<sent, to: &writer)
            try await Self.drain(channel)
            try await end(channel)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .contentLength: String(declared)],
            body: body
        )
    }

    /// Returns when the kernel has every byte written so far: an empty part is done after those before it.
    private static func drain(_ channel: any Channel) async throws {
        try await channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer()))
    }
}
#endif
