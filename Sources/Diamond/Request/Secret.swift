/// A credential that is never shown: known by a name and filled in where the request is sent, or held by value.
///
/// Only the name of a named secret is encoded, printed or stored. A secret without a name lives in memory only: a
/// request that holds it has no written form.
public struct Secret: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case named(String)
        case value(String)

        static func == (one: Content, other: Content) -> Bool {
            switch (one, other) {
            case (.named(let one), .named(let other)), (.value(let one), .value(let other)): one.isExactly(other)
            default: false
            }
        }
    }

    let content: Content

    /// Returns the secret that the engine's ``CredentialProvider`` knows by this name.
    public static func secret(_ name: String) -> Secret { Secret(content: .named(name)) }

    /// Returns a secret by its value, for requests that are never written down.
    public static func unnamed(_ value: String) -> Secret { Secret(content: .value(value)) }

    /// The name of the secret; `nil` if it has none.
    public var name: String? {
        if case .named(let name) = content { name } else { nil }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, or `•••`.
    public var description: String { name.map { ".secret(\"\($0)\")" } ?? "•••" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["name": name ?? "•••"]) }
}
