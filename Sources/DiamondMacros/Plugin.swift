#if Macros
import DiamondExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The program that expands the macros for the compiler.
@main struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ModeledMacro.self, ModeledPropertyMacro.self, ModeledCollectionMacro.self, MarkerMacro.self,
    ]
}

// The compiler looks for these in this module.

enum ModeledMacro: ModeledExpansion {}
enum ModeledPropertyMacro: PropertyExpansion {}
enum ModeledCollectionMacro: CollectionExpansion {}
enum MarkerMacro: MarkerExpansion {}
#else
/// A macro target is a program, also without the trait.
@main struct Plugin {
    static func main() {}
}
#endif
