extension JSONValue {
    /// Whether a member at any depth has the name of a credential.
    package func hasSecretMember(_ rules: KeyRules) -> Bool {
        switch self {
        case .array(let values): values.contains { $0.hasSecretMember(rules) }
        case .object(let members): members.contains { rules.isSecret($0.key) || $0.value.hasSecretMember(rules) }
        // The members of an object that is kept as text are unknown.
        case .fragment(let part): part.fault != nil
        default: false
        }
    }

    /// Returns the value without ignored members at the top level, and without members at any depth that are listed as
    /// secrets.
    package func removing(_ rules: IdentityRules) -> JSONValue {
        var value = self
        if !rules.ignoring.isEmpty, case .object(let members) = self {
            value = .object(members.filter { !rules.isIgnored($0.key) })
        }
        return rules.secrets.isEmpty ? value : value.removingSecrets(rules)
    }

    private func removingSecrets(_ rules: IdentityRules) -> JSONValue {
        switch self {
        case .array(let values): .array(values.map { $0.removingSecrets(rules) })
        case .object(let members):
            .object(members.filter { !rules.isSecret($0.key) }.mapValues { $0.removingSecrets(rules) })
        default: self
        }
    }
}
