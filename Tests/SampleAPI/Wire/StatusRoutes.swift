#if Tools
import HTTPTypes
import Hummingbird

/// `/wire/status/{code}` and `/wire/redirect/{code}`.
struct StatusRoutes: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.any("status/{code}", use: status)
        wire.any("redirect/{code}", use: redirect)
    }

    @Sendable private func status(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        return Response(status: .init(code: try context.number("code", in: 200...599)))
    }

    @Sendable private func redirect(_ request: Request, _ context: SampleContext) async throws -> Response {
        let code = try context.number("code", in: 300...399)
        var arguments = context.arguments
        guard let target = try arguments.text("to") else { throw Problem.invalid("to", "is missing") }
        try arguments.finish()
        return Response(status: .init(code: code), headers: [.location: target])
    }
}
#endif
