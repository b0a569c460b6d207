#if Tools
import Diamond
import HTTPTypes

/// The transport to the origin. It replaces the proxy's own address in `Location` and `Content-Location` by that of the
/// origin, so that the cache knows which of its responses they name. ``ProxyResponse`` does the reverse.
final class OriginTransport: Transport {
    private let base: any Transport
    private let site: ProxySite

    init(_ base: any Transport, site: ProxySite) {
        self.base = base
        self.site = site
    }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        var response = try await base.send(request)
        response.headers.replaceLocations(site.originURL)
        return response
    }

    func close() async { await base.close() }
}

extension HTTPFields {
    /// Replaces the URLs in `Location` and `Content-Location`, unless the replacement is `nil`.
    mutating func replaceLocations(_ replacement: (String) -> String?) {
        for index in indices where self[index].name == .location || self[index].name == .contentLocation {
            guard let url = replacement(self[index].value) else { continue }
            self[index] = HTTPField(name: self[index].name, value: url)
        }
    }
}
#endif
