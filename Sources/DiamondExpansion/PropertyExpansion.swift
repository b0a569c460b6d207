#if Macros
package import SwiftSyntax
package import SwiftSyntaxMacros

/// The expansion of `@ModeledCollection`: a collection's constant.
package protocol CollectionExpansion: PeerMacro {}

/// The expansion of `@ModeledProperty`: a property's constant, storage and accessors.
package protocol PropertyExpansion: CollectionExpansion, AccessorMacro {}

extension CollectionExpansion {
    package static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let model = ModelClass(context.lexicalContext), let property = ModelProperty(declaration)
        else { return [] }
        return [property.constant(in: model)] + (property.isCollection ? [] : [property.storage])
    }
}

extension PropertyExpansion {
    package static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let model = ModelClass(context.lexicalContext) else { return [] }
        return ModelProperty(declaration)?.accessors(in: model) ?? []
    }
}
#endif
