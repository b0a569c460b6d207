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

    /// The members after `visit(_:)`, at the end of a class.
    private static let isolationCheck = """

            private static func declareThisClassNonisolated() {
            }

            private nonisolated static func checkIsolation() {
                declareThisClassNonisolated()
            }
        }
        """

    /// Expects code to become other code, and problems to be told. The check of the isolation is added to a class with
    /// `visit(_:)`.
    static func expect(
        _ source: String, toBecome expanded: String, problems: [DiagnosticSpec] = [], solution: String? = nil,
        fixed: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let isComplete = !expanded.contains("func visit(")
        let expanded = isComplete ? expanded : expanded.dropLast() + isolationCheck
        assertMacroExpansion(
            source, expandedSource: expanded, diagnostics: problems, macroSpecs: macros,
            applyFixIts: solution.map { [$0] }, fixedSource: fixed,
            failureHandler: { Issue.record("\($0.message)", sourceLocation: sourceLocation) })
    }
}
#endif
