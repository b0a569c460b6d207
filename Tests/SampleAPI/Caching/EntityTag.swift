import Foundation

/// https://www.rfc-editor.org/rfc/rfc9110.html#section-8.8.3
struct EntityTag: Hashable, Sendable {
    let opaque: String
    let isWeak: Bool

    init(opaque: String, isWeak: Bool = false) {
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Strong, because equal bodies and only they have equal tags.
    init(of body: Data) {
        var checksum = Checksum()
        body.withUnsafeBytes { checksum.update($0) }
        self.init(opaque: checksum.hex)
    }

    var text: String {
        (isWeak ? "W/" : "") + "\"\(opaque)\""
    }

    func matchesWeakly(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// The tags of a list; a comma inside quotation marks belongs to its tag.
    static func list(_ text: String) -> [EntityTag] {
        text.matches(of: #/(?<weak>W/)?"(?<opaque>[^"]*)"/#).map { match in
            EntityTag(opaque: String(match.opaque), isWeak: match.weak != nil)
        }
    }
}
