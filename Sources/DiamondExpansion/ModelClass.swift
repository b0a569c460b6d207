#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder

/// A class marked `@Modeled`.
struct ModelClass {
    let declaration: ClassDeclSyntax

    init?(_ declaration: some DeclGroupSyntax) {
        guard let declaration = declaration.as(ClassDeclSyntax.self) else { return nil }
        self.declaration = declaration
    }

    /// Creates the class that contains a property.
    init?(_ context: [Syntax]) {
        guard let declaration = context.first?.as(ClassDeclSyntax.self) else { return nil }
        self.declaration = declaration
    }

    var name: String { declaration.name.text }

    /// The name of the type with the constants, for accessors. In a class that is not final, `Self` could be a subclass
    /// with constants of the same names.
    var constants: String { declaration.modifiers.has(.final) ? "Self" : name }

    /// The names of the types that are known to be models from the syntax.
    var modelNames: Set<String> {
        let superclass = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription
        return Set(["Model", name, superclass ?? "Model"])
    }

    /// The properties that can be declared.
    var properties: [ModelProperty] { candidates.filter { $0.problems(in: self).isEmpty } }

    /// All stored and tracked members.
    var candidates: [ModelProperty] { declaration.memberBlock.members.compactMap { ModelProperty($0.decl) } }

    /// The override of `visit(_:)`.
    var visit: DeclSyntax {
        let lines = ["super.visit(visitor)"] + properties.map { $0.visit(in: self) }
        return """
            \(raw: visitAccess)override func visit(_ visitor: PropertyVisitor) {
                \(raw: lines.joined(separator: "\n    "))
            }
            """
    }

    /// Code that does not compile in a class that is isolated to an actor, as by default in some projects. The macro
    /// cannot see that, and the compiler's other errors do not name the remedy.
    var isolationCheck: [DeclSyntax] {
        [
            "private static func declareThisClassNonisolated() {}",
            "private nonisolated static func checkIsolation() { declareThisClassNonisolated() }",
        ]
    }

    /// The access level of an override: that of the class if it is above `internal`.
    private var visitAccess: String {
        let levels: [Keyword] = [.open, .public, .package]
        guard let level = levels.first(where: declaration.modifiers.has) else { return "" }
        return "\(TokenSyntax.keyword(level).text) "
    }
}

extension DeclModifierListSyntax {
    /// Returns whether the list contains a modifier without a detail such as `(set)`.
    func has(_ keyword: Keyword) -> Bool { contains { $0.name.tokenKind == .keyword(keyword) && $0.detail == nil } }
}

extension AttributeListSyntax {
    /// Returns the attributes with a name, with or without a module prefix.
    func named(_ name: String) -> [AttributeSyntax] {
        compactMap { $0.as(AttributeSyntax.self) }.filter { attribute in
            let written = attribute.attributeName.trimmedDescription
            return written == name || written == "DiamondModel.\(name)"
        }
    }
}
#endif
