#if Tools
import NIOHTTP1

/// An error in reading a request, and what is known of the request.
struct RequestFailure: Error {
    let cause: any Error
    /// The method; empty if it is unknown.
    let method: String
    /// The head; `nil` if it could not be read.
    let head: HTTPRequestHead?

    init(_ error: any Error, method: String = "", head: HTTPRequestHead? = nil) {
        let known = error as? RequestFailure
        cause = known?.cause ?? error
        self.head = head ?? known?.head
        self.method = head?.method.rawValue ?? known?.method ?? method
    }

    /// The problem that answers the request; `nil` for an error of the connection.
    var problem: ProxyProblem? { ProxyProblem(reading: cause) }

    /// Whether the answer has no body.
    var isForHead: Bool { method == "HEAD" }
}
#endif
