import DiamondSQLite
import HTTPTypes

/// Keeps in memory what was received of an answer that no store may keep, for the connection that has asked for it.
final class PartialBox: Sendable {
    // Of its own: most boxes are empty, and there is one for each connection that waits.
    private final class Content: Sendable {
        let url: String
        let headers: HTTPFields
        let incomplete: IncompleteArrival
        let epoch: Int

        init(_ incomplete: IncompleteArrival, for request: TransportRequest, at epoch: Int) {
            (url, headers) = (request.url, request.headers)
            (self.incomplete, self.epoch) = (incomplete, epoch)
        }
    }

    private let content = Guarded<Content?>(nil)

    /// - Parameter epoch: how many were forgotten when it was asked for.
    func put(_ incomplete: IncompleteArrival, for request: TransportRequest, at epoch: Int) {
        let new = Content(incomplete, for: request, at: epoch)
        content.withLock { $0 = new }
    }

    /// Takes out what is in it, where it is of the very same request, credentials included.
    ///
    /// - Parameter isOfUse: whether what was asked for at an epoch is of nobody who was forgotten since.
    func take(for request: TransportRequest, where isOfUse: (_ epoch: Int) -> Bool) -> IncompleteArrival? {
        let content = content.withLock { content -> Content? in
            // Another hop of a redirect asks, too.
            guard let known = content, known.url == request.url, known.headers == request.headers else { return nil }
            content = nil
            return known
        }
        guard let content else { return nil }
        return isOfUse(content.epoch) ? content.incomplete : nil
    }
}
