/// A credential that is never shown. It has a name and is filled in when the request is sent, or it has a value.
///
/// Only the name of a named secret is encoded, printed or stored. A secret without a name exists only in memory: a
/// request that contains it has no written form.
public struct Secret: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case named(String)
        case value(String)

        static func == (one: Kind, other: Kind) -> Bool {
            switch (one, other) {
            case (.named(let one), .named(let other)), (.value(let one), .value(let other)): one.isExactly(other)
            default: false
            }
        }
    }

    let kind: Kind

    /// Returns the secret with this name, which the engine's ``CredentialProvider`` provides.
    public static func secret(_ name: String) -> Secret { Secret(kind: .named(name)) }

    /// Returns a secret with a value, for requests that are never encoded.
    public static func unnamed(_ value: String) -> Secret { Secret(kind: .value(value)) }

    /// The name of the secret; `nil` if it has none.
    public var name: String? {
        if case .named(let name) = kind { name } else { nil }
    }
}

extension Secret: Redacted {
    /// The name, or `•••`.
    public var description: String { name.map { ".secret(\"\($0)\")" } ?? "•••" }
    var shownMembers: KeyValuePairs<String, Any> { ["name": name ?? "•••"] }
}
