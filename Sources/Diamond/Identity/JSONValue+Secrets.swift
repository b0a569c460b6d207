extension JSONValue {
    /// Whether the name of a member, at any depth, says that its value is a credential.
    func hasSecretMember(_ rules: KeyRules) -> Bool {
        switch self {
        case .array(let values): values.contains { $0.hasSecretMember(rules) }
        case .object(let members): members.contains { rules.isSecret($0.key) || $0.value.hasSecretMember(rules) }
        default: false
        }
    }

    /// Without the members at the top that do not count.
    func removing(_ rules: IdentityRules) -> JSONValue {
        guard !rules.ignoring.isEmpty, case .object(let members) = self else { return self }
        return .object(members.filter { !rules.isIgnored($0.key) })
    }
}
