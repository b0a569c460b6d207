#if Macros
import SwiftSyntax

extension ModelProperty {
    /// The type of the property, for its constant; `nil` if neither a type is written nor the initial value names it.
    ///
    /// The constant has a written type, because the compiler cannot infer one in a class that conforms to a protocol
    /// with a requirement of the same name: "circular reference".
    var valueType: String? {
        guard let type else { return initial?.valueType }
        // The type of an implicitly unwrapped optional is an optional, except in a declaration of its own.
        return type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self).map { "\($0.wrappedType)?" } ?? "\(type)"
    }
}

extension ExprSyntax {
    /// The type of a value that names it: a literal, a call of an initializer, a static member of a type, or a cast.
    ///
    /// A static member (`Date.distantPast`, `Kind.movie`) counts as a value of the type that has it.
    fileprivate var valueType: String? {
        if let literal = literalType { return literal }
        if let call = self.as(FunctionCallExprSyntax.self) { return call.calledExpression.initializedType }
        if let member = self.as(MemberAccessExprSyntax.self) { return member.isOfType ? nil : member.base?.typeName }
        if let unwrapped = self.as(ForceUnwrapExprSyntax.self) { return unwrapped.expression.valueType }
        if let sequence = self.as(SequenceExprSyntax.self) { return Array(sequence.elements).valueType }
        if let cast = self.as(AsExprSyntax.self) {
            return [cast.expression, ExprSyntax(cast.unresolved), ExprSyntax(TypeExprSyntax(type: cast.type))].valueType
        }
        if let infix = self.as(InfixOperatorExprSyntax.self) {
            return [infix.leftOperand, infix.operator, infix.rightOperand].valueType
        }
        guard let tuple = self.as(TupleExprSyntax.self), tuple.elements.count == 1 else { return nil }
        return tuple.elements.first?.expression.valueType
    }

    private var literalType: String? {
        if self.is(StringLiteralExprSyntax.self) { return "String" }
        if self.is(IntegerLiteralExprSyntax.self) { return "Int" }
        if self.is(FloatLiteralExprSyntax.self) { return "Double" }
        if self.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        if let signed = self.as(PrefixOperatorExprSyntax.self), ["-", "+"].contains(signed.operator.text) {
            return signed.expression.literalType
        }
        if let array = self.as(ArrayExprSyntax.self) {
            return array.elements.map(\.expression.valueType).common.map { "[\($0)]" }
        }
        guard case .elements(let members)? = self.as(DictionaryExprSyntax.self)?.content,
            let key = members.map(\.key.valueType).common, let value = members.map(\.value.valueType).common
        else { return nil }
        return "[\(key): \(value)]"
    }

    /// The type whose initializer an expression names: `City`, or `City.init`.
    private var initializedType: String? {
        guard let member = self.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "init" else {
            return typeName
        }
        return member.base?.typeName
    }

    /// The type that an expression names. The names of types begin with a capital letter.
    private var typeName: String? {
        if let reference = self.as(DeclReferenceExprSyntax.self) {
            let name = reference.baseName.text
            return name.first?.isUppercase == true && name != "Self" ? name : nil
        }
        if let member = self.as(MemberAccessExprSyntax.self), member.isOfType {
            return member.base?.typeName.map { "\($0).\(member.declName.baseName.text)" }
        }
        if let generic = self.as(GenericSpecializationExprSyntax.self) {
            return generic.expression.typeName.map { "\($0)\(generic.genericArgumentClause.trimmed)" }
        }
        if let optional = self.as(OptionalChainingExprSyntax.self) {
            return optional.expression.typeName.map { "\($0)?" }
        }
        if let array = self.as(ArrayExprSyntax.self), array.elements.count == 1 {
            return array.elements.first?.expression.typeName.map { "[\($0)]" }
        }
        guard case .elements(let members)? = self.as(DictionaryExprSyntax.self)?.content, members.count == 1,
            let key = members.first?.key.typeName, let value = members.first?.value.typeName
        else { return nil }
        return "[\(key): \(value)]"
    }
}

extension MemberAccessExprSyntax {
    /// Whether the member is a type, by its capital letter.
    fileprivate var isOfType: Bool { declName.baseName.text.first?.isUppercase == true }
}

extension AsExprSyntax {
    /// The operator, as in an expression whose operators are not resolved.
    fileprivate var unresolved: UnresolvedAsExprSyntax {
        UnresolvedAsExprSyntax(asKeyword: asKeyword, questionOrExclamationMark: questionOrExclamationMark)
    }
}

extension [ExprSyntax] {
    /// The type of a cast, or of an operation on numbers or texts. The compiler resolves the operators before it
    /// expands a macro, and the tests do not.
    fileprivate var valueType: String? {
        if count == 3, let cast = self[1].as(UnresolvedAsExprSyntax.self), cast.questionOrExclamationMark == nil {
            return self[2].as(TypeExprSyntax.self).map { "\($0.type.trimmed)" }
        }
        let operators = indices.filter { !$0.isMultiple(of: 2) }.map { self[$0].trimmedDescription }
        guard operators.allSatisfy(["+", "-", "*", "/"].contains) else { return nil }
        let operands = indices.filter { $0.isMultiple(of: 2) }.map { self[$0].valueType }
        guard let type = operands.common, ["Int", "Double", "String"].contains(type) else { return nil }
        return type
    }
}

extension [String?] {
    /// The type that all values have; `nil` if they differ, or if one is unknown. An integer among fractions is one.
    fileprivate var common: String? {
        let types = Set(self)
        if types == ["Int", "Double"] { return "Double" }
        return types.count == 1 ? types.first ?? nil : nil
    }
}
#endif
