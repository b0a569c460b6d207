package import HTTPTypes

/// The names that mark secrets, for code that stores or shows messages.
package enum SecretNames {
    private static let rules = KeyRules()

    /// Whether a member of a JSON object is a credential by its name.
    package static func contains(member name: String) -> Bool { rules.isSecret(name) }

    /// Whether an item of a form or a query is secret.
    ///
    /// - Parameter item: the percent-encoded name and value.
    package static func contains(item: some StringProtocol) -> Bool {
        rules.isSecret(QueryItem(text: Array(item.utf8)[...]))
    }

    /// Returns an absolute or relative URL in normal form, with its secret parameters masked.
    package static func masked(_ url: String) -> String {
        (try? WireRequest(Request(url)))?.printableURL(rules) ?? RequestURL.masked(Array(url.utf8))
    }

    /// Returns the value of a response field for display, with credentials and the secrets of URLs masked.
    package static func masked(_ field: HTTPField) -> String { FieldSecrets().masked(field) }

    /// Returns a text for display, with the secrets of its URLs masked.
    package static func masked(urlsIn text: String) -> String { FieldSecrets().masked(urlsIn: text) }
}
