#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOHTTP1

/// A client's request, with the target and the fields that the proxy forwards.
struct ProxyRequest: Sendable {
    /// The body of a request.
    enum Content: Hashable, Sendable {
        case none
        case length(Int64)
        case chunked
    }

    let method: HTTPRequest.Method
    /// The request target that is sent to the origin: a path with its query, or `*`.
    let target: String
    /// The fields that are sent to the origin.
    private(set) var fields: HTTPFields
    let content: Content
    /// Whether the client waits for a 100 before it sends the body (RFC 9110 section 10.1.1).
    let expectsContinue: Bool
    /// Whether the client speaks HTTP/1.1, and so understands chunks.
    let isHTTP11: Bool
    /// Whether the connection may serve another request.
    let keepsAlive: Bool
    /// Whether the request has passed this proxy before.
    let hasLooped: Bool
    /// The target as it was received.
    private let uri: String
    private let trustsForwarded: Bool
    /// The fields as they were received, for TRACE.
    private let received: HTTPFields

    /// Checks a request's head. Throws the problem that answers it if it is malformed or not for this proxy.
    init(_ head: HTTPRequestHead, site: ProxySite) throws(ProxyProblem) {
        isHTTP11 = head.version.minor >= 1
        guard let method = HTTPRequest.Method(head.method.rawValue) else {
            throw .badRequest("the method is malformed")
        }
        guard method != .connect else {
            throw ProxyProblem(.notImplemented, "CONNECT is not for a reverse proxy", closes: true)
        }
        self.method = method
        received = Self.fields(of: head.headers)
        try Self.checkHost(received, isHTTP11: isHTTP11)
        content = try Self.content(of: received, isHTTP11: isHTTP11)
        target = try RequestTarget.path(of: head.uri, method: method, site: site)
        expectsContinue = isHTTP11 && received[.expect]?.lowercased() == "100-continue"
        // After a request to upgrade, swift-nio reads no other request.
        keepsAlive = head.isKeepAlive && !received.contains(.upgrade)
        uri = head.uri
        let trustsForwarded = site.trustsForwarded
        self.trustsForwarded = trustsForwarded
        fields = received.endToEnd.filter {
            ![.contentLength, .expect].contains($0.name) && $0.name.canonicalName != "host"
                && (trustsForwarded || !ForwardedFields.includes($0.name))
        }
        hasLooped = site.hasForwarded(received)
        fields.append(site.via(version: isHTTP11 ? "1.1" : "1.0"))
    }

    private static func fields(of headers: HTTPHeaders) -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(headers.count + 1)
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, lenientValue: value.receivedBytes))
        }
        return fields
    }

    /// The scheme and authority of the client's URLs; `nil` if it has sent no `Host`.
    var base: String? {
        let scheme = (trustsForwarded ? ForwardedFields.scheme(in: received) : nil) ?? "http"
        return authority.map { "\(scheme)://\($0)" }
    }

    /// The host and port by which the client, or a trusted proxy's client, has addressed the proxy.
    private var authority: String? {
        (trustsForwarded ? ForwardedFields.authority(in: received) : nil) ?? RequestTarget.authority(of: uri) ?? host
    }

    /// The program of the client, by its own account; `nil` if it has named none.
    var agent: String? { fields.first { $0.name == .userAgent }?.value }

    /// Adds the fields that tell the origin about the client.
    mutating func addForwarded(from peer: String) {
        ForwardedFields.add(to: &fields, peer: peer, authority: authority)
    }

    private var host: String? {
        received.first { $0.name.canonicalName == "host" }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    // RFC 9112 section 3.2.
    private static func checkHost(_ fields: HTTPFields, isHTTP11: Bool) throws(ProxyProblem) {
        let hosts = fields.filter { $0.name.canonicalName == "host" }.map(\.value)
        guard hosts.count == 1 || hosts.isEmpty && !isHTTP11 else {
            throw .badRequest("the request needs one Host field")
        }
        let isValid = hosts.allSatisfy { host in
            host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\,".utf8.contains($0) }
        }
        guard isValid else { throw .badRequest("the Host field is malformed") }
    }

    // RFC 9112 section 6.3. A request whose end is ambiguous may hide another one.
    private static func content(of fields: HTTPFields, isHTTP11: Bool) throws(ProxyProblem) -> Content {
        let codings = fields[values: .transferEncoding]
        let lengths = fields[values: .contentLength]
        guard codings.isEmpty else {
            guard lengths.isEmpty else {
                throw .badRequest("the request has both Content-Length and Transfer-Encoding")
            }
            guard isHTTP11 else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding") }
            guard codings.count == 1, codings[0].lowercased() == "chunked" else {
                throw .badRequest("the Transfer-Encoding is not chunked")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard lengths.count == 1, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(length)
        else {
            throw .badRequest("the Content-Length is malformed")
        }
        return .length(count)
    }

    // MARK: Max-Forwards

    /// Returns the proxy's own answer to OPTIONS or TRACE if `Max-Forwards` is 0 (RFC 9110 section 7.6.2); otherwise
    /// `nil`. Decreases a `Max-Forwards` that is forwarded.
    mutating func ownAnswer() -> Response? {
        guard method == .options || method == .trace, let value = fields[.maxForwards],
            value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(value)
        else { return nil }
        guard count == 0 else {
            fields[.maxForwards] = String(count - 1)
            return nil
        }
        guard method == .trace else {
            return Response(status: .noContent, headers: [.allow: "GET, HEAD, OPTIONS, TRACE"], source: .generated)
        }
        return Response(status: .ok, headers: [.contentType: "message/http"], body: traced, source: .generated)
    }

    /// The request as it was received, without credentials (section 9.3.8).
    private var traced: Data {
        let secrets: [HTTPField.Name] = [.authorization, .proxyAuthorization, .cookie]
        var lines = Data("TRACE \(target) HTTP/1.1\r\n".utf8)
        for field in received where !secrets.contains(field.name) {
            lines += Data("\(field.name.rawName): ".utf8)
            field.withUnsafeBytesOfValue { lines.append(contentsOf: $0) }
            lines += Data("\r\n".utf8)
        }
        return lines + Data("\r\n".utf8)
    }
}

extension String {
    /// The bytes of a text of a head, which ``RequestHeads`` passes as characters of ISO-8859-1.
    var receivedBytes: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
#endif
