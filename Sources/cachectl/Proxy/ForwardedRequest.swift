#if Tools
import Diamond
import DiamondInspection
import Foundation

/// A request as a proxy forwards it: the target byte for byte, the origin in normal form.
struct ForwardedRequest {
    let request: Request
    let target: String

    init(_ given: Request) throws(RequestError) {
        let whole = given.url.utf8.prefix { $0 != UInt8(ascii: "#") }
        let scheme = whole.prefix { $0 != UInt8(ascii: ":") }.count + "://".utf8.count
        let end = whole.dropFirst(scheme).firstIndex { "/?".utf8.contains($0) } ?? whole.endIndex
        // Its normal form ends with the slash of the path.
        let origin = try RequestURL(String(Substring(whole[..<end]))).text().dropLast()
        var target = String(Substring(whole[end...]))
        if target.utf8.first != UInt8(ascii: "/") { target = "/" + target }
        let items = try given.parameters.items(given.encoding).items.map { String(decoding: $0.text, as: UTF8.self) }
        if !items.isEmpty { target += (target.contains("?") ? "&" : "?") + items.joined(separator: "&") }
        var request = Request(
            forwarding: given.method, origin: String(origin), target: target, headers: given.headers)
        request.cache = given.cache
        request.timeout = given.timeout
        self.request = request
        self.target = target
    }
}

/// The client of a forwarded request whose body is not needed.
actor DiscardingClient: GatewayClient {
    nonisolated var hasSentBody: Bool { true }
    private var head: Response?
    private var bodySize = 0

    /// The response without its body.
    var response: SentResponse {
        SentResponse(head: head ?? Response(status: .badGateway, source: .generated), bodySize: bodySize)
    }

    func begin(_ head: Response) { self.head = head }

    func write(_ piece: Data) { bodySize += piece.count }
}
#endif
