#if Tools
import Diamond
import Foundation

/// A hold, as JSON and as text.
struct HoldForm: Encodable {
    /// `engine`, `queue`, `key`, `identity` or `lane`.
    var kind: String
    /// The name of the key, identity or lane. Absent for `engine` and `queue`.
    var name: String?
    var reason: String?
    var since: String?

    init(_ hold: ReplayHold, reason: String = "", since: Date? = nil) {
        kind = hold.kind
        name = hold.isWhole ? nil : hold.name
        self.reason = reason.isEmpty ? nil : reason
        self.since = since.map(Quantity.instant)
    }

    /// `the ordering key 'cart-7'`.
    var title: String {
        let noun = ["key": "ordering key", "engine": "store's engines"][kind] ?? kind
        return name.map { "the \(noun) '\($0)'" } ?? "the \(noun)"
    }

    /// Returns the command that ends the hold.
    private func releaseCommand(_ options: String) -> String {
        let option = kind == "queue" ? "whole" : kind
        return "cachectl queue release --\(option)\(name.map { "=\($0.shellArgument)" } ?? "")\(options)"
    }

    /// Returns ``line`` and the command that ends the hold.
    ///
    /// - Parameter options: The options of the command, each after a space.
    func note(options: String) -> String { "\(line): '\(releaseCommand(options))' ends it" }

    /// `held: the lane 'images' since 2026-08-01T12:00:00Z (the server asked for it)`.
    var line: String {
        "held: \(title)\(since.map { " since \($0)" } ?? "")\(reason.map { " (\($0))" } ?? "")"
    }
}
#endif
