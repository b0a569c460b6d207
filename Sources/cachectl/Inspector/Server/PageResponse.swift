#if Tools
import Diamond
import Foundation

/// The answer to a request for a page.
enum PageResponse: Sendable {
    /// HTML, from ``Inspector/page(_:title:section:_:status:)``.
    case html(String, status: Int = 200)
    /// Another page, after an action. The path is one of this server.
    case redirect(String)
    /// Bytes that a browser shows as an image, or saves as a file if they have a name.
    case bytes(Data, type: String, fileName: String? = nil)
    /// Parts of a page by their names, each second. A part that has changed replaces the content of the element with
    /// the attribute `sse-swap="NAME"`, inside of an element whose `data-live` has the path of the route. An error is
    /// shown above the page until the parts can be read again.
    case live(@Sendable () async throws -> [String: String])
}

/// A problem that a page reports, with its status.
struct PageProblem: Error {
    var status = 400
    let message: String

    static func missing(_ message: String) -> PageProblem { PageProblem(status: 404, message: message) }
}

extension PageProblem {
    /// Returns the problem for an error of a page; `nil` if the page is at fault.
    init?(_ error: any Error) {
        switch error {
        case let error as PageProblem: self = error
        case let error as CacheError: self.init(status: error.code == .noStore ? 404 : 503, message: error.message)
        case let error as ReplayError: self.init(status: Self.status(of: error.code), message: error.message)
        case let error as RequestError: self.init(message: error.message)
        case let error as ConnectionError: self.init(status: 502, message: error.message)
        default: return nil
        }
    }

    /// Creates the problem for any error.
    init(any error: any Error) {
        self = PageProblem(error) ?? PageProblem(status: 500, message: "The page has failed: \(type(of: error)).")
    }

    private static func status(of code: ReplayError.Code) -> Int {
        switch code {
        case .noJob, .noStore: 404
        case .wrongState, .notUnique, .cannotMerge, .queueFull: 409
        case .badRequest: 400
        default: 503
        }
    }
}
#endif
