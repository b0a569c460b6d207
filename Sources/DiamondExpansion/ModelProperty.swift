#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder

/// A stored member of a class marked `@Modeled`.
struct ModelProperty {
    let declaration: VariableDeclSyntax
    let binding: PatternBindingSyntax
    let attributes: PropertyAttributes

    /// Creates the property of a declaration; `nil` for a computed, static, lazy or weak member, which is not tracked.
    init?(_ declaration: some DeclSyntaxProtocol) {
        guard let declaration = declaration.as(VariableDeclSyntax.self), let binding = declaration.bindings.first,
            !binding.isComputed, !Self.untracked.contains(where: declaration.modifiers.hasAny)
        else { return nil }
        self.declaration = declaration
        self.binding = binding
        attributes = PropertyAttributes(declaration.attributes)
    }

    private static let untracked: [Keyword] = [.static, .class, .lazy, .weak, .unowned]

    /// The name as written in the source, with its backticks.
    var name: String { binding.pattern.trimmedDescription }
    /// The name without backticks.
    var plainName: String { name.filter { $0 != "`" } }
    var type: TypeSyntax? { binding.typeAnnotation?.type.trimmed }
    var initial: ExprSyntax? { binding.initializer?.value.trimmed }

    /// Whether the declaration names `ModelCollection`.
    var isCollection: Bool { typeName == "ModelCollection" }

    /// The name of the declared type, or of the type whose initializer is called, without generic arguments.
    var typeName: String? {
        if let type { return type.baseName }
        return initial?.as(FunctionCallExprSyntax.self)?.calledExpression.baseName
    }
}

// MARK: Generated code

extension ModelProperty {
    /// The declaration: `static let name: Property<City, String> = Property(\City.name, "name")`.
    func constant(in model: ModelClass) -> DeclSyntax {
        let arguments = attributes.arguments(keyPath: "\\\(model.name).\(name)", name: plainName)
        let type = valueType.map { ": Property<\(model.name), \($0)>" } ?? ""
        return """
            \(raw: access)static let \(raw: name)\(raw: type) = Property(\(raw: arguments.joined(separator: ", ")))
            """
    }

    /// The storage with the default: `private var _name = ""`.
    var storage: DeclSyntax {
        let type = type.map { ": \($0)" } ?? ""
        let initial = initial.map { " = \($0)" } ?? ""
        return "private var \(raw: stored)\(raw: type)\(raw: initial)"
    }

    /// The getter, and the setter unless only the server sets the property.
    func accessors(in model: ModelClass) -> [AccessorDeclSyntax] {
        let constant = "\(model.constants).\(name)"
        let getter: AccessorDeclSyntax = "get { read(\(raw: constant), from: \(raw: stored)) }"
        guard !attributes.isServer else { return [getter] }
        return [
            getter,
            """
            set { write(\(raw: constant), from: \(raw: stored), to: newValue) { \(raw: stored) = $0 } }
            """,
        ]
    }

    /// The property's line in `visit(_:)`.
    func visit(in model: ModelClass) -> String {
        let constant = "\(model.constants).\(name)"
        if isCollection { return "visitor.visit(\(constant), with: \(name))" }
        return "\(stored) = visitor.visit(\(constant), with: \(stored))"
    }

    private var stored: String { "_\(plainName)" }

    /// The access level of the constant, which is that of the property.
    private var access: String {
        let levels: [Keyword] = [.open, .public, .package, .fileprivate, .private]
        guard let level = levels.first(where: declaration.modifiers.has) else { return "" }
        return level == .open ? "public " : "\(TokenSyntax.keyword(level).text) "
    }
}

extension DeclModifierListSyntax {
    /// Returns whether the list contains a modifier, with or without a detail such as `(set)`.
    func hasAny(_ keyword: Keyword) -> Bool { contains { $0.name.tokenKind == .keyword(keyword) } }
}

extension PatternBindingSyntax {
    var isComputed: Bool { accessorBlock != nil && observers.isEmpty }

    /// The `willSet` and `didSet` observers.
    var observers: [AccessorDeclSyntax] {
        guard case .accessors(let accessors)? = accessorBlock?.accessors else { return [] }
        return accessors.filter { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
    }
}
#endif
