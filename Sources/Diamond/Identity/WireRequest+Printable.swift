extension WireRequest {
    /// Returns the URL for display: without user info, with items sorted by name and secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String { rules.adding(self).printable(url, items: items) }

    /// Returns the URL of a cache entry (``CacheEntry/url``): the URL for display without the parameters that the
    /// engine ignores. The parameters that only the request ignores remain, because another request that changes the
    /// resource need not ignore them.
    ///
    /// - Parameter rules: the engine's rules.
    func entryURL(_ rules: KeyRules) -> String { entryURL(of: url, items: items, rules: rules) }

    /// Returns the entry URL of another URL, named by a response to this request.
    func entryURL(of url: RequestURL, _ rules: KeyRules) -> String {
        entryURL(of: url, items: url.queryItems(), rules: rules)
    }

    /// Whether the key omits a part of the entry URL. Then requests with other URLs of the same path may find the
    /// stored response.
    ///
    /// - Parameter rules: the engine's rules.
    func isFoundByOthers(_ rules: KeyRules) -> Bool {
        guard !self.rules.isEmpty || replacesCredentials && !rules.own.secrets.isEmpty else { return false }
        // Requests with parameters that this one ignores find the response, too.
        if !self.rules.ignoring.isEmpty { return true }
        let all = rules.adding(self)
        return items.items.contains { item in
            // Other requests do not mask a parameter that is secret by this request's rules alone.
            if all.isSecret(item), !rules.isSecret(item) { return true }
            if rules.isIgnored(parameter: item.name.span) { return false }
            let isReplaced = replacesCredentials && item.hasValue && all.isReplaced(parameter: item.name.span)
            return isReplaced || all.isIgnored(parameter: item.name.span)
        }
    }

    private func entryURL(of url: RequestURL, items: QueryItems, rules: KeyRules) -> String {
        rules.adding(self).printable(url, items: items) { rules.isIgnored(parameter: $0) }
    }
}

extension KeyRules {
    /// Returns a sent URL in its form for display.
    func printable(_ url: String) -> String {
        guard let url = try? RequestURL(parsing: url) else { return RequestURL.masked(Array(url.utf8)) }
        return printable(url, items: url.queryItems())
    }

    fileprivate func printable(
        _ url: RequestURL,
        items: QueryItems,
        omitting isOmitted: (Span<UInt8>) -> Bool = { _ in false }
    ) -> String {
        var shown = QueryItems()
        for item in items.sorted where !isOmitted(item.name.span) {
            shown.append { $0 += isSecret(item) ? item.name + "=•••".utf8 : item.text }
        }
        return RequestURL.text(of: url, query: shown)
    }
}
