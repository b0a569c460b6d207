extension JSONValue {
    /// Whether the name of a member, at any depth, says that its value is a credential.
    var hasSecretMember: Bool {
        switch self {
        case .array(let values): values.contains(where: \.hasSecretMember)
        case .object(let members): members.contains { KeyRules.isSecret($0.key) || $0.value.hasSecretMember }
        default: false
        }
    }
}
