#if Tools
import Diamond
import Foundation

/// The actions of a page on an entry, which only `--write` allows.
enum EntryActions {
    /// The sentences for ``EntryPage/done``.
    static let sentences = [
        "invalidated": "The entry was marked stale: the next request validates it.",
        "pinned": "The entry was pinned: it is not evicted.",
        "unpinned": "The entry may be evicted again.",
        "kept": "Nothing was changed: the entry was already marked stale.",
    ]

    static let routes = [
        Route.action("/entries/{key}/invalidate") { request, inspector in
            let entry = try await inspector.entry(of: request)
            let count = try await entry.cache.invalidate(.key(entry.listing.key))
            return .redirect("\(entry.path)?done=\(count > 0 ? "invalidated" : "kept")")
        },
        Route.action("/entries/{key}/pin") { try await setPinned(true, $0, in: $1) },
        Route.action("/entries/{key}/unpin") { try await setPinned(false, $0, in: $1) },
        Route.page("/entries/{key}/purge") { request, inspector in
            let entry = try await inspector.entry(of: request)
            let value = EntryRow(entry.listing, url: entry.url, now: .now)
            return await inspector.page("entry-purge", title: "Purge this entry?", section: "/entries", value)
        },
        Route.action("/entries/{key}/purge") { request, inspector in
            let entry = try await inspector.entry(of: request)
            guard request.form["confirmed"] == "yes" else { return .redirect("\(entry.path)/purge") }
            _ = try await entry.cache.purge(.key(entry.listing.key))
            return .redirect("/entries?purged=\(entry.fileName)")
        },
    ]

    private static func setPinned(
        _ isPinned: Bool, _ request: PageRequest, in inspector: Inspector
    ) async throws -> PageResponse {
        let entry = try await inspector.entry(of: request)
        guard try await entry.cache.setPinned(isPinned, for: entry.listing.key) else {
            let reason = entry.cache.server.map { "\($0) keeps no pins" } ?? "It was just removed"
            throw PageProblem(status: 409, message: "The entry cannot be pinned. \(reason).")
        }
        return .redirect("\(entry.path)?done=\(isPinned ? "pinned" : "unpinned")")
    }
}
#endif
