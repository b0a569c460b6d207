public import Diamond
import DiamondSQLite
public import Foundation
public import HTTPTypes

/// A transport that calls a closure for each request, without a network, and records the requests.
///
/// ```swift
/// let transport = StubTransport { request throws(TransportError) in
///     guard request.url.hasSuffix("/cities") else { return .stub(status: 404) }
///     return .stub(headers: [.cacheControl: "max-age=60"], body: #"["Berlin"]"#)
/// }
/// ```
public final class StubTransport: Transport {
    /// A function that returns the response to a request, or throws the error of a transport.
    public typealias Answer = @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

    private let answer: Answer
    private let received = Guarded<[TransportRequest]>([])

    /// Creates a transport.
    ///
    /// - Parameter answer: Called for each request, concurrently.
    public init(_ answer: @escaping Answer) { self.answer = answer }

    /// Creates a transport that responds to every request with the same status, headers and body.
    public convenience init(status: Int = 200, headers: HTTPFields = [:], body: String = "body") {
        self.init { _ in .stub(status: status, headers: headers, body: body) }
    }

    /// Returns a transport that never responds. An exchange ends when it is canceled.
    ///
    /// - Parameter whenCanceled: Called for each canceled exchange.
    public static func silent(whenCanceled: @escaping @Sendable () -> Void = {}) -> StubTransport {
        StubTransport { _ throws(TransportError) in
            // The stream ends only when the task is canceled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            whenCanceled()
            throw TransportError(.cancelled, "canceled", serverMayHaveActed: true)
        }
    }

    /// The requests so far, in order.
    public var requests: [TransportRequest] { received.withLock { $0 } }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        received.withLock { $0.append(request) }
        return try await answer(request)
    }

    public func close() async {}
}

extension TransportResponse {
    /// Creates a complete response.
    public static func stub(status: Int = 200, headers: HTTPFields = [:], body: String = "body") -> TransportResponse {
        stub(status: status, headers: headers, body: Data(body.utf8))
    }

    /// Creates a complete response.
    public static func stub(status: Int = 200, headers: HTTPFields = [:], body: Data) -> TransportResponse {
        TransportResponse(
            status: HTTPResponse.Status(code: status, reasonPhrase: ""), headers: headers, body: BodyStream(body))
    }
}
