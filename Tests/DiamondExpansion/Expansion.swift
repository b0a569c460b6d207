#if Macros
import DiamondExpansion
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Expectations of what the macros make of code.
enum Expansion {
    private enum Modeled: ModeledExpansion {}
    private enum Property: PropertyExpansion {}
    private enum Collection: CollectionExpansion {}
    private enum Marker: MarkerExpansion {}

    private static let macros: [String: MacroSpec] = [
        "Modeled": MacroSpec(type: Modeled.self), "ModeledProperty": MacroSpec(type: Property.self),
        "ModeledCollection": MacroSpec(type: Collection.self), "Key": MacroSpec(type: Marker.self),
        "Rule": MacroSpec(type: Marker.self), "Server": MacroSpec(type: Marker.self),
        "Transient": MacroSpec(type: Marker.self), "Nullable": MacroSpec(type: Marker.self),
    ]

    /// Expects code to become other code, and problems to be told.
    static func expect(
        _ source: String, toBecome expanded: String, problems: [DiagnosticSpec] = [], solution: String? = nil,
        fixed: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        assertMacroExpansion(
            source, expandedSource: expanded, diagnostics: problems, macroSpecs: macros,
            applyFixIts: solution.map { [$0] }, fixedSource: fixed,
            failureHandler: { Issue.record("\($0.message)", sourceLocation: sourceLocation) })
    }
}
#endif
