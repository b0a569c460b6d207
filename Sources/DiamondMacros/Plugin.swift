#if Macros
import DiamondExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plugin that expands the macros.
@main struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ModeledMacro.self, ModeledPropertyMacro.self, ModeledCollectionMacro.self, MarkerMacro.self,
    ]
}

// The compiler finds the macros by the names of these types in this module.

enum ModeledMacro: ModeledExpansion {}
enum ModeledPropertyMacro: PropertyExpansion {}
enum ModeledCollectionMacro: CollectionExpansion {}
enum MarkerMacro: MarkerExpansion {}
#else
/// The empty plugin without the trait `Macros`, because a macro target needs a `main`.
@main struct Plugin {
    static func main() {}
}
#endif
