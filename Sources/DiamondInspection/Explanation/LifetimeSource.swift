import Diamond
import Foundation
import HTTPTypes

/// The field that gives a stored response its lifetime (RFC 9111 section 4.2.1), by the rules of the cache that has
/// stored it.
struct LifetimeSource {
    let text: String
    var clause = "RFC 9111 section 4.2.2"
    var field: String?
    /// Whether the lifetime is that of the request's policy.
    var isPolicy = false

    init(of response: StoredResponse, for preview: CachePreview) {
        let headers = response.headers
        let targets = response.flags.contains(.shared) ? preview.targets : []
        let control = CacheControl(headers, targets: targets)
        let suffix = control.isTargeted ? " of a targeted field" : ""
        if response.lifetime == nil || response.flags.contains(.heuristic) {
            isPolicy = preview.policy.maxAge != nil && response.status < 400
            text = isPolicy ? "the request's maxAge" : response.lifetime == nil ? "none" : Self.heuristic(response)
            clause = isPolicy ? "policy" : clause
            field = isPolicy ? nil : DecidingField.response(.lastModified, in: headers)
        } else if response.flags.contains(.shared), control.sharedMaxAge != nil {
            field = DecidingField.control(in: headers, targets: targets)
            text = "s-maxage" + suffix + Self.fault("s-maxage", seconds: control.sharedMaxAge, in: field)
            clause = "RFC 9111 section 5.2.2.10"
        } else if control.maxAge != nil {
            field = DecidingField.control(in: headers, targets: targets)
            text = "max-age" + suffix + Self.fault("max-age", seconds: control.maxAge, in: field)
            clause = "RFC 9111 section 5.2.2.1"
        } else {
            field = DecidingField.response(.expires, in: headers)
            text = "Expires" + Self.fault(ofExpires: headers[values: .expires], at: response.storedAt)
            clause = "RFC 9111 section 5.3"
        }
    }

    private static func heuristic(_ response: StoredResponse) -> String {
        let isLongest = response.lifetime == 86_400_000
        return "a tenth of the time since Last-Modified" + (isLongest ? ", at most a day" : "")
    }

    /// Returns the fault of a lifetime that cannot be read, and so counts as 0; empty without one.
    private static func fault(_ directive: String, seconds: Int64?, in field: String?) -> String {
        guard seconds == 0, let field else { return "" }
        let zero = try? Regex("(?i)(^|[\\s,])\(directive)=\"?0+\"?\\s*(,|;|$)")
        let isRead = zero.map { field.firstMatch(of: $0) != nil } ?? true
        return isRead ? "" : ", which is no number of seconds: expired"
    }

    private static func fault(ofExpires values: [String], at now: WallTime) -> String {
        guard Set(values).count == 1 else { return ", which has several values: expired" }
        return values.contains { HTTPDate.time(of: $0, now: now) == nil } ? ", which is no date: expired" : ""
    }
}
