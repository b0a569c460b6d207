import DiamondSQLite
import HTTPTypes

/// The partial response of one connection, in memory: the place for a response that the cache's store may not keep.
///
/// The connection makes it when its first exchange begins, and has the same one until it finishes. Where the body goes into
/// a file, the slot belongs to that file, and holds the head and the count of bytes.
final class ResumeSlot: Sendable {
    /// An instant of the log of invalidations.
    typealias Instant = Int

    private struct Content {
        let url: String
        let headers: HTTPFields
        let response: PartialResponse
        let instant: Instant

        /// Credentials are compared, too: another user's response is not resumed.
        func isOf(_ request: TransportRequest) -> Bool { url == request.url && headers == request.headers }
    }

    // Boxed: most slots stay empty.
    private let content = Guarded(IndirectOptional<Content>.none)

    var isEmpty: Bool {
        content.withLock { if case .none = $0 { true } else { false } }
    }

    /// - Parameter instant: when the response was asked for.
    func put(_ response: PartialResponse, for request: TransportRequest, at instant: Instant) {
        let new = Content(url: request.url, headers: request.headers, response: response, instant: instant)
        content.withLock { $0 = .some(new) }
    }

    /// Discards the partial response.
    func clear() { content.withLock { $0 = .none } }

    /// Removes and returns the partial response of exactly this request; `nil` where there is none.
    ///
    /// The response to another request stays: each hop of a redirect asks, too.
    ///
    /// - Parameter isWanted: whether nothing has invalidated the response since an instant. Otherwise it is discarded.
    func take(for request: TransportRequest, where isWanted: (Instant) -> Bool) -> PartialResponse? {
        let taken = content.withLock { content -> Content? in
            guard let known = content.value, known.isOf(request) else { return nil }
            content = .none
            return known
        }
        guard let taken, isWanted(taken.instant) else { return nil }
        return taken.response
    }
}
