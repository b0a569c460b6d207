import Foundation

extension TransportRequest {
    /// Where it goes, for errors: scheme, host and port, no user info, path or query.
    var place: String {
        let url = URL(string: url)
        let port = url?.port.map { ":\($0)" } ?? ""
        return "\(url?.scheme ?? "")://\(url?.host() ?? "")\(port)"
    }
}
