#if Tools
import Diamond
import HTTPTypes

/// The `Cache-Status` field of the proxy (RFC 9211).
enum ProxyCacheStatus {
    static func field(of response: Response, to request: ProxyRequest) -> HTTPField {
        HTTPField(name: HopFields.cacheStatus, value: "diamond; " + parameters(of: response, to: request))
    }

    private static func parameters(of response: Response, to request: ProxyRequest) -> String {
        switch response.source {
        case .cache: "hit"
        case .stale: "hit; detail=stale"
        case .revalidated: "hit; fwd=stale; fwd-status=304"
        case .network: "fwd=\(isRead(request.method) ? "miss" : "method")"
        case .generated: "detail=generated"
        }
    }

    private static func isRead(_ method: HTTPRequest.Method) -> Bool {
        [.get, .head, HTTPRequest.Method("QUERY")].contains(method)
    }
}
#endif
