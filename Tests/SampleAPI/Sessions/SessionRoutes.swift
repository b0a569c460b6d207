#if Tools
import HTTPTypes
import Hummingbird

/// `/login` and `/me`: bearer tokens (RFC 6750).
struct SessionRoutes: Sendable {
    private let store = SessionStore()

    func add(to router: Router<SampleContext>) {
        router.post("login", use: login)
        router.delete("login", use: logout)
        router.get("me", use: me)
    }

    @Sendable private func login(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let credentials = try await context.json(Credentials.self, from: request)
        return try Response(headers: .uncacheable, json: await store.login(credentials))
    }

    @Sendable private func logout(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        await store.logout(request.bearerToken)
        return Response(status: .noContent)
    }

    @Sendable private func me(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        guard let user = await store.user(of: request.bearerToken) else { return try refusal() }
        return try Response(headers: [.cacheControl: "private, max-age=60"], json: user)
    }

    private func refusal() throws -> Response {
        let problem = Problem(code: 401, detail: "Sign in with POST /login, and send the token as a Bearer token.")
        var response = try problem.response()
        response.headers[.wwwAuthenticate] = "Bearer realm=\"sample\""
        return response
    }
}

extension Request {
    /// The token of `Authorization: Bearer`; empty if there is none.
    fileprivate var bearerToken: String {
        let parts = headers[.authorization]?.split(separator: " ", maxSplits: 1) ?? []
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return "" }
        return String(parts[1])
    }
}
#endif
