#if Tools
import Diamond
import Foundation

/// An entry that a page has found. Its response is read when the page needs it.
struct FoundEntry {
    /// The maximum bytes of a body that a page or a search reads. A download has no limit.
    static let bodyLimit = 8 << 20

    let listing: CacheListing
    /// The canonical form of the request; empty if it is sealed with another key.
    let form: String
    let cache: Cache

    fileprivate init(_ request: PageRequest, in cache: Cache) throws {
        let digits = request.path["key"] ?? ""
        // A key may have a whole response and a part.
        let found = try RequestKey(digits).map { _ in try cache.list(beginning: digits) } ?? []
        guard let listing = found.first(where: { !$0.isPartial }) ?? found.first else {
            throw PageProblem.missing("There is no such entry: it was purged, evicted, or never stored.")
        }
        self.listing = listing
        form = try cache.canonicalForm(of: listing.key) ?? ""
        self.cache = cache
    }

    /// Returns the response; `nil` if it cannot be read. It has no body if that is a part, or larger than
    /// ``bodyLimit``.
    func response() throws(CacheError) -> StoredResponse? {
        let request = Array(form.utf8)
        guard !listing.isPartial else {
            return try cache.partPreview(of: listing.key, request: request, at: .now)?.response
        }
        return try cache.storedResponse(of: listing.key, request: request, bodyLimit: Self.bodyLimit)
    }

    /// Returns the response with its body, whatever its size. Throws ``PageProblem`` if there is only a part, or it
    /// cannot be read.
    func completeResponse() throws -> StoredResponse {
        let request = Array(form.utf8)
        guard !listing.isPartial, let response = try cache.storedResponse(of: listing.key, request: request) else {
            throw PageProblem(status: 409, message: "The body is sealed with another key, damaged, or only a part.")
        }
        return response
    }

    /// The path of the entry's page.
    var path: String { "/entries/\(listing.key)" }

    /// The path of its body as an image.
    var imagePath: String { path + "/image" }

    /// The URL as it was sent, with secrets masked.
    var url: String { ForwardedURL(inForm: form)?.text ?? listing.url }

    /// The beginning of the names of its files.
    var fileName: String { String(listing.key.description.prefix(12)) }
}

extension Inspector {
    /// Finds the entry of a request's path. Throws ``PageProblem`` if there is none.
    // Not on the actor, whose other pages would wait for the cache.
    nonisolated func entry(of request: PageRequest) async throws -> FoundEntry {
        try FoundEntry(request, in: await cache())
    }
}
#endif
