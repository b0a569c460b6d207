#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The connection-specific fields that a proxy removes, and the fields that it adds (RFC 9110 section 7.6).
enum HopFields {
    private static let names: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Returns the fields without the connection-specific ones and those that `Connection` lists (section 7.6.1).
    static func removed(from fields: HTTPFields) -> HTTPFields {
        let listed = Set(
            fields[values: .connection].flatMap { $0.split(separator: ",") }
                .map { $0.trimmingCharacters(in: .whitespaces).lowercased() })
        return fields.filter { !names.contains($0.name.canonicalName) && !listed.contains($0.name.canonicalName) }
    }

    /// Returns the `Cache-Status` field of a response (RFC 9211).
    static func cacheStatus(of response: Response) -> HTTPField? {
        let value = response.cacheStatus?.member(for: "diamond") ?? "diamond"
        return HTTPField.Name("Cache-Status").map { HTTPField(name: $0, value: value) }
    }
}
#endif
