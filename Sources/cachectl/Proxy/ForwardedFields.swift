#if Tools
import Foundation
import HTTPTypes

/// The fields that tell the origin how a client has addressed the proxy: `Forwarded` (RFC 7239), and its older forms
/// `X-Forwarded-For`, `-Host` and `-Proto`.
enum ForwardedFields {
    private static let forwarded = HTTPField.Name("Forwarded")
    private static let client = HTTPField.Name("X-Forwarded-For")
    private static let host = HTTPField.Name("X-Forwarded-Host")
    private static let scheme = HTTPField.Name("X-Forwarded-Proto")

    /// Whether a field tells of the client. A client could lie in it.
    static func includes(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        return name.hasPrefix("x-forwarded-") || name == "forwarded" || name == "x-real-ip"
    }

    /// Adds the fields of a request.
    ///
    /// If the request has such fields already, another proxy in front of this one has set them: the addresses are
    /// appended to them, and host and scheme stay.
    ///
    /// - Parameters:
    ///   - peer: the address of the client.
    ///   - authority: the host and port by which the client has addressed the proxy; `nil` if it has sent none.
    static func add(to fields: inout HTTPFields, peer: String, authority: String?) {
        append(element(peer: peer, authority: authority), to: forwarded, of: &fields)
        append(peer, to: client, of: &fields)
        if let scheme, !fields.contains(scheme) { fields[scheme] = "http" }
        if let host, let authority, !fields.contains(host) { fields[host] = authority }
    }

    private static func append(_ element: String, to name: HTTPField.Name?, of fields: inout HTTPFields) {
        guard let name else { return }
        fields[name] = (fields[values: name] + [element]).joined(separator: ", ")
    }

    private static func element(peer: String, authority: String?) -> String {
        let host = authority.map { ";host=\(quoted($0))" } ?? ""
        return "for=\(quoted(peer.contains(":") ? "[\(peer)]" : peer))\(host);proto=http"
    }

    // RFC 7239 section 4: a value with other characters than those of a token is quoted.
    private static func quoted(_ value: String) -> String {
        let isToken = value.isEmpty || HTTPField.Name(value) != nil
        return isToken ? value : "\"\(value.replacing("\"", with: "\\\""))\""
    }

    // MARK: The client's view

    /// Returns the scheme that a trusted proxy in front of this one has named; `nil` if it has named none.
    static func scheme(in fields: HTTPFields) -> String? {
        first(scheme, of: fields).flatMap { ["http", "https"].contains($0.lowercased()) ? $0.lowercased() : nil }
    }

    /// Returns the host and port that a proxy has named; `nil` if it has named none.
    static func authority(in fields: HTTPFields) -> String? { first(host, of: fields) }

    private static func first(_ name: HTTPField.Name?, of fields: HTTPFields) -> String? {
        let value = name.flatMap { fields[values: $0].first?.split(separator: ",").first }
        return value.map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
#endif
