#if Macros
public import SwiftSyntax
public import SwiftSyntaxMacros

/// The expansion of `@ModeledProperty`: a property's constant, storage and accessors.
public protocol PropertyExpansion: AccessorMacro, PeerMacro {}

extension PropertyExpansion {
    public static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let model = ModelClass(context.lexicalContext), let property = ModelProperty(declaration)
        else { return [] }
        return property.accessors(in: model)
    }

    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let model = ModelClass(context.lexicalContext), let property = ModelProperty(declaration)
        else { return [] }
        return [property.constant(in: model), property.storage]
    }
}

/// The expansion of `@ModeledCollection`: a collection's constant.
public protocol CollectionExpansion: PeerMacro {}

extension CollectionExpansion {
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let model = ModelClass(context.lexicalContext), let property = ModelProperty(declaration)
        else { return [] }
        return [property.constant(in: model)]
    }
}
#endif
