#if Macros
package import SwiftSyntax
import SwiftSyntaxBuilder
package import SwiftSyntaxMacros

/// The expansion of `@Modeled`: the override of `visit(_:)`, a check of the isolation, and an attribute for each
/// property that generates its members.
package protocol ModeledExpansion: MemberMacro, MemberAttributeMacro {}

extension ModeledExpansion {
    package static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let problems = ModelClass.problems(of: declaration, attribute: node, in: context.lexicalContext)
        for problem in problems { context.diagnose(problem) }
        guard problems.isEmpty, let model = ModelClass(declaration) else { return [] }
        for problem in model.propertyProblems { context.diagnose(problem) }
        return model.properties.isEmpty ? [] : [model.visit] + model.isolationCheck
    }

    package static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard ModelClass.problems(of: declaration, attribute: node, in: context.lexicalContext).isEmpty,
            let model = ModelClass(declaration), let property = ModelProperty(member),
            property.problems(in: model).isEmpty
        else { return [] }
        return property.isCollection ? ["@ModeledCollection"] : ["@ModeledProperty"]
    }
}
#endif
