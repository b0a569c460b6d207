#if Tools
import Diamond
import Foundation
import HTTPTypes

/// One address of the page: a method, a path, and the code that answers.
struct Route: Sendable {
    typealias Handler = @Sendable (PageRequest, Inspector) async throws -> PageResponse

    let method: HTTPRequest.Method
    /// The path: `/entries/{key}`. ``PageRequest/path`` has the values of its variables.
    let path: String
    let handler: Handler

    /// A page, which changes nothing.
    static func page(_ path: String, _ handler: @escaping Handler) -> Route {
        Route(method: .get, path: path, handler: handler)
    }

    /// An action, which only `--write` allows.
    static func action(_ path: String, _ handler: @escaping Handler) -> Route {
        Route(method: .post, path: path) { request, inspector in
            defer { inspector.samples.expire() }
            return try await handler(request, inspector)
        }
    }

    /// All pages and actions. To add a page, add its template to `Sources/CInspector/Pages` and `assets.c`, write a file
    /// in `Inspector` with the value of the template and its routes, and name them here. ``Layout/sections`` has the
    /// links at the top.
    static let all = [
        Overview.routes, EntriesPage.routes, EntryPage.routes, EntryFiles.routes, EntryActions.routes,
        QueuePage.routes, HoldActions.routes, JobsPage.routes, BulkPage.routes, JobPage.routes, JobEditPage.routes,
        TimelinePage.routes, SendPage.routes,
    ].flatMap(\.self)
}

/// A request for a page.
struct PageRequest: Sendable {
    /// The values of the variables in the path.
    var path: [String: String] = [:]
    /// The parameters of the URL.
    var query = FormFields()
    /// The fields of a sent form.
    var form = FormFields()
}
#endif
