#if Macros
import SwiftDiagnostics
import SwiftSyntax

extension ModelProperty {
    /// The first problem that keeps the member from being a property of a model; empty if there is none.
    func problems(in model: ModelClass) -> [Diagnostic] {
        [formProblem, typeProblem(in: model), letProblem, defaultProblem, inferenceProblem].lazy.compactMap { $0 }
            .prefix(1).map { $0 }
    }

    /// The problem of the declaration's form.
    private var formProblem: Diagnostic? {
        if declaration.bindings.count > 1 { return complain(.several, at: declaration.bindings, .split(declaration)) }
        if !binding.pattern.is(IdentifierPatternSyntax.self) { return complain(.pattern, at: binding.pattern) }
        if let block = binding.accessorBlock {
            return complain(.observers(plainName), at: block, .removeAccessors(of: binding))
        }
        guard attributes.isTransient, attributes.isServer else { return nil }
        return complain(.transientServer, at: declaration.attributes)
    }

    /// The problem of a `let` with a value, or of a `var` with a collection.
    private var letProblem: Diagnostic? {
        let keyword = declaration.bindingSpecifier
        let isLet = keyword.tokenKind == .keyword(.let)
        if isLet == isCollection { return nil }
        return isLet
            ? complain(.constant(plainName), at: keyword, .replace(keyword, by: .var))
            : complain(.variableCollection, at: keyword, .replace(keyword, by: .let))
    }

    /// The problem of a type whose changes cannot be observed, or that needs an attribute.
    private func typeProblem(in model: ModelClass) -> Diagnostic? {
        if let typeName, Self.isMutableObject(typeName) { return complain(.mutableObject(typeName), at: binding) }
        if let element = elementName, model.modelNames.contains(element) {
            return complain(.modelArray(element), at: binding, .makeCollection(self, of: element))
        }
        if typeName == model.name, !isCollection { return complain(.recursive(plainName, of: model.name), at: binding) }
        guard let optional = binding.typeAnnotation?.type, let wrapped = optional.wrapped, !attributes.isNullable
        else { return nil }
        let fixes = [FixIt.markNullable(declaration), .unwrap(binding, to: wrapped)].compactMap { $0 }
        return Diagnostic(node: optional, message: Problem.optional(plainName), fixIts: fixes)
    }

    private var defaultProblem: Diagnostic? {
        if initial != nil || type?.wrapped != nil { return nil }
        return complain(.noDefault(plainName), at: binding, .giveDefault(binding, of: type))
    }

    /// The problem of an initial value that does not name its type.
    private var inferenceProblem: Diagnostic? {
        if valueType != nil { return nil }
        return complain(.noType(plainName), at: binding, .writeType(of: binding))
    }

    private func complain(_ problem: Problem, at node: some SyntaxProtocol, _ fix: FixIt? = nil) -> Diagnostic {
        Diagnostic(node: node, message: problem, fixIts: fix.map { [$0] } ?? [])
    }

    /// The name of an array's element type.
    private var elementName: String? {
        if let type { return type.elementName }
        let called = initial?.as(FunctionCallExprSyntax.self)?.calledExpression
        return called?.as(ArrayExprSyntax.self)?.elements.first?.expression.baseName
    }

    /// Returns whether a name is that of a mutable Foundation class.
    private static func isMutableObject(_ name: String) -> Bool {
        let others: Set<String> = ["NSCache", "NSCountedSet", "NSHashTable", "NSMapTable", "NSPointerArray"]
        return name.hasPrefix("NSMutable") || others.contains(name)
    }
}
#endif
