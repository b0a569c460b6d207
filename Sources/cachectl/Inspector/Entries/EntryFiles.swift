#if Tools
import Diamond
import Foundation

/// The body of an entry as a file or an image, and the entry as an HTTP archive. Secrets are masked, as on its page.
///
/// A file is made in memory, whatever its size.
enum EntryFiles {
    static let routes = [
        Route.page("/entries/{key}/body") { request, inspector in
            let entry = try await inspector.entry(of: request)
            let stored = try entry.completeResponse()
            let body = Masking.shown(stored.body, headers: stored.headers)
            return .bytes(body, type: "application/octet-stream", fileName: entry.fileName + ".bin")
        },
        Route.page("/entries/{key}/image") { request, inspector in
            let entry = try await inspector.entry(of: request)
            guard let body = try entry.response()?.body, let image = ImageSize(body) else {
                throw PageProblem.missing("The body is no image that a page shows.")
            }
            return .bytes(body, type: "image/\(image.format.lowercased())")
        },
        Route.page("/entries/{key}/har") { request, inspector in
            let entry = try await inspector.entry(of: request)
            return .bytes(
                Data(try archive(of: entry).utf8), type: "application/json", fileName: entry.fileName + ".har")
        },
    ]

    private static func archive(of entry: FoundEntry) throws -> String {
        let exchange = ArchivedExchange(
            request: ArchivedRequest(form: entry.form, method: entry.listing.method, url: entry.listing.url),
            response: try entry.completeResponse(), isMasked: true)
        let log: JSONObject = [
            "version": "1.2", "creator": Export.creator, "pages": [String](), "entries": [exchange.form],
        ]
        return Output.text(of: ["log": log], isPretty: true)
    }
}
#endif
