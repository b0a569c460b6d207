public import Diamond
import DiamondSQLite
public import Foundation
public import HTTPTypes

/// A transport that answers from a closure, without a network, and remembers what it was asked.
///
/// ```swift
/// let transport = StubTransport { request throws(TransportError) in
///     guard request.url.hasSuffix("/cities") else { return .stub(status: 404) }
///     return .stub(headers: [.cacheControl: "max-age=60"], body: #"["Berlin"]"#)
/// }
/// ```
public final class StubTransport: Transport {
    /// A function that makes an answer for a request, or fails as a transport does.
    public typealias Answer = @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

    private let answer: Answer
    private let asked = Guarded<[TransportRequest]>([])

    /// - Parameter answer: called for each request, by many tasks at once.
    public init(_ answer: @escaping Answer) { self.answer = answer }

    /// Answers everything with one status, headers and body.
    public convenience init(status: Int = 200, headers: HTTPFields = [:], body: String = "body") {
        self.init { _ in .stub(status: status, headers: headers, body: body) }
    }

    /// Answers nothing, until its exchanges are canceled.
    ///
    /// - Parameter whenCanceled: called for each.
    public static func silent(whenCanceled: @escaping @Sendable () -> Void = {}) -> StubTransport {
        StubTransport { _ throws(TransportError) in
            // Ends with the waiting task, and by nothing else.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            whenCanceled()
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: true)
        }
    }

    /// Every request so far, in order.
    public var requests: [TransportRequest] { asked.withLock { $0 } }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        asked.withLock { $0.append(request) }
        return try await answer(request)
    }

    public func close() async {}
}

extension TransportResponse {
    /// A response that is there, whole.
    public static func stub(status: Int = 200, headers: HTTPFields = [:], body: String = "body") -> TransportResponse {
        stub(status: status, headers: headers, body: Data(body.utf8))
    }

    /// A response that is there, whole.
    public static func stub(status: Int = 200, headers: HTTPFields = [:], body: Data) -> TransportResponse {
        TransportResponse(
            status: HTTPResponse.Status(code: status, reasonPhrase: ""), headers: headers, body: BodyStream(body))
    }
}
