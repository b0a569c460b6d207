import HTTPTypes

/// The credentials that interceptors have added to a request.
struct AddedCredentials {
    private let headers: Set<HTTPField.Name>
    /// Whether credentials were added to the URL: items of the query, or the part before `@`.
    private let isInURL: Bool
    /// Whether the body was changed, and so may hold a credential. A body that is made piece by piece counts as
    /// unchanged.
    private let isBodyChanged: Bool
    /// Whether a credential of the request was removed.
    let hasLost: Bool

    /// - Parameters:
    ///   - adapted: as it is about to be sent.
    ///   - outgoing: the same before.
    init(_ adapted: TransportRequest, from outgoing: TransportRequest, _ rules: KeyRules) {
        headers = Set(adapted.headers.map(\.name)).filter { name in
            rules.isCredential(name) && !adapted.headers[values: name].isExactly(outgoing.headers[values: name])
        }
        isInURL =
            !adapted.url.isExactly(outgoing.url)
            && !Self.withoutSecrets(adapted.url, outgoing.url, rules).isExactly(adapted.url)
        isBodyChanged = !Self.isSame(adapted.body, outgoing.body)
        let hasLostField = outgoing.headers.contains {
            rules.isCredential($0.name) && !adapted.headers.contains($0.name)
        }
        hasLost =
            hasLostField || !adapted.url.isExactly(outgoing.url) && Self.hasLostItem(adapted.url, outgoing.url, rules)
    }

    private static func hasLostItem(_ url: String, _ before: String, _ rules: KeyRules) -> Bool {
        guard let url = try? RequestURL(parsing: url) else { return false }
        let names = Set(url.queryItems().items.map(\.name))
        let old = (try? RequestURL(parsing: before))?.queryItems().items ?? []
        return old.contains { rules.isSecret($0) && !names.contains($0.name) }
    }

    var isEmpty: Bool { headers.isEmpty && !isInURL && !isBodyChanged }

    /// - Parameter outgoing: the request before it was adapted.
    func takeBack(from adapted: inout TransportRequest, to outgoing: TransportRequest, _ rules: KeyRules) {
        for name in headers { adapted.headers[name] = outgoing.headers[name] }
        if isInURL { adapted.url = Self.withoutSecrets(adapted.url, outgoing.url, rules) }
        // Of one in pieces nobody can tell whether it is the same.
        guard isBodyChanged || Self.isInPieces(outgoing.body) else { return }
        adapted.body = outgoing.body
        for name in Set(adapted.headers.map(\.name) + outgoing.headers.map(\.name)) where name.isOfBody {
            adapted.headers[name] = outgoing.headers[name]
        }
    }

    /// - Returns: the same where there is none that was not there before, and what was there before where nobody can tell.
    private static func withoutSecrets(_ text: String, _ before: String, _ rules: KeyRules) -> String {
        guard let url = try? RequestURL(parsing: text) else { return before }
        let old = (try? RequestURL(parsing: before))?.queryItems().items ?? []
        let known = Set(old)
        let all = url.queryItems().items
        let kept = all.filter { known.contains($0) || !rules.isSecret($0) }
        guard kept.count < all.count || url.userInfo != nil else { return text }
        // What it had of its own, as a redirect gave it, another has taken the place of.
        let replaced = old.filter { rules.isSecret($0) && !kept.contains($0) }
        var items = QueryItems()
        for item in kept + replaced { items.append { $0 += item.text } }
        return RequestURL.text(of: url, query: items)
    }

    private static func isInPieces(_ body: TransportBody) -> Bool { if case .stream = body { true } else { false } }

    private static func isSame(_ one: TransportBody, _ other: TransportBody) -> Bool {
        switch (one, other) {
        case (.none, .none), (.stream, .stream): true
        case (.bytes(let one), .bytes(let other)): one == other
        default: false
        }
    }
}
