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

    /// The class around a property.
    init?(_ context: [Syntax]) {
        guard let declaration = context.first?.as(ClassDeclSyntax.self) else { return nil }
        self.declaration = declaration
    }

    var name: String { declaration.name.text }

    /// The type that holds the constants, as an accessor names it. A subclass's `Self` may have others of the same name.
    var constants: String { declaration.modifiers.has(.final) ? "Self" : name }

    /// The names of the classes that the syntax shows to be models.
    var modelNames: Set<String> {
        let superclass = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription
        return Set(["Model", name, superclass ?? "Model"])
    }

    /// The properties that can be declared.
    var properties: [ModelProperty] { candidates.filter { $0.problems(in: self).isEmpty } }

    /// All members that are stored and tracked.
    var candidates: [ModelProperty] { declaration.memberBlock.members.compactMap { ModelProperty($0.decl) } }

    /// The override that shows the properties to a visitor.
    var visit: DeclSyntax {
        let lines = ["super.visit(visitor)"] + properties.map { $0.visit(in: self) }
        return """
            \(raw: visitAccess)override func visit(_ visitor: PropertyVisitor) {
                \(raw: lines.joined(separator: "\n    "))
            }
            """
    }

    /// The access of an override: that of the class, as far as it is above internal.
    private var visitAccess: String {
        let levels: [Keyword] = [.open, .public, .package]
        guard let level = levels.first(where: declaration.modifiers.has) else { return "" }
        return "\(TokenSyntax.keyword(level).text) "
    }
}

extension DeclModifierListSyntax {
    /// Whether a modifier without a detail, such as `(set)`, is among these.
    func has(_ keyword: Keyword) -> Bool { contains { $0.name.tokenKind == .keyword(keyword) && $0.detail == nil } }
}

extension AttributeListSyntax {
    /// The attributes of a name, with or without a module before it.
    func named(_ name: String) -> [AttributeSyntax] {
        compactMap { $0.as(AttributeSyntax.self) }.filter { attribute in
            let written = attribute.attributeName.trimmedDescription
            return written == name || written == "DiamondModel.\(name)"
        }
    }
}
#endif
