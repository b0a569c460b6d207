extension WireRequest {
    /// The URL for people: without user info, items sorted by name, secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String {
        let rules = rules.adding(self)
        var shown = QueryItems()
        for item in items.sorted {
            let isSecret = item.hasValue && rules.isSecret(parameter: item.name.span)
            shown.append { $0 += isSecret ? item.name + "=•••".utf8 : item.text }
        }
        return RequestURL.text(url, shown)
    }
}
