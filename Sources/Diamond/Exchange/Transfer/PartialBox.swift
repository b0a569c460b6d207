import DiamondSQLite
import HTTPTypes

/// Keeps in memory what was received of an answer that no store may keep, for the connection that has asked for it; of one
/// that is poured, how much that is.
final class PartialBox: Sendable {
    private struct Content {
        let url: String
        let headers: HTTPFields
        let incomplete: IncompleteArrival
        let instant: InvalidationLog.Instant

        init(_ incomplete: IncompleteArrival, for request: TransportRequest, at instant: InvalidationLog.Instant) {
            (url, headers) = (request.url, request.headers)
            self.incomplete = incomplete
            self.instant = instant
        }
    }

    private let content = Guarded<Content?>(nil)

    /// - Parameter instant: when it was asked for.
    func put(_ incomplete: IncompleteArrival, for request: TransportRequest, at instant: InvalidationLog.Instant) {
        let new = Content(incomplete, for: request, at: instant)
        content.withLock { $0 = new }
    }

    /// What is in it is of no use any more.
    func empty() { content.withLock { $0 = nil } }

    /// Takes out what is in it, where it is of the very same request, credentials included.
    ///
    /// - Parameter isOfUse: whether what was asked for then has not been taken back since.
    func take(for request: TransportRequest, where isOfUse: (InvalidationLog.Instant) -> Bool) -> IncompleteArrival? {
        let content = content.withLock { content -> Content? in
            // Another hop of a redirect asks, too.
            guard let known = content, known.url == request.url, known.headers == request.headers else { return nil }
            content = nil
            return known
        }
        guard let content else { return nil }
        return isOfUse(content.instant) ? content.incomplete : nil
    }
}
