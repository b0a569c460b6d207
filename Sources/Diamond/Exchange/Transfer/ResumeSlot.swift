import DiamondSQLite
import HTTPTypes

/// The partial response of one connection, in memory: for a response that the cache's store may not keep.
///
/// The connection creates it when its first exchange begins, and has the same one until it finishes. If the body goes
/// into a file, the slot belongs to that file, and holds the head and the count of bytes.
final class ResumeSlot: Sendable {
    private struct Content {
        let url: String
        let headers: HTTPFields
        let response: PartialResponse
        let position: LogPosition
    }

    // Boxed: most slots stay empty.
    private let content = Guarded(IndirectOptional<Content>.none)

    var isEmpty: Bool {
        content.withLock { if case .none = $0 { true } else { false } }
    }

    /// Stores a partial response.
    ///
    /// - Parameter position: the position at which the response was requested.
    func put(_ response: PartialResponse, for request: TransportRequest, at position: LogPosition) {
        let new = Content(url: request.url, headers: request.headers, response: response, position: position)
        content.withLock { $0 = .some(new) }
    }

    /// Discards the partial response.
    func clear() { content.withLock { $0 = .none } }

    /// Removes and returns the partial response of exactly this request; `nil` if there is none.
    ///
    /// The response to another request stays, because each hop of a redirect calls this, too.
    ///
    /// - Parameter isWanted: whether nothing has invalidated the response since a position. Otherwise it is discarded.
    func remove(for request: TransportRequest, where isWanted: (LogPosition) -> Bool) -> PartialResponse? {
        let removed = content.withLock { content -> Content? in
            // The headers include credentials: another user's response is not resumed.
            guard let known = content.value, known.url == request.url, known.headers == request.headers else {
                return nil
            }
            content = .none
            return known
        }
        guard let removed, isWanted(removed.position) else { return nil }
        return removed.response
    }
}
