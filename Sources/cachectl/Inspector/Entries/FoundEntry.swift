#if Tools
import Diamond
import Foundation

/// An entry that a page has found, with what can be read of it.
struct FoundEntry {
    let listing: CacheListing
    /// The canonical form of the request; empty if it is sealed with another key.
    let form: String
    /// The response, without its body for a part; `nil` if it cannot be read.
    let response: StoredResponse?

    /// Finds the entry of a request's path. Throws ``PageProblem`` if there is none.
    init(_ request: PageRequest, in cache: Cache) throws {
        let digits = request.path["key"] ?? ""
        // A key may have a whole response and a part.
        let found = try RequestKey(digits).map { _ in try cache.list(beginning: digits) } ?? []
        guard let listing = found.first(where: { !$0.isPartial }) ?? found.first else {
            throw PageProblem.missing("There is no such entry: it was purged, evicted, or never stored.")
        }
        self.listing = listing
        form = try cache.canonicalForm(of: listing.key) ?? ""
        let bytes = Array(form.utf8)
        response =
            try listing.isPartial
            ? cache.partPreview(of: listing.key, request: bytes, at: .now)?.response
            : cache.findOnDisk(listing.key, request: bytes)
    }

    /// Returns the whole response. Throws ``PageProblem`` if there is only a part, or it cannot be read.
    func whole() throws(PageProblem) -> StoredResponse {
        guard let response, !listing.isPartial else {
            throw PageProblem(status: 409, message: "The body is sealed with another key, damaged, or only a part.")
        }
        return response
    }

    /// The path of the entry's page.
    var path: String { "/entries/\(listing.key)" }

    /// The URL as it was sent, with secrets masked.
    var url: String { ForwardedURL(inForm: form)?.text ?? listing.url }

    /// The beginning of the names of its files.
    var fileName: String { String(listing.key.description.prefix(12)) }
}
#endif
