extension WireRequest {
    /// The URL for people: without user info, items sorted by name, secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String { rules.adding(self).printable(url, items) }
}

extension KeyRules {
    /// The same of a URL as it is sent.
    func printable(_ url: String) -> String {
        guard let url = try? RequestURL(parsing: url) else { return RequestURL.masked(Array(url.utf8)) }
        return printable(url)
    }

    func printable(_ url: RequestURL) -> String { printable(url, url.queryItems()) }

    fileprivate func printable(_ url: RequestURL, _ items: QueryItems) -> String {
        var shown = QueryItems()
        for item in items.sorted {
            let isSecret = item.hasValue && isSecret(parameter: item.name.span)
            shown.append { $0 += isSecret ? item.name + "=•••".utf8 : item.text }
        }
        return RequestURL.text(url, shown)
    }
}
