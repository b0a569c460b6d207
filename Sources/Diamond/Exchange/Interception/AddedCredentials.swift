import HTTPTypes

/// The credentials that interceptors have added to a request.
struct AddedCredentials {
    private let headers: Set<HTTPField.Name>
    /// Whether credentials were added to the URL: items of the query, or the part before `@`.
    private let isInURL: Bool
    /// Whether the body was changed, and so may contain a credential. A streamed body counts as unchanged.
    private let isBodyChanged: Bool
    /// Whether a credential of the request was removed.
    let hasRemoved: Bool

    /// - Parameters:
    ///   - adapted: the request after it was adapted.
    ///   - outgoing: the request before.
    init(_ adapted: TransportRequest, from outgoing: TransportRequest, rules: KeyRules) {
        headers = Set(adapted.headers.map(\.name)).filter { name in
            rules.isCredential(name) && !adapted.headers[values: name].isExactly(outgoing.headers[values: name])
        }
        isInURL =
            !adapted.url.isExactly(outgoing.url)
            && !Self.withoutSecrets(adapted.url, from: outgoing.url, rules: rules).isExactly(adapted.url)
        isBodyChanged = !Self.isSame(adapted.body, outgoing.body)
        let hasRemovedField = outgoing.headers.contains {
            rules.isCredential($0.name) && !adapted.headers.contains($0.name)
        }
        hasRemoved =
            hasRemovedField
            || !adapted.url.isExactly(outgoing.url)
                && Self.hasRemovedItem(adapted.url, from: outgoing.url, rules: rules)
    }

    private static func hasRemovedItem(_ url: String, from before: String, rules: KeyRules) -> Bool {
        guard let url = try? RequestURL(parsing: url) else { return false }
        let names = Set(url.queryItems().items.map(\.name))
        let old = (try? RequestURL(parsing: before))?.queryItems().items ?? []
        return old.contains { rules.isSecret($0) && !names.contains($0.name) }
    }

    var isEmpty: Bool { headers.isEmpty && !isInURL && !isBodyChanged }

    /// Removes the added credentials from a request, and restores those that they have replaced.
    ///
    /// - Parameter outgoing: the request before it was adapted.
    func remove(from adapted: inout TransportRequest, restoring outgoing: TransportRequest, rules: KeyRules) {
        for name in headers { adapted.headers[name] = outgoing.headers[name] }
        if isInURL { adapted.url = Self.withoutSecrets(adapted.url, from: outgoing.url, rules: rules) }
        // Streamed bodies cannot be compared.
        guard isBodyChanged || Self.isStreamed(outgoing.body) else { return }
        adapted.body = outgoing.body
        for name in Set(adapted.headers.map(\.name) + outgoing.headers.map(\.name)) where name.isOfBody {
            adapted.headers[name] = outgoing.headers[name]
        }
    }

    /// Returns a URL without the secrets that were added to it.
    ///
    /// - Returns: the same URL if there are none; the URL before if the new one cannot be parsed.
    private static func withoutSecrets(_ text: String, from before: String, rules: KeyRules) -> String {
        guard let url = try? RequestURL(parsing: text) else { return before }
        let old = (try? RequestURL(parsing: before))?.queryItems().items ?? []
        let known = Set(old)
        let all = url.queryItems().items
        let remaining = all.filter { known.contains($0) || !rules.isSecret($0) }
        guard remaining.count < all.count || url.userInfo != nil else { return text }
        // The secrets that the request had before, for example from a redirect, and that the added ones have replaced.
        let replaced = old.filter { rules.isSecret($0) && !remaining.contains($0) }
        var items = QueryItems()
        for item in remaining + replaced { items.append { $0 += item.text } }
        return RequestURL.text(of: url, query: items)
    }

    private static func isStreamed(_ body: TransportBody) -> Bool { if case .stream = body { true } else { false } }

    private static func isSame(_ one: TransportBody, _ other: TransportBody) -> Bool {
        switch (one, other) {
        case (.none, .none), (.stream, .stream): true
        case (.bytes(let one), .bytes(let other)): one == other
        default: false
        }
    }
}
