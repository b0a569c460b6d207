#if Macros
import SwiftDiagnostics
package import SwiftSyntax
package import SwiftSyntaxMacros

/// The empty expansion of `@Key`, `@Rule`, `@Server`, `@Transient` and `@Nullable`. `@Modeled` reads these attributes.
package protocol MarkerExpansion: PeerMacro {}

extension MarkerExpansion {
    package static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if let problem = problem(of: node, on: declaration, in: context.lexicalContext) {
            context.diagnose(Diagnostic(node: node, message: problem))
        }
        return []
    }

    private static func problem(
        of node: AttributeSyntax, on declaration: some DeclSyntaxProtocol, in context: [Syntax]
    ) -> Problem? {
        let name = node.attributeName.trimmedDescription
        let modeled = context.first?.as(ClassDeclSyntax.self)?.attributes.named("Modeled") ?? []
        if modeled.isEmpty { return .unreadMarker(name) }
        return ModelProperty(declaration) == nil ? .uselessMarker(name) : nil
    }
}
#endif
