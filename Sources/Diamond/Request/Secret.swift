/// A credential that is never shown: known by a name and filled in where the request is sent, or held by value.
///
/// Of a named one only the name is encoded, printed or stored. One without a name lives in memory only: a request that
/// holds it has no written form.
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

    /// The secret that the engine's ``CredentialProvider`` knows by this name.
    public static func secret(_ name: String) -> Secret { Secret(content: .named(name)) }

    /// A secret by its value, for requests that are never written down.
    public static func unnamed(_ value: String) -> Secret { Secret(content: .value(value)) }

    /// `nil` for one without a name.
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
