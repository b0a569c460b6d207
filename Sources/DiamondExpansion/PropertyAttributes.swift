#if Macros
import SwiftSyntax

/// The attributes of a property: `@Key`, `@Rule`, `@Server`, `@Transient` and `@Nullable`.
struct PropertyAttributes {
    let isServer: Bool
    let isTransient: Bool
    let isNullable: Bool
    private var key: String?
    private var alternatives: [String] = []
    private var codec: String?
    private var rules: [String] = []
    private var policy: String?

    init(_ attributes: AttributeListSyntax) {
        isServer = !attributes.named("Server").isEmpty
        isTransient = !attributes.named("Transient").isEmpty
        isNullable = !attributes.named("Nullable").isEmpty
        for attribute in attributes.named("Key") { readKey(attribute.labeledArguments) }
        for attribute in attributes.named("Rule") { readRules(attribute.labeledArguments) }
    }

    private mutating func readKey(_ arguments: [LabeledExprSyntax]) {
        var isAlternative = false
        for argument in arguments {
            let text = argument.expression.trimmedDescription
            if argument.label?.text == "codec" { codec = text; continue }
            if argument.label?.text == "or" { isAlternative = true }
            if isAlternative { alternatives.append(text) } else { key = text }
        }
    }

    private mutating func readRules(_ arguments: [LabeledExprSyntax]) {
        for argument in arguments {
            let text = argument.expression.trimmedDescription
            if argument.label?.text == "policy" { policy = text } else { rules.append(text) }
        }
    }

    /// Returns the arguments for the initializer of `Property`, in their order.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - name: The property's name. It is the key unless an attribute gives another.
    func arguments(keyPath: String, name: String) -> [String] {
        var arguments = [isNullable ? "nullable: \(keyPath)" : keyPath, key ?? "\"\(name)\""]
        if !alternatives.isEmpty { arguments.append("or: \(alternatives.joined(separator: ", "))") }
        if let codec { arguments.append("codec: \(codec)") }
        if isServer { arguments.append("access: .server") }
        if isTransient { arguments.append("access: .transient") }
        if !rules.isEmpty { arguments.append("rules: [\(rules.joined(separator: ", "))]") }
        if let policy { arguments.append("policy: \(policy)") }
        return arguments
    }
}

extension AttributeSyntax {
    fileprivate var labeledArguments: [LabeledExprSyntax] {
        guard case .argumentList(let list)? = arguments else { return [] }
        return Array(list)
    }
}
#endif
