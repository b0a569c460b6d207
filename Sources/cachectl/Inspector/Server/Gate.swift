#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// Decides on every request before a page sees it, and adds to every response the fields that keep it private.
struct Gate: RouterMiddleware {
    let session: Session
    let inspector: Inspector

    static let fields: [String: String] = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    ]

    func handle(
        _ request: Request,
        context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await response(to: request, context: context, next: next)
        for (name, value) in Self.fields {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        return response
    }

    private func response(
        to request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            if let token = FormFields(request.uri.query ?? "").values("token").first, request.uri.path == "/" {
                return try entrance(token, request)
            }
            try check(request)
            return try await next(request, context)
        } catch let error as CancellationError {
            throw error
        } catch {
            return await problem(error)
        }
    }

    /// Exchanges the token for a cookie. A browser that has the cookie needs no token.
    private func entrance(_ token: String, _ request: Request) throws -> Response {
        try checkHost(of: request)
        var headers: HTTPFields = [.location: "/"]
        if let cookie = session.redeem(token) {
            headers[.setCookie] = "\(session.name)=\(cookie); HttpOnly; SameSite=Strict; Path=/"
        } else {
            try check(request)
        }
        return Response(status: .seeOther, headers: headers)
    }

    private static let noSession = PageProblem(
        status: 401,
        message: "This browser has no access. The URL that cachectl serve prints opens the page once: open it here, or "
            + "reload if you just did; otherwise start cachectl serve again.")

    /// Throws if the request may not go on. The only place that decides whether an action is allowed.
    private func check(_ request: Request) throws {
        try checkHost(of: request)
        // The pages' own styles and scripts have no data.
        guard !request.uri.path.hasPrefix(Assets.path) else { return }
        let cookie = Cookies(from: request.headers[values: .cookie])[session.name]
        guard session.accepts(cookie: cookie?.value ?? "") else { throw Self.noSession }
        guard request.method != .get else { return }
        try checkOrigin(of: request)
        guard inspector.isWritable else {
            throw PageProblem(
                status: 403, message: "The page is read-only: start cachectl serve with --write to change something.")
        }
    }

    private func checkHost(of request: Request) throws {
        guard session.isOwn(request.head.authority) else {
            throw PageProblem(status: 421, message: "This server has another name: open the URL that cachectl printed.")
        }
    }

    /// Throws if another page sends the request. A browser says `null` for its own pages, too, because they send no
    /// referrer, and then Sec-Fetch-Site decides.
    private func checkOrigin(of request: Request) throws {
        let site = request.headers[.secFetchSite]
        let origin = request.headers[.origin].flatMap { $0 == "null" ? nil : $0 }
        let isOwn = origin.map { $0.hasPrefix("http://") && session.isOwn(String($0.dropFirst(7))) }
        guard isOwn ?? (site != nil), site ?? "same-origin" == "same-origin" else {
            throw PageProblem(status: 403, message: "The request comes from another page: use the forms of this one.")
        }
    }

    private func problem(_ error: any Error) async -> Response {
        let problem =
            (error as? any HTTPResponseError).map { PageProblem(status: $0.status.code, message: Self.text(of: $0)) }
            ?? PageProblem(any: error)
        return await PageResponse.html(
            inspector.problemPage(problem, isKnown: problem.status != 401 && problem.status != 421),
            status: problem.status
        ).response
    }

    private static func text(of error: any HTTPResponseError) -> String {
        error.status == .notFound ? "There is no such page." : "\(error.status.reasonPhrase)."
    }
}

extension HTTPField.Name {
    fileprivate static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
}
#endif
