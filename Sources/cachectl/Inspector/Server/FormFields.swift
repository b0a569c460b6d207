#if Tools
import Crypto
import Diamond
import Foundation

/// The names and values of a query or a form (`application/x-www-form-urlencoded`), in their order.
struct FormFields: Sendable {
    let items: [(name: String, value: String)]

    init(_ items: [(name: String, value: String)]) { self.items = items }

    init(_ text: String = "") {
        items = text.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        text.replacing("+", with: " ").removingPercentEncoding ?? String(text)
    }

    /// The first value of a name, without spaces around it; empty if there is none.
    subscript(name: String) -> String { self[text: name].trimmingCharacters(in: .whitespacesAndNewlines) }

    /// The first value of a name as it is; empty if there is none.
    subscript(text name: String) -> String { items.first { $0.name == name }?.value ?? "" }

    func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    func contains(_ name: String) -> Bool { items.contains { $0.name == name } }
}

extension FormFields {
    /// Returns the address of a page with these parameters, and another value for one of them.
    func address(_ path: String, replacing name: String, with value: String) -> String {
        let kept = items.filter { $0.name != name && !$0.value.isEmpty } + [(name: name, value: value)]
        return "\(path)?" + kept.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        String(decoding: PercentEncoding.encode(text.utf8), as: UTF8.self)
    }
}

/// A short text for what a page has shown. A form sends it back, so that its action can refuse what was changed since.
enum Fingerprint {
    static func text(of text: String) -> String { Hex.text(of: SHA256.hash(data: Data(text.utf8))) }

    static func text(of jobs: [ReplayJob.ID]) -> String { text(of: jobs.map(String.init).joined(separator: ",")) }
}
#endif
