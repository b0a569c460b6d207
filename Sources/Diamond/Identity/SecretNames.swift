package import HTTPTypes

/// The names that mark a secret, for code that keeps or shows messages.
package enum SecretNames {
    private static let rules = KeyRules()

    /// - Parameter header: in any case.
    package static func contains(header name: String) -> Bool { rules.isCredential(name.lowercased()) }

    /// A member of a JSON object.
    package static func contains(member name: String) -> Bool { rules.isSecret(name) }

    /// An item of a form or a query.
    ///
    /// - Parameter item: its name and value, percent-encoded.
    package static func contains(item: some StringProtocol) -> Bool {
        rules.isSecret(QueryItem(text: Array(item.utf8)[...]))
    }

    /// A URL in normal form, its secret parameters masked, and so is a relative one.
    package static func masked(_ url: String) -> String {
        (try? WireRequest(Request(url)))?.printableURL(rules) ?? RequestURL.masked(Array(url.utf8))
    }

    /// A field of a response for people: what is a credential masked, and what is secret in URLs.
    package static func masked(_ field: HTTPField) -> String { FieldSecrets().masked(field) }

    /// A text for people: what is secret in the URLs in it masked.
    package static func masked(urlsIn text: String) -> String { FieldSecrets().masked(urlsIn: text) }
}
