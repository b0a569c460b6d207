#if Macros
import SwiftSyntax

extension TypeSyntax {
    /// The name without module and generic arguments.
    var baseName: String? { self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text }

    /// The wrapped type of an optional; `nil` for another type.
    var wrapped: TypeSyntax? {
        if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType }
        if let forced = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return forced.wrappedType }
        return baseName == "Optional" ? argument : nil
    }

    /// The name of an array's element type; `nil` for another type.
    var elementName: String? {
        if let array = self.as(ArrayTypeSyntax.self) { return array.element.baseName }
        return baseName == "Array" ? argument?.baseName : nil
    }

    /// The first generic argument.
    private var argument: TypeSyntax? {
        let clause =
            self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
        guard case .type(let type)? = clause?.arguments.first?.argument else { return nil }
        return type
    }

    /// The usual default of a type, or a placeholder.
    var usualDefault: String {
        if self.is(ArrayTypeSyntax.self) { return "[]" }
        if self.is(DictionaryTypeSyntax.self) { return "[:]" }
        switch baseName {
        case "String": return "\"\""
        case "Bool": return "false"
        case "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64": return "0"
        case "Double", "Float": return "0"
        case "ModelCollection", "ParentReference": return "\(trimmedDescription)()"
        default: return Self.placeholder
        }
    }

    static let placeholder = "<#default#>"
}

extension ExprSyntax {
    /// The name of the type whose initializer is called, without module and generic arguments.
    var baseName: String? {
        if let reference = self.as(DeclReferenceExprSyntax.self) { return reference.baseName.text }
        if let member = self.as(MemberAccessExprSyntax.self) { return member.declName.baseName.text }
        return self.as(GenericSpecializationExprSyntax.self)?.expression.baseName
    }
}
#endif
