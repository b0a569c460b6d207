extension WireRequest {
    /// The URL for people: without user info, items sorted by name, secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String { rules.adding(self).printable(url, items) }

    /// The same without what is ignored, as ``CacheEntry/url`` is: whatever stands there is one entry.
    func entryURL(_ rules: KeyRules) -> String { rules.adding(self).entryURL(url, items) }
}

extension KeyRules {
    /// The same of a URL as it is sent.
    func printable(_ url: String) -> String {
        guard let url = try? RequestURL(parsing: url) else { return RequestURL.masked(Array(url.utf8)) }
        return printable(url, url.queryItems())
    }

    func entryURL(_ url: RequestURL) -> String { entryURL(url, url.queryItems()) }

    fileprivate func entryURL(_ url: RequestURL, _ items: QueryItems) -> String {
        printable(url, items) { isIgnored(parameter: $0) }
    }

    fileprivate func printable(
        _ url: RequestURL,
        _ items: QueryItems,
        omitting isOmitted: (Span<UInt8>) -> Bool = { _ in false }
    ) -> String {
        var shown = QueryItems()
        for item in items.sorted where !isOmitted(item.name.span) {
            let isSecret = item.hasValue && isSecret(parameter: item.name.span)
            shown.append { $0 += isSecret ? item.name + "=•••".utf8 : item.text }
        }
        return RequestURL.text(url, shown)
    }
}
