#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The server of the pages, on the loopback interface only.
struct InspectorServer: Sendable {
    let inspector: Inspector
    let session: Session

    /// The maximum size of a sent form, in bytes. The escapes of a form triple the size of a request.
    private static let formLimit = 32 << 20

    /// Serves until the task is canceled.
    ///
    /// - Parameter whenListening: receives the URL to open.
    func run(port: Int, whenListening: @escaping @Sendable (String) -> Void) async throws {
        let application = Application(
            router: router(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { [session] channel in
                whenListening(session.start(port: channel.localAddress?.port ?? port))
            },
            logger: Logger(label: "cachectl", factory: { _ in SwiftLogNoOpLogHandler() }))
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: Gate(session: session, inspector: inspector))
        for route in [Assets.route] + Route.all {
            router.on(RouterPath(route.path), method: route.method) { [inspector] request, context in
                let page = try await Self.pageRequest(request, context)
                return try await route.handler(page, inspector).response
            }
        }
        return router
    }

    private static func pageRequest(_ request: Request, _ context: BasicRequestContext) async throws -> PageRequest {
        var page = PageRequest(query: FormFields(request.uri.query ?? ""))
        for (name, value) in context.parameters { page.path[String(name)] = String(value) }
        if request.method != .get {
            page.form = FormFields(String(buffer: try await request.body.collect(upTo: formLimit)))
        }
        return page
    }
}

extension PageResponse {
    var response: Response {
        switch self {
        case .html(let text, let status):
            Response(
                status: .init(code: status), headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        case .redirect(let path): Response(status: .seeOther, headers: [.location: path])
        case .bytes(let data, let type, let fileName): Self.response(data, type: type, fileName: fileName)
        case .live(let parts):
            Response(status: .ok, headers: [.contentType: "text/event-stream"], body: Self.events(parts))
        }
    }

    private static func response(_ data: Data, type: String, fileName: String?) -> Response {
        var headers: HTTPFields = [.contentType: type]
        if let fileName { headers[.contentDisposition] = "attachment; filename=\"\(fileName)\"" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    /// Writes the changed parts each second, or a comment: the write then fails if the browser is gone.
    private static func events(_ parts: @escaping @Sendable () async throws -> [String: String]) -> ResponseBody {
        ResponseBody { writer in
            var shown: [String: String] = [:]
            while !Task.isCancelled {
                let now = try await current(parts)
                let changes = now.filter { shown[$0.key] != $0.value }
                try await writer.write(ByteBuffer(string: ":\n\n" + changes.map { event($0.key, $0.value) }.joined()))
                shown = now
                try await Task.sleep(for: .seconds(1))
            }
            try await writer.finish(nil)
        }
    }

    /// Returns the parts and no `problem`; if they cannot be read, only the problem.
    private static func current(
        _ parts: @Sendable () async throws -> [String: String]
    ) async throws -> [String: String] {
        do {
            return try await parts().merging(["problem": ""]) { $1 }
        } catch let error as CancellationError {
            throw error
        } catch {
            return ["problem": PageProblem(any: error).message]
        }
    }

    private static func event(_ name: String, _ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        return "event: \(name)\n" + lines.map { "data: \($0)\n" }.joined() + "\n"
    }
}
#endif
