extension WireRequest {
    /// The URL for people: without user info, items sorted by name, secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String { rules.adding(self).printable(url, items) }

    /// Returns the URL for people without the parameters that the engine ignores, as ``CacheEntry/url`` is: URLs that
    /// differ only in those are one entry. The parameters that the request itself ignores stay, because another request
    /// that changes the resource need not ignore them.
    ///
    /// - Parameter rules: the engine's.
    func entryURL(_ rules: KeyRules) -> String { entryURL(url, items, rules) }

    /// Returns the entry URL of another URL, which an answer to this request names.
    func entryURL(of url: RequestURL, _ rules: KeyRules) -> String { entryURL(url, url.queryItems(), rules) }

    /// Whether the key leaves out something of that: then what is stored may be found by other URLs of the same path.
    ///
    /// - Parameter rules: the engine's.
    func isFoundByOthers(_ rules: KeyRules) -> Bool {
        guard !self.rules.isEmpty || identity != nil && !rules.own.secrets.isEmpty else { return false }
        // Those who ask with what it would leave out find it, too.
        if !self.rules.ignoring.isEmpty { return true }
        let all = rules.adding(self)
        return items.items.contains { item in
            // Nor do others mask what is a secret by this request's word alone.
            if all.isSecret(item), !rules.isSecret(item) { return true }
            if rules.isIgnored(parameter: item.name.span) { return false }
            let isReplaced = identity != nil && item.hasValue && all.isReplaced(parameter: item.name.span)
            return isReplaced || all.isIgnored(parameter: item.name.span)
        }
    }

    private func entryURL(_ url: RequestURL, _ items: QueryItems, _ rules: KeyRules) -> String {
        rules.adding(self).printable(url, items) { rules.isIgnored(parameter: $0) }
    }
}

extension KeyRules {
    /// Returns the URL for people of a URL as it is sent.
    func printable(_ url: String) -> String {
        guard let url = try? RequestURL(parsing: url) else { return RequestURL.masked(Array(url.utf8)) }
        return printable(url, url.queryItems())
    }

    fileprivate func printable(
        _ url: RequestURL,
        _ items: QueryItems,
        omitting isOmitted: (Span<UInt8>) -> Bool = { _ in false }
    ) -> String {
        var shown = QueryItems()
        for item in items.sorted where !isOmitted(item.name.span) {
            shown.append { $0 += isSecret(item) ? item.name + "=•••".utf8 : item.text }
        }
        return RequestURL.text(url, shown)
    }
}
