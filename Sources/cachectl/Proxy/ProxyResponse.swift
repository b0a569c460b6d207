#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The head of a response as it is written to a client, and the framing of its body (RFC 9112 section 6).
struct ProxyResponse: Sendable {
    enum Framing: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
        /// The end of the connection ends the body. For clients with HTTP/1.0.
        case close
    }

    let status: HTTPResponse.Status
    let framing: Framing
    let keepsAlive: Bool
    private var fields: HTTPFields

    /// - Parameters:
    ///   - response: the response from the engine, or the proxy's own.
    ///   - request: the request; `nil` if it could not be read.
    ///   - isForHead: whether a request that could not be read was a HEAD.
    ///   - isWhole: whether the response has all of its body.
    ///   - keepsAlive: whether the connection may serve another request.
    init(
        _ response: Response, to request: ProxyRequest?, of site: ProxySite, isForHead: Bool = false,
        isWhole: Bool = false, keepsAlive: Bool
    ) {
        status = response.status
        fields = response.headers.endToEnd
        fields.replaceLocations { site.clientURL(of: $0, base: request?.base) }
        let isHTTP11 = request?.isHTTP11 ?? true
        let framing = Self.framing(
            of: response, isWhole: isWhole, isHead: isForHead || request?.method == .head, isHTTP11: isHTTP11)
        self.framing = framing
        self.keepsAlive = keepsAlive && framing != .close
        switch framing {
        case .length(let count): fields[.contentLength] = String(count)
        case .chunked:
            fields[.contentLength] = nil
            fields[.transferEncoding] = "chunked"
        case .close: fields[.contentLength] = nil
        case .none: if response.status == .noContent { fields[.contentLength] = nil }
        }
        let now = WallTime.now
        if !fields.hasDate(at: now) { fields[.date] = HTTPDate.text(of: Self.time(of: response, now: now)) }
        if response.source != .generated || request != nil { fields.append(site.via(version: "1.1")) }
        // RFC 9211.
        if request != nil, let name = HTTPField.Name("Cache-Status") {
            fields.append(HTTPField(name: name, value: response.cacheStatus?.member(for: "diamond") ?? "diamond"))
        }
        if !self.keepsAlive {
            fields[.connection] = "close"
        } else if !isHTTP11 {
            fields[.connection] = "keep-alive"
        }
    }

    // RFC 9110 section 6.6.1: a message without a valid Date gets the time of its receipt.
    private static func time(of response: Response, now: WallTime) -> WallTime {
        let age = response.source == .network ? nil : response.headers[.age].flatMap { Int64($0) }
        return now - .seconds(age ?? 0)
    }

    private static func framing(of response: Response, isWhole: Bool, isHead: Bool, isHTTP11: Bool) -> Framing {
        if isHead || response.status == .noContent || response.status == .notModified { return .none }
        let lengths = response.headers[values: .contentLength]
        if let length = lengths.first.flatMap({ Int($0) }), lengths.count == 1, length >= 0 { return .length(length) }
        if isWhole || response.source == .generated || !response.body.isEmpty { return .length(response.body.count) }
        return isHTTP11 ? .chunked : .close
    }

    /// The bytes of the head.
    var bytes: ByteBuffer { Self.bytes(of: status, with: fields) }

    /// Returns the bytes of the head and the whole body; `nil` if that is not the body of the head.
    func bytes(with body: Data) -> ByteBuffer? {
        guard framing != .none else { return bytes }
        guard framing == .length(body.count) else { return nil }
        var buffer = bytes
        buffer.writeBytes(body)
        return buffer
    }

    /// Returns the bytes of a piece of the body. An empty piece has none.
    func bytes(ofBody piece: ByteBuffer) -> ByteBuffer {
        guard framing == .chunked, piece.readableBytes > 0 else { return piece }
        var buffer = ByteBuffer()
        buffer.reserveCapacity(piece.readableBytes + 20)
        buffer.writeString(String(piece.readableBytes, radix: 16) + "\r\n")
        buffer.writeImmutableBuffer(piece)
        buffer.writeStaticString("\r\n")
        return buffer
    }

    /// Returns the bytes of an interim response, with the `Via` of a proxy.
    static func bytes(of interim: InterimResponse, site: ProxySite) -> ByteBuffer {
        // It has no body (RFC 9110 section 15.2).
        var fields = interim.headers.endToEnd.filter { $0.name != .contentLength }
        fields.append(site.via(version: "1.1"))
        return bytes(of: interim.status, with: HTTPFields(fields))
    }

    private static func bytes(of status: HTTPResponse.Status, with fields: HTTPFields) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(64 * (fields.count + 1))
        // Each library knows phrases that the other does not.
        let known = HTTPResponseStatus(statusCode: status.code).reasonPhrase
        let reason = known.isEmpty ? status.reasonPhrase : known
        buffer.writeString("HTTP/1.1 \(status.code) \(reason)\r\n")
        for field in fields {
            buffer.writeString(field.name.rawName)
            buffer.writeStaticString(": ")
            field.withUnsafeBytesOfValue { _ = buffer.writeBytes($0) }
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString("\r\n")
        return buffer
    }
}

extension HTTPFields {
    /// Whether there is a `Date` that can be read.
    ///
    /// - Parameter now: the current time; only for years of two digits.
    fileprivate func hasDate(at now: WallTime) -> Bool {
        let dates = self[values: .date]
        guard let date = dates.first, dates.count == 1 else { return false }
        return HTTPDate.time(of: date, now: now) != nil
    }
}
#endif
