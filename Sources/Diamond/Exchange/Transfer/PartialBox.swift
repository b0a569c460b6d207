import DiamondSQLite
import HTTPTypes

/// Keeps in memory what was received of an answer that no store may keep, for the connection that has asked for it; of one
/// that is poured, how much that is.
final class PartialBox: Sendable {
    private struct Content {
        let url: String
        let headers: HTTPFields
        let incomplete: IncompleteArrival
        let age: PartialAge

        init(_ incomplete: IncompleteArrival, for request: TransportRequest, at age: PartialAge) {
            (url, headers) = (request.url, request.headers)
            (self.incomplete, self.age) = (incomplete, age)
        }
    }

    private let content = Guarded<Content?>(nil)

    /// - Parameter age: when it was asked for.
    func put(_ incomplete: IncompleteArrival, for request: TransportRequest, at age: PartialAge) {
        let new = Content(incomplete, for: request, at: age)
        content.withLock { $0 = new }
    }

    /// What is in it is of no use any more.
    func empty() { content.withLock { $0 = nil } }

    /// Takes out what is in it, where it is of the very same request, credentials included.
    ///
    /// - Parameter isOfUse: whether what was asked for then has not been taken back since.
    func take(for request: TransportRequest, where isOfUse: (PartialAge) -> Bool) -> IncompleteArrival? {
        let content = content.withLock { content -> Content? in
            // Another hop of a redirect asks, too.
            guard let known = content, known.url == request.url, known.headers == request.headers else { return nil }
            content = nil
            return known
        }
        guard let content else { return nil }
        return isOfUse(content.age) ? content.incomplete : nil
    }
}

/// When something was asked for, as those count who may take it back.
struct PartialAge: Hashable, Sendable {
    /// Identities that had been forgotten.
    var forgotten = 0
    /// Selections that had been invalidated or erased.
    var revoked = 0
}
