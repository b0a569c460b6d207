import Foundation
package import HTTPTypes

/// Requests of other programs.
extension Engine {
    /// Returns a response in memory that may be served without changes; `nil` in every other case.
    ///
    /// - Parameter bodyLimit: the maximum number of bytes of the stored body.
    package func responseInMemory(to request: Request, bodyLimit: Int = .max) -> Response? {
        pipeline.responseInMemory(to: request, bodyLimit: bodyLimit)
    }

    /// Forwards a request, and passes its response on, from the cache or the server.
    ///
    /// The last bytes of a response are passed on after the response was stored and its invalidations were made.
    ///
    /// - Parameters:
    ///   - request: the request, made by ``Request/init(forwarding:origin:target:headers:)``.
    ///   - target: the request target, which is sent byte for byte.
    ///   - upload: the body; `nil` for none.
    /// - Throws: ``ConnectionError``. If the client has received the head, the response is broken.
    @concurrent
    package func forward(
        _ request: Request, target: String, upload: UploadSource?, to client: any GatewayClient
    ) async throws(ConnectionError) {
        let sink = GatewaySink(client, isForHead: request.method == .head)
        let caller = Caller().with {
            $0.target = target
            $0.upload = upload.map { Upload($0, progress: nil) }
        }
        let response = try await pipeline.stream(request, into: sink, for: caller)
        do throws(TransportError) { try await sink.end(with: response) } catch { throw ConnectionError(error) }
    }
}

extension Request {
    /// Creates a request that a gateway forwards.
    ///
    /// A target that is not in normal form has a key of its own, because an origin may distinguish it from the normal
    /// form.
    ///
    /// - Parameters:
    ///   - origin: scheme, host and port of the server.
    ///   - target: the path and the query, as received.
    package init(forwarding method: HTTPRequest.Method, origin: String, target: String, headers: HTTPFields) {
        let isPath = target.utf8.first == UInt8(ascii: "/")
        let path = isPath ? target : "/"
        let url = origin + path
        guard !isPath || !RequestURL.isNormal(url) else {
            self.init(url, method: method, headers: headers)
            return
        }
        let escaped = String(decoding: PercentEncoding.escapingIllegal(path.utf8), as: UTF8.self)
        self.init(origin + escaped, method: method, headers: headers)
        cacheKey = ForwardedURL.cacheKey(of: method == .head ? .get : method, origin + target)
    }
}

extension RequestURL {
    /// Whether a URL is its own normal form, also in the key of its request: with the items of its query in the key's
    /// order.
    fileprivate static func isNormal(_ text: String) -> Bool {
        guard let url = RequestURL(normal: text) else { return false }
        let items = url.queryItems()
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return true }
        let query = text.utf8[text.utf8.index(after: mark)...]
        guard !items.isEmpty, items.bytes.elementsEqual(query) else { return false }
        let names = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { $0.prefix { $0 != UInt8(ascii: "=") } }
        return zip(names, names.dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) }
    }
}
