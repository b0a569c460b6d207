import Foundation

/// https://www.rfc-editor.org/rfc/rfc9110.html#section-13
struct Preconditions: Sendable {
    var ifMatch: String?
    var ifNoneMatch: String?
    var ifModifiedSince: String?

    /// Whether a read is answered with 304. `If-None-Match` decides alone when it is there.
    func isUnchanged(_ tag: EntityTag, _ lastModified: Date) -> Bool {
        if let ifNoneMatch { return Self.names(tag, in: ifNoneMatch, by: EntityTag.matchesWeakly) }
        guard let since = ifModifiedSince.flatMap(HTTPDate.date) else { return false }
        return lastModified <= since
    }

    /// Refuses a write to something else than the client has seen; `tag` is nil for what does not exist.
    func allowWrite(to tag: EntityTag?) throws(Problem) {
        if let ifMatch, !Self.names(tag, in: ifMatch, by: EntityTag.matchesStrongly) {
            throw Problem(code: 412, detail: "If-Match names no current entity tag.", parameter: "If-Match")
        }
        if let ifNoneMatch, Self.names(tag, in: ifNoneMatch, by: EntityTag.matchesWeakly) {
            throw Problem(code: 412, detail: "If-None-Match names the current entity tag.", parameter: "If-None-Match")
        }
    }

    private static func names(
        _ tag: EntityTag?,
        in field: String,
        by matches: (EntityTag) -> (EntityTag) -> Bool
    ) -> Bool {
        guard let tag else { return false }
        return field == "*" || EntityTag.list(field).contains(where: matches(tag))
    }
}
