#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// What a route knows of its request beside the request itself.
struct SampleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection, for the routes that break it.
    let channel: any Channel
    /// The query's parameters without the switches.
    var arguments = Arguments([])
    var switches = Switches()
    var pause = Pause(nil)

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Separates the switches from the parameters that are the route's own.
    mutating func accept(_ request: Request) throws(Problem) {
        arguments = Arguments(query: request.uri.query, fields: request.headers)
        switches = try Switches(&arguments)
        pause = Pause(switches.delay)
    }

    /// The request's body as JSON of one type; anything else is the client's mistake.
    func json<Value: Decodable>(_ type: Value.Type, from request: Request) async throws -> Value {
        try JSON.decode(type, from: await body(of: request))
    }

    func body(of request: Request) async throws -> Data {
        try await allowBody(of: request)
        let buffer = try await request.body.collect(upTo: 16 << 20)
        return Data(buffer.readableBytesView)
    }

    /// Says `100 Continue` to a client that waits for it; the framework does not.
    /// https://www.rfc-editor.org/rfc/rfc9110.html#section-10.1.1
    func allowBody(of request: Request) async throws {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return }
        try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
    }

    /// A number in the path.
    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int {
        let text = try parameters.require(name)
        guard let number = Int(text), range.contains(number) else {
            throw Problem.invalid(name, "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
#endif
