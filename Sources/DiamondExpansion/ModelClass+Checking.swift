#if Macros
import SwiftDiagnostics
import SwiftSyntax

extension ModelClass {
    /// The problems that keep a declaration from being a model class.
    static func problems(
        of declaration: some DeclGroupSyntax, attribute: AttributeSyntax, in context: [Syntax]
    ) -> [Diagnostic] {
        guard let model = ModelClass(declaration) else {
            let fix = FixIt.keyword(of: declaration)
            return [Diagnostic(node: attribute, message: Problem.noClass, fixIts: fix)]
        }
        if model.isGeneric(in: context) { return [Diagnostic(node: model.declaration.name, message: Problem.generic)] }
        if model.declaration.inheritanceClause != nil { return [] }
        let problem = Problem.noSuperclass(model.name)
        return [Diagnostic(node: model.declaration.name, message: problem, fixIts: [.inherit(model.declaration)])]
    }

    /// The problems that keep members from being properties.
    var propertyProblems: [Diagnostic] {
        candidates.flatMap { $0.problems(in: self) }
            + conditional.map { Diagnostic(node: $0, message: Problem.conditional) }
    }

    private func isGeneric(in context: [Syntax]) -> Bool {
        if declaration.genericParameterClause != nil { return true }
        return context.contains { $0.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil }
    }

    /// The properties inside `#if`, which are not supported.
    private var conditional: [DeclSyntax] {
        declaration.memberBlock.members.compactMap { $0.decl.as(IfConfigDeclSyntax.self) }.flatMap(\.members)
            .filter { ModelProperty($0) != nil }
    }
}

extension IfConfigDeclSyntax {
    /// The members of all branches of an `#if`.
    fileprivate var members: [DeclSyntax] {
        clauses.flatMap { clause -> [DeclSyntax] in
            guard case .decls(let items)? = clause.elements else { return [] }
            return items.flatMap { $0.decl.as(IfConfigDeclSyntax.self)?.members ?? [$0.decl] }
        }
    }
}
#endif
