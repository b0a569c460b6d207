#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

extension FixIt {
    private init(_ message: String, replace old: some SyntaxProtocol, by new: some SyntaxProtocol) {
        self.init(
            message: Solution(message: message), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }

    // MARK: Classes

    /// Changes a struct or an actor to a class.
    static func keyword(of declaration: some DeclGroupSyntax) -> [FixIt] {
        let keyword =
            declaration.as(StructDeclSyntax.self)?.structKeyword ?? declaration.as(ActorDeclSyntax.self)?.actorKeyword
        guard let keyword else { return [] }
        let new = keyword.with(\.tokenKind, .identifier("final class"))
        return [FixIt("make it a 'final class'", replace: keyword, by: new)]
    }

    static func inherit(_ declaration: ClassDeclSyntax) -> FixIt {
        let name = declaration.name
        return FixIt(
            "inherit from 'Model'", replace: name, by: name.with(\.tokenKind, .identifier("\(name.text): Model")))
    }

    // MARK: Properties

    /// Splits a declaration of several properties; `nil` if one of them has neither a type nor a default.
    static func split(_ declaration: VariableDeclSyntax) -> FixIt? {
        let bindings = declaration.bindings
        guard bindings.allSatisfy({ $0.typeAnnotation != nil || $0.initializer != nil }) else { return nil }
        let indentation = declaration.leadingTrivia.indentation
        let lines = bindings.enumerated().map { index, binding in
            let single = binding.trimmed.with(\.trailingComma, nil)
            let line = declaration.trimmed.with(\.bindings, [single])
            return index == 0 ? line.with(\.leadingTrivia, declaration.leadingTrivia) : line.onNewLine(indentation)
        }
        let items = lines.map { MemberBlockItemSyntax(decl: $0) }
        return FixIt("declare each by itself", replace: declaration, by: MemberBlockItemListSyntax(items))
    }

    static func removeAccessors(of binding: PatternBindingSyntax) -> FixIt {
        let value = binding.initializer.map { $0.trimmed }
        let new = binding.with(\.accessorBlock, nil).with(\.initializer, value)
        return FixIt("remove the observers", replace: binding, by: new)
    }

    static func replace(_ keyword: TokenSyntax, by other: Keyword) -> FixIt {
        let text = TokenSyntax.keyword(other).text
        return FixIt("use '\(text)'", replace: keyword, by: keyword.with(\.tokenKind, .keyword(other)))
    }

    static func makeCollection(_ property: ModelProperty, of element: String) -> FixIt {
        let declaration = property.declaration
        let collection: ExprSyntax = "ModelCollection<\(raw: element)>()"
        let binding = PatternBindingSyntax(
            pattern: property.binding.pattern.trimmed.with(\.trailingTrivia, .space),
            initializer: InitializerClauseSyntax(equal: .equalToken(trailingTrivia: .space), value: collection))
        let new = declaration.with(\.bindingSpecifier, declaration.bindingSpecifier.with(\.tokenKind, .keyword(.let)))
            .with(\.bindings, [binding])
        return FixIt("use 'ModelCollection<\(element)>'", replace: declaration, by: new)
    }

    static func markNullable(_ declaration: VariableDeclSyntax) -> FixIt {
        var new = declaration.with(\.leadingTrivia, [])
        let attribute: AttributeSyntax = "@Nullable"
        new.attributes = [.attribute(attribute.with(\.trailingTrivia, .space))] + new.attributes
        new.leadingTrivia = declaration.leadingTrivia
        return FixIt("mark it '@Nullable'", replace: declaration, by: new)
    }

    /// Changes an optional property to one that is never `nil`; `nil` if its type has no usual default.
    static func unwrap(_ binding: PatternBindingSyntax, to wrapped: TypeSyntax) -> FixIt? {
        let value = wrapped.usualDefault
        guard value != TypeSyntax.placeholder, var annotation = binding.typeAnnotation else { return nil }
        annotation.type = wrapped.trimmed
        let new = binding.with(\.typeAnnotation, annotation).withDefault(value)
        return FixIt("use '\(wrapped.trimmed)' with a default", replace: binding, by: new)
    }

    static func giveDefault(_ binding: PatternBindingSyntax, of type: TypeSyntax?) -> FixIt {
        let new = binding.withDefault(type?.usualDefault ?? TypeSyntax.placeholder)
        return FixIt("give it a default", replace: binding, by: new)
    }

    static func writeType(of binding: PatternBindingSyntax) -> FixIt {
        let type: TypeSyntax = "<#type#>"
        let annotation = TypeAnnotationSyntax(
            colon: .colonToken(trailingTrivia: .space), type: type.with(\.trailingTrivia, .space))
        let pattern = binding.pattern.with(\.trailingTrivia, [])
        let new = binding.with(\.pattern, pattern).with(\.typeAnnotation, annotation)
        return FixIt("write its type", replace: binding, by: new)
    }
}

extension PatternBindingSyntax {
    fileprivate func withDefault(_ value: String) -> PatternBindingSyntax {
        let value: ExprSyntax = "\(raw: value)"
        let equal = TokenSyntax.equalToken(leadingTrivia: .space, trailingTrivia: .space)
        let new = with(\.initializer, nil).trimmed
        return new.with(\.initializer, InitializerClauseSyntax(equal: equal, value: value))
            .with(\.trailingTrivia, trailingTrivia)
    }
}

extension VariableDeclSyntax {
    fileprivate func onNewLine(_ indentation: Trivia) -> VariableDeclSyntax {
        with(\.leadingTrivia, .newline + indentation)
    }
}

extension Trivia {
    /// The spaces and tabs before the code.
    fileprivate var indentation: Trivia {
        Trivia(pieces: pieces.reversed().prefix { $0.isSpaceOrTab }.reversed())
    }
}
#endif
