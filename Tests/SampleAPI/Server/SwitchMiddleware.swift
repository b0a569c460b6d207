#if Tools
import HTTPTypes
import Hummingbird

/// Obeys a request's switches on every route, and turns every error into a problem document.
struct SwitchMiddleware: RouterMiddleware {
    private let requests = CountedKeys()

    func handle(
        _ request: Request,
        context: SampleContext,
        next: @concurrent (Request, SampleContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        var response = try await answer(request, &context, next)
        try await context.pause.wait()
        context.switches.apply(to: &response)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(
        _ request: Request,
        _ context: inout SampleContext,
        _ next: @concurrent (Request, SampleContext) async throws -> Response
    ) async throws -> Response {
        do {
            try context.accept(request)
            try refuse(request, context.switches)
            return try await next(context.switches.applied(to: request), context)
        } catch let error as CancellationError {
            // The client has gone away: there is no one to answer.
            throw error
        } catch {
            return try Problem(error).response()
        }
    }

    private func refuse(_ request: Request, _ switches: Switches) throws(Problem) {
        if let status = switches.status {
            throw Problem(code: status, detail: "The request asked for this status.")
        }
        if let every = switches.failEvery, requests.increment(request.uri.path).isMultiple(of: every) {
            throw Problem(code: 503, detail: "The request asked that one in \(every) fails.", retryAfter: 1)
        }
    }
}
#endif
