extension WireRequest {
    /// The URL for people: without user info, items sorted by name, secret parameters masked.
    func printableURL(_ rules: KeyRules) -> String {
        let rules = rules.adding(self)
        let items = (url.queryItems + parameterItems).map { item in
            guard item.value != nil, rules.isSecret(parameter: item.name) else { return item }
            return QueryItem(name: item.name, value: Array("•••".utf8))
        }
        return RequestURL.text(url, items.stablySorted)
    }
}
